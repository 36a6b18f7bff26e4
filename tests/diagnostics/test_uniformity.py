import numpy as np
import pytest
import xarray

from hrprob.diagnostics import sbc
from hrprob.diagnostics.uniformity import holm, place_among, simultaneous_band, uniformity_p_value


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


def test_one_of_many_tests_can_fail():
    places = np.random.default_rng(4).uniform(size=(1, 500, 100))
    places[0, 7] **= 6
    judged = sbc.judge(xarray.DataArray(places, dims=("users", "quantity", "data_set")))
    np.testing.assert_array_equal(np.flatnonzero(~judged.passed.values[0]), [7])


def test_places_are_uniform_whatever_the_number_of_draws():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(400, 3))
    assert uniformity_p_value(place_among(rng.normal(size=400), draws, rng)) > 0.01
    # Numbers that tie are put in random order.
    tied = place_among(np.zeros(400), np.zeros((400, 3)), rng)
    assert uniformity_p_value(tied) > 0.01


def test_holm_is_monotone_and_no_smaller():
    p = np.random.default_rng(3).uniform(size=50)
    adjusted = holm(p)
    assert np.all(adjusted >= p)
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)
    assert adjusted.min() == pytest.approx(min(50 * p.min(), 1.0))
