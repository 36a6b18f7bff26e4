"""Predicted probabilities against what happened, on events whose probabilities are known."""

import numpy as np
import pytest
import xarray
from scipy.stats import norm

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.diagnostics import reneging, verdicts
from hrprob.diagnostics.posteriors import posteriors
from hrprob.diagnostics.truths import draw_truths
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior
from hrprob.simulation.data_sets import gather

from .toy import PROBLEM, TARGET, toy


def predicted(shift=0.0, sets=100, users=40, seed=0):
    """Events with probabilities as said by the first predictor; the others say something else."""
    rng = np.random.default_rng(seed)
    probability = rng.uniform(0.1, 0.9, size=(sets, users))
    said = np.clip(probability + shift, 0.01, 0.99)
    axes = ("predictor", "data_set", "user")
    every = np.stack([said, np.full_like(said, 0.5), probability**2])
    return xarray.Dataset(
        {
            "probability": (axes, every),
            "stay_score": (axes, np.log(every)),
            "left": (axes[1:], rng.uniform(size=probability.shape) < probability),
        },
        coords={"predictor": list(reneging.PREDICTORS)},
    )


def test_chances_that_are_right_are_called_so():
    # Two tests: were they independent, p < 0.5 would have probability 0.44; were they one, 0.25. The error over 40 is 0.079.
    p = np.array([float(reneging.reliability(predicted(seed=seed)).p_value[0]) for seed in range(40)])
    assert p.min() > 1e-3
    assert 0.25 - 3 * 0.079 < np.mean(p < 0.5) < 0.44 + 3 * 0.079


@pytest.mark.parametrize("sets", [32, 200])
def test_where_hardly_anybody_leaves_chances_that_are_right_are_called_so(sets):
    # Half of the probabilities are below 0.08, a tenth below 0.0004: the lowest bins see nobody leave. A test that
    # errs in one case of 20 does so in 15 of 300, and in more than 15 + 4 * 3.8 with probability 1e-4 at most.
    rng = np.random.default_rng(sets)
    strange = 0
    for _ in range(300):
        probability = 0.8 * rng.beta(0.3, 1.0, size=(1, sets, 25))
        left = rng.uniform(size=probability.shape[1:]) < probability[0]
        axes = ("predictor", "data_set", "user")
        table = xarray.Dataset(
            {"probability": (axes, probability), "left": (axes[1:], left)}, {"predictor": ["said"]}
        )
        strange += float(reneging.reliability(table).p_value[0]) < 0.05
    assert strange <= 15 + 4 * 3.8


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
    p, left = table.probability.values[2], table.left.values
    np.testing.assert_allclose(scores.brier[2], np.mean((p - left) ** 2))
    np.testing.assert_allclose(scores["log"][2], -np.mean(np.where(left, np.log(p), np.log(1 - p))))
    assert float(scores.brier_excess[0]) == 0.0
    assert float(scores.brier[0]) < float(scores.brier[1])


def test_predictions_are_for_the_next_user_by_those_before():
    data, found = toy(sets=6, users=(4, 6))
    table = reneging.predict(PROBLEM, TARGET, data, found)
    assert table.user.values.tolist() == [5, 7]
    np.testing.assert_array_equal(table.left.values, data.played[:, [4, 6]] == 1)
    for place, seen in enumerate((4, 6)):
        x, beta = data.stays.x[2, seen], data.beta[2, seen]
        draws = found[seen]
        u, w = draws.theta[2] @ x, draws.phi[2] @ x + 2.0
        p = norm.cdf((beta - u) / np.sqrt(w))
        at = {"data_set": 2, "user": place}
        np.testing.assert_allclose(table.probability.sel(predictor="posterior").isel(at), p.mean())
        m = data.played[2, seen]
        np.testing.assert_allclose(
            table.stay_score.sel(predictor="posterior").isel(at), np.log(np.mean(p * (1 - p) ** (m - 1)))
        )
        # The others by the GLSE of the rounds before, one by one.
        rounds = data.stays.rounds[2, :seen].astype(int)
        mean = data.stays.total[2, :seen] / rounds
        glse = hrprob.GLSE(ridge=1.0, link=PROBLEM.link)
        both = np.repeat(data.stays.x[2, :seen], rounds, axis=0), np.repeat(mean, rounds)
        theta = glse.fit(*both).theta_
        largest = norm.cdf((beta - theta @ x) / 2.0)
        np.testing.assert_allclose(table.probability.sel(predictor="σ_max").isel(at), largest)


@pytest.mark.parametrize("users", [(), (12,), (4, 30)])
def test_there_must_be_a_next_user(users):
    data, _ = toy(sets=2)  # 12 users
    _, found = toy(sets=2, users=users or (4,))
    with pytest.raises(InvalidInput, match="`users` must be numbers from 1 to 11"):
        reneging.predict(PROBLEM, TARGET, data, found if users else {})


@pytest.mark.study
def test_a_policy_that_learns_from_every_user_is_no_fault_of_the_prediction():
    # Greedy picks with all that is known: predictions that are older than its choice are off by a point.
    problem = hrprob.Problem()
    target = Target(make_model("gaussian"), make_prior("uniform"), Setting.of(problem))
    truths = draw_truths(target.prior, target.setting, 400, seed=0)
    data = gather(problem, hrprob.Greedy(), truths, users=41, seed=0)
    stops = reneging.checkpoints(40, 5)
    found = dict(
        zip(stops, posteriors(make_engine("laplace"), target, data.stays, stops, draws=255), strict=True)
    )
    table = reneging.reliability(reneging.predict(problem, target, data, found)).sel(predictor="posterior")
    assert float(table.p_value) >= 0.01
    assert abs(float(table.bias)) < 3 * float(table.bias_se)


def test_checkpoints_begin_where_told():
    assert reneging.checkpoints(100)[0] == 10
    assert reneging.checkpoints(100)[-1] <= 100
    assert reneging.checkpoints(12, first=10) == [10, 11]


def test_few_data_sets_do_not_make_chances_right():
    for sets, good in ((20, None), (400, True)):
        table = predicted(sets=sets, users=10)
        said = verdicts.on_reneging("over the prior", reneging.reliability(table), reneging.scores(table))
        assert said[0].good is good
        assert "nothing against it, a share off by" in said[0].words
