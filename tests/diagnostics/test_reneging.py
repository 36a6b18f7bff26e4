"""Predicted chances against what happened, on events whose chances are known."""

import numpy as np
import pytest
import xarray

from hrprob.diagnostics import reneging, verdicts

from .toy import PROBLEM, TARGET, toy


def predicted(shift=0.0, sets=100, users=40, seed=0):
    """Events with chances as said by the first predictor; the others say something else."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.1, 0.9, size=(sets, users))
    said = np.clip(chance + shift, 0.01, 0.99)
    axes = ("predictor", "data_set", "user")
    every = np.stack([said, np.full_like(said, 0.5), chance**2])
    return xarray.Dataset(
        {
            "chance": (axes, every),
            "stay_score": (axes, np.log(every)),
            "left": (axes[1:], rng.uniform(size=chance.shape) < chance),
        },
        coords={"predictor": list(reneging.PREDICTORS)},
    )


def test_chances_that_are_right_are_called_so():
    # Two tests: were they independent, p < 0.5 would have chance 0.44; were they one, 0.25. The error over 40 is 0.079.
    p = np.array([float(reneging.reliability(predicted(seed=seed)).p_value[0]) for seed in range(40)])
    assert p.min() > 1e-3
    assert 0.25 - 3 * 0.079 < np.mean(p < 0.5) < 0.44 + 3 * 0.079


@pytest.mark.parametrize("shift", [-0.08, 0.08])
def test_chances_that_are_off_are_not(shift):
    table = predicted(shift)
    found = reneging.reliability(table)
    assert float(found.p_value[0]) < 1e-6
    # Clipping at the ends takes a little of the shift away.
    assert float(found.bias[0]) == pytest.approx(-shift, abs=4 * float(found.bias_se[0]))
    said = verdicts.on_reneging("over the prior", found, reneging.scores(table))
    assert [verdict.good for verdict in said] == [False, None, None]


def test_scores_are_the_textbook_ones():
    table = predicted(sets=5, users=7)
    scores = reneging.scores(table)
    p, left = table.chance.values[2], table.left.values
    np.testing.assert_allclose(scores.brier[2], np.mean((p - left) ** 2))
    np.testing.assert_allclose(scores["log"][2], -np.mean(np.where(left, np.log(p), np.log(1 - p))))
    assert float(scores.brier_excess[0]) == 0.0
    assert float(scores.brier[0]) < float(scores.brier[1])


def test_predictions_are_made_from_the_users_before():
    data, found = toy(sets=6, users=(4, 6))
    table = reneging.predict(PROBLEM, TARGET, data, found, users=9)
    # A fifth more than four users is five, than six eight: nothing is said of users 6 and 9.
    assert table.user.values.tolist() == [5, 7, 8]
    np.testing.assert_array_equal(table.left.values, data.played[:, [4, 6, 7]] == 1)
    from scipy.stats import norm

    for place, (user, seen) in enumerate(((5, 4), (7, 6), (8, 6))):
        x, beta = data.stays.x[2, user - 1], data.beta[2, user - 1]
        draws = found[seen]
        u, w = draws.theta[2] @ x, draws.phi[2] @ x + 2.0
        p = norm.cdf((beta - u) / np.sqrt(w))
        at = {"data_set": 2, "user": place}
        np.testing.assert_allclose(table.chance.sel(predictor="posterior").isel(at), p.mean())
        m = data.played[2, user - 1]
        np.testing.assert_allclose(
            table.stay_score.sel(predictor="posterior").isel(at), np.log(np.mean(p * (1 - p) ** (m - 1)))
        )


def test_checkpoints_begin_where_told():
    assert reneging.checkpoints(100)[0] == 10
    assert reneging.checkpoints(100)[-1] < 100
    assert reneging.checkpoints(12, first=10) == [10]
