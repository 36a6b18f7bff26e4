"""Growth, differences and intervals, on curves whose growth is known."""

import math

import numpy as np
import pytest
import xarray

from hrprob.comparison.estimates import estimate, growth_exponent, paired_difference, rate_ratio
from tests.comparison.curves import USERS, run_of


@pytest.mark.parametrize("power", [0.1, 0.5, 0.8, 1.0])
def test_growth_exponent_of_a_power_is_the_power(power):
    run = run_of({"p": lambda t: 3.0 * t**power})
    found = growth_exponent(run, "p")
    # A factor per trial adds a constant to ln R, and does not change the slope.
    assert found.mean == pytest.approx(power, abs=1e-6)


def test_the_rate_ratio_does_not_depend_on_the_first_third():
    run = run_of(
        {"linear": lambda t: 500 + 0.1 * t, "root": lambda t: 500 + 7 * np.sqrt(t)}, noise=0.0
    )  # users come in tens, so thirds are off by one in a thousand
    assert rate_ratio(run, "linear").mean == pytest.approx(1.0, abs=2e-3)
    root = (math.sqrt(3) - math.sqrt(2)) / (math.sqrt(2) - 1)
    assert rate_ratio(run, "root").mean == pytest.approx(root, abs=2e-3)


def test_pairing_removes_variation_that_policies_share():
    rng = np.random.default_rng(3)
    shared = 100 * rng.standard_normal((1, 20, 1))
    base = np.broadcast_to(0.01 * USERS, (2, 20, len(USERS))) + shared
    regret = base + np.array([0.0, 5.0])[:, None, None] + 0.1 * rng.standard_normal((2, 20, 1))
    run = xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret)},
        coords={"policy": ["x", "y"], "trial": np.arange(20), "user": USERS},
    )
    found = paired_difference(run, "y", "x")
    assert found.low < 5 < found.high
    # The sd of a difference is 0.1·√2, that of its mean 0.03; unpaired it would be 30.
    assert found.se < 0.1


def test_intervals_have_their_nominal_coverage():
    rng = np.random.default_rng(0)
    hits = sum(
        found.low < 0 < found.high for found in (estimate(rng.standard_normal(8)) for _ in range(2000))
    )
    # Binomial with probability .95: three standard errors are .015.
    assert abs(hits / 2000 - 0.95) < 0.015
