"""The cost of a round and of the rest of a stay."""

import math

import numpy as np
import pytest

import hrprob
from hrprob.noise import NORMAL

U, W = np.array([0.4, -0.3, 0.8]), np.array([2.0, 0.7, 1.1])


@pytest.mark.slow
@pytest.mark.parametrize("objective", [hrprob.Lifetime(), hrprob.Reward(), hrprob.MeanVariance(0.4)])
@pytest.mark.parametrize(
    "satisfaction", [hrprob.UniformLevels(), hrprob.RedrawnLevels(), hrprob.HiddenLevels()]
)
def test_costs_of_rounds_add_up_to_the_regret_of_the_stay(objective, satisfaction):
    """With one action throughout, the rounds of a stay cost v* − v in expectation, over levels if hidden."""
    problem = hrprob.Problem(objective=objective, satisfaction=satisfaction)
    beta = np.linspace(-1.0, 1.0, 20001) if satisfaction.value_is_mean else np.array(-0.4)
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
        if not satisfaction.value_is_mean:
            assert cost >= 0


def test_cost_of_a_round_of_an_action_that_nobody_leaves():
    """Outcomes of the first action are above β: p = 0, and its value is ±∞ with the sign of g."""
    rules = hrprob.Problem(objective=hrprob.Reward(), noise=hrprob.TruncatedNormal(1.0)).rules
    u, w, beta = np.array([-0.09, 0.09]), np.array([0.29, 3.71]), -1.5

    def costs(best, values):
        return np.asarray(rules.round_cost(best, np.array(values), u, w, beta)).tolist()

    best = 0.09 / float(rules.satisfaction.reneging_probability(0.09, 3.71, beta, rules.noise))
    assert costs(best, [-math.inf, best]) == [0.09, 0.0]
    # If some action earns for ever, a round of any other costs as much as a stay.
    assert costs(math.inf, [-math.inf, 0.0]) == [math.inf, math.inf]
    assert costs(math.inf, [math.inf, best]) == [0.0, math.inf]
    assert costs(-math.inf, [-math.inf, -math.inf]) == [0.0, 0.0]
