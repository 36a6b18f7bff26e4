"""Objectives: what a round earns and what a stay is worth."""

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


def test_values_equal_their_formulas():
    for beta in (-0.5, 0.7):
        np.testing.assert_allclose(value(hrprob.Lifetime(), beta), h(beta), rtol=1e-13)
        np.testing.assert_allclose(value(hrprob.Reward(), beta), U * h(beta), rtol=1e-13)
        np.testing.assert_allclose(value(hrprob.MeanVariance(0.3), beta), (U - 0.3 * W) * h(beta), rtol=1e-12)
        exceeding = stats.norm.sf((1.2 - U) / np.sqrt(W))
        np.testing.assert_allclose(value(hrprob.Threshold(1.2), beta), exceeding * h(beta), rtol=1e-12)


@pytest.mark.parametrize("z", [5.0, 8.0, 8.4, 30.0])
def test_a_threshold_far_above_is_accurate(z):
    earning = hrprob.Threshold(0.4 + 1.5 * z).earning(0.4, 2.25, NORMAL)
    # The level itself is rounded, by 1e-16 of z, which moves the tail by z² times that.
    assert float(earning) == pytest.approx(stats.norm.sf(z), rel=1e-12)


def test_with_an_infinite_level_a_stay_has_one_round():
    np.testing.assert_allclose(value(hrprob.Reward(), math.inf), U)
    np.testing.assert_allclose(value(hrprob.MeanVariance(0.3), math.inf), U - 0.3 * W)
    assert np.all(value(hrprob.Lifetime(), math.inf) == 1)


def test_objectives_are_limits_of_each_other():
    np.testing.assert_array_equal(value(hrprob.MeanVariance(0.0), 0.1), value(hrprob.Reward(), 0.1))
    np.testing.assert_allclose(value(hrprob.Threshold(-50.0), 0.1), value(hrprob.Lifetime(), 0.1), rtol=1e-12)


def test_an_endless_stay_that_earns_0_has_value_0():
    assert total(np.array([0.0, -1.0, 1.0]), np.full(3, np.inf)).tolist() == [0.0, -np.inf, np.inf]
    assert total(1.0, np.array([2.0])).tolist() == [2.0]


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
