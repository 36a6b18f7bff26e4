"""The test of uniformity and its band."""

import numpy as np
import pytest
from scipy import stats

from hrprob.numerics.uniformity import (
    dependent_uniformity_p_value,
    pit_among,
    simultaneous_band,
    uniformity_p_value,
)


def test_a_test_at_five_per_cent_errs_in_five_per_cent():
    rng = np.random.default_rng(0)
    rejected = np.mean([uniformity_p_value(rng.uniform(size=80)) <= 0.05 for _ in range(1000)])
    # The statistic is discrete, so the test errs at most so often; five binomial errors of 0.0069.
    assert 0.02 < rejected < 0.05 + 5 * 0.0069


# The smaller rate is beyond what simulations reach.
@pytest.mark.parametrize(
    ("size", "rate", "shape"), [(40, 0.05, 1.25), (200, 0.05, 1.25), (40, 1e-6, 25.0), (200, 1e-6, 2.2)]
)
def test_the_band_is_left_exactly_where_the_test_rejects(size, rate, shape):
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(300):
        numbers = rng.beta(shape, shape, size=size)
        z, low, high = simultaneous_band(size, rate)
        share = np.searchsorted(np.sort(numbers), z, side="right") / size
        outside = bool(np.any((share < low) | (share > high)))
        assert outside == (uniformity_p_value(numbers) < rate)
        rejected += outside
    assert 0 < rejected < 300


def test_pit_values_are_uniform_whatever_the_number_of_draws():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(400, 3))
    assert uniformity_p_value(pit_among(rng.normal(size=400), draws, rng)) > 0.01
    # Numbers that tie are put in random order.
    tied = pit_among(np.zeros(400), np.zeros((400, 3)), rng)
    assert uniformity_p_value(tied) > 0.01


@pytest.mark.parametrize("size", [60, 300])
def test_the_test_for_dependent_values_has_its_level(size):
    rng = np.random.default_rng(5)
    p = np.array([dependent_uniformity_p_value(rng.uniform(size=size)) for _ in range(1500)])
    # Standard errors at 5 % and at 1 % are 0.6 and 0.26 points; four are allowed, and half a point for the approximation.
    assert abs(np.mean(p < 0.05) - 0.05) < 0.029
    assert np.mean(p < 0.01) < 0.0255
    # Leave-one-out PIT of normal values with unknown mean and variance: dependent, and still at its level.
    loo = []
    for _ in range(400):
        e = rng.normal(size=size)
        rest = (e.sum() - e) / (size - 1)
        spread = np.sqrt(((e**2).sum() - e**2 - (size - 1) * rest**2) / (size - 2))
        loo.append(
            dependent_uniformity_p_value(
                stats.t.cdf((e - rest) / spread / np.sqrt(size / (size - 1)), size - 2)
            )
        )
    assert np.mean(np.array(loo) < 0.05) < 0.10
