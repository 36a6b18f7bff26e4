"""Predicted probabilities of reneging, on events whose probabilities are known."""

import numpy as np
import pytest
from scipy.stats import norm

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.diagnostics import reneging
from hrprob.diagnostics.posteriors import checkpoints, posteriors
from hrprob.diagnostics.reliability import reliability
from hrprob.diagnostics.truths import draw_truths
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.io.page import Report
from hrprob.models import Setting, make_model, make_prior
from hrprob.simulation.data_sets import gather

from .toy import PROBLEM, TARGET, predictions, toy


@pytest.mark.parametrize("shift", [-0.08, 0.08])
def test_wrong_probabilities_are_not_called_right(shift):
    table = predictions(shift)
    found = reliability(table)
    assert float(found.p_value[0]) < 1e-6
    # Clipping at the ends takes a little of the shift away.
    assert float(found.bias[0]) == pytest.approx(-shift, abs=4 * float(found.bias_se[0]))
    said = reneging.reneging_verdicts("over the prior", found, reneging.scores(table))
    assert [verdict.good for verdict in said] == [False, None, None]


def test_scores_are_the_textbook_ones():
    table = predictions(sets=5, users=7)
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
    stops = checkpoints(40, 5)
    found = dict(
        zip(stops, posteriors(make_engine("laplace"), target, data.stays, stops, draws=255), strict=True)
    )
    table = reliability(reneging.predict(problem, target, data, found)).sel(predictor="posterior")
    assert float(table.p_value) >= 0.01
    assert abs(float(table.bias)) < 3 * float(table.bias_se)


def test_few_data_sets_do_not_make_probabilities_right():
    for sets, good in ((20, None), (400, True)):
        table = predictions(sets=sets, users=10)
        said = reneging.reneging_verdicts("over the prior", reliability(table), reneging.scores(table))
        assert said[0].good is good
        assert "not significantly different, a share off by" in said[0].words


@pytest.mark.parametrize("users", [(4, 8), (3, 4, 5, 6, 7, 8)])
def test_the_section_says_when_predictions_were_made(users):
    data, fitted = toy(sets=20, users=users)
    predictions = {"over the prior": reneging.predict(PROBLEM, TARGET, data, fitted)}
    result = reneging.RenegingResult(
        predictions,
        {truths: reliability(one) for truths, one in predictions.items()},
        {truths: reneging.scores(one) for truths, one in predictions.items()},
    )
    page = Report("", "")
    reneging.Reneging().write_section(page, result)
    listed = "4 and 8" if len(users) == 2 else "3, 4, 5, … and 8"
    assert f"over the prior after {listed} users" in page.render()
