"""Objectives: what a round earns, what a stay is worth, and what a round costs."""

import math

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.noise import NORMAL
from hrprob.problem.objectives import total

U, W = np.array([0.4, -0.3, 0.8]), np.array([2.0, 0.7, 1.1])


def value(objective, beta, **parts):
    return hrprob.Problem(objective=objective, **parts).value(U, W, beta)


def h(beta):
    return 1 / stats.norm.cdf((beta - U) / np.sqrt(W))


def test_values():
    for beta in (-0.5, 0.7):
        np.testing.assert_allclose(value(hrprob.Lifetime(), beta), h(beta), rtol=1e-13)
        np.testing.assert_allclose(value(hrprob.Reward(), beta), U * h(beta), rtol=1e-13)
        np.testing.assert_allclose(value(hrprob.MeanVariance(0.3), beta), (U - 0.3 * W) * h(beta), rtol=1e-12)
        exceeding = stats.norm.sf((1.2 - U) / np.sqrt(W))
        np.testing.assert_allclose(value(hrprob.Threshold(1.2), beta), exceeding * h(beta), rtol=1e-12)


@pytest.mark.parametrize("z", [5.0, 8.0, 8.4, 30.0])
def test_a_threshold_far_above_keeps_its_digits(z):
    earning = hrprob.Threshold(0.4 + 1.5 * z).earning(0.4, 2.25, NORMAL)
    # The level itself is rounded, by 1e-16 of z, which moves the tail by z² times that.
    assert float(earning) == pytest.approx(stats.norm.sf(z), rel=1e-12)


def test_with_an_infinite_level_a_stay_is_a_round():
    np.testing.assert_allclose(value(hrprob.Reward(), math.inf), U)
    np.testing.assert_allclose(value(hrprob.MeanVariance(0.3), math.inf), U - 0.3 * W)
    assert np.all(value(hrprob.Lifetime(), math.inf) == 1)


def test_limits_of_one_another():
    np.testing.assert_array_equal(value(hrprob.MeanVariance(0.0), 0.1), value(hrprob.Reward(), 0.1))
    np.testing.assert_allclose(value(hrprob.Threshold(-50.0), 0.1), value(hrprob.Lifetime(), 0.1), rtol=1e-12)


def test_what_earns_nothing_is_worth_nothing_for_ever():
    assert total(np.array([0.0, -1.0, 1.0]), np.full(3, np.inf)).tolist() == [0.0, -np.inf, np.inf]
    assert total(1.0, np.array([2.0])).tolist() == [2.0]


@pytest.mark.slow
@pytest.mark.parametrize("objective", [hrprob.Lifetime(), hrprob.Reward(), hrprob.MeanVariance(0.4)])
@pytest.mark.parametrize(
    "satisfaction", [hrprob.UniformLevels(), hrprob.RedrawnLevels(), hrprob.HiddenLevels()]
)
def test_costs_of_rounds_add_up_to_what_a_stay_loses(objective, satisfaction):
    """With one action throughout, the rounds of a stay cost v* − v in expectation, over levels if hidden."""
    problem = hrprob.Problem(objective=objective, satisfaction=satisfaction)
    beta = np.linspace(-1.0, 1.0, 20001) if isinstance(satisfaction, hrprob.HiddenLevels) else np.array(-0.4)
    values = np.asarray(problem.value(U, W, -0.4))
    best = values.max()
    for u, w, v in zip(U, W, values, strict=True):
        cost = np.asarray(problem.rules.round_cost(best, v, u, w, beta))
        expected_rounds = 1 / np.asarray(satisfaction.reneging_probability(u, w, beta, NORMAL))
        # Over a grid of 20001 levels, the trapezoidal rule is right to 1e-8.
        whole = cost * expected_rounds
        mean = np.trapezoid(whole, beta) / 2 if beta.ndim else float(whole)
        assert mean == pytest.approx(best - v, abs=1e-6)
        rest = np.asarray(problem.rules.rest_cost(best, v, u, w, beta))
        np.testing.assert_allclose(rest, whole, atol=1e-9)
        if not isinstance(satisfaction, hrprob.HiddenLevels):
            assert cost >= 0


def test_a_round_of_what_nobody_leaves_costs_what_it_loses():
    """Outcomes of the first action are above β: p = 0, and its value is ±∞ with the sign of g."""
    rules = hrprob.Problem(objective=hrprob.Reward(), noise=hrprob.TruncatedNormal(1.0)).rules
    u, w, beta = np.array([-0.09, 0.09]), np.array([0.29, 3.71]), -1.5

    def costs(best, values):
        return np.asarray(rules.round_cost(best, np.array(values), u, w, beta)).tolist()

    best = 0.09 / float(rules.satisfaction.reneging_probability(0.09, 3.71, beta, rules.noise))
    assert costs(best, [-math.inf, best]) == [0.09, 0.0]
    # Beside what earns for ever a round costs as much as a stay.
    assert costs(math.inf, [-math.inf, 0.0]) == [math.inf, math.inf]
    assert costs(math.inf, [math.inf, best]) == [0.0, math.inf]
    assert costs(-math.inf, [-math.inf, -math.inf]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: hrprob.MeanVariance(-0.1), "aversion"),
        (lambda: hrprob.Threshold(math.inf), "level"),
        (lambda: hrprob.Problem(objective=hrprob.Reward), "objective"),
        (lambda: hrprob.Problem(objective="reward"), "objective"),
    ],
)
def test_bad_objectives_are_named(make, field):
    with pytest.raises(InvalidInput) as caught:
        make()
    assert caught.value.field == field
