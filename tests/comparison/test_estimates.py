"""Estimates over trials: their intervals, and how they are printed."""

import math
import re

import numpy as np
import pytest
import xarray
from scipy import stats

from hrprob.comparison.estimates import (
    Estimate,
    all_hold,
    estimate,
    growth_exponent,
    paired_difference,
    rate_ratio,
    ratio_of_means,
    trials_needed,
    unpaired_difference,
    verdict_above,
)
from tests.comparison.curves import USERS, run_of


@pytest.mark.parametrize("power", [0.1, 0.5, 0.8, 1.0])
def test_growth_exponent_of_a_power_is_the_power(power):
    run = run_of({"p": lambda t: 3.0 * t**power})
    # A factor of its own in each trial moves ln R by a constant, and the slope not at all.
    assert growth_exponent(run, "p").mean == pytest.approx(power, abs=1e-6)


def test_rate_ratio_does_not_depend_on_the_beginning():
    run = run_of(
        {"linear": lambda t: 500 + 0.1 * t, "root": lambda t: 500 + 7 * np.sqrt(t)}, noise=0.0
    )  # users come in tens, so thirds are off by one in a thousand
    assert rate_ratio(run, "linear").mean == pytest.approx(1.0, abs=2e-3)
    root = (math.sqrt(3) - math.sqrt(2)) / (math.sqrt(2) - 1)
    assert rate_ratio(run, "root").mean == pytest.approx(root, abs=2e-3)


def test_paired_difference_removes_what_trials_share():
    rng = np.random.default_rng(3)
    shared = 100 * rng.standard_normal((1, 20, 1))
    base = np.broadcast_to(0.01 * USERS, (2, 20, len(USERS))) + shared
    regret = base + np.array([0.0, 5.0])[:, None, None] + 0.1 * rng.standard_normal((2, 20, 1))
    run = xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret)},
        coords={"policy": ["x", "y"], "trial": np.arange(20), "user": USERS},
    )
    difference = paired_difference(run, "y", "x")
    assert difference.low < 5 < difference.high
    # The spread of a difference is 0.1·√2, that of its mean 0.03; unpaired it would be 30.
    assert difference.se < 0.1


def test_estimate_covers_at_its_level():
    rng = np.random.default_rng(0)
    estimates = [estimate(rng.standard_normal(8)) for _ in range(2000)]
    hits = sum(one.low < 0 < one.high for one in estimates)
    # Binomial with probability .95: three standard errors are .015.
    assert abs(hits / 2000 - 0.95) < 0.015


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_ratio_covers_at_its_level_where_both_means_are_noisy(level):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        shared = rng.standard_normal(20)
        denominator = 3.0 + shared + 0.5 * rng.standard_normal(20)
        numerator = 1.5 + 0.4 * shared + 0.5 * rng.standard_normal(20)
        ratio = ratio_of_means(numerator, denominator, level)
        hits += ratio.low < 0.5 < ratio.high
    # Fieller's interval is exact for normal values; three standard errors of a share of .9 are .02.
    assert abs(hits / 2000 - level) < 0.02


def test_ratio_has_the_ends_at_which_a_t_test_rejects():
    rng = np.random.default_rng(2)
    a, b = 2.0 + rng.standard_normal(20), 5.0 + rng.standard_normal(20)
    ratio = ratio_of_means(a, b)
    for end in (ratio.low, ratio.high):
        assert stats.ttest_1samp(a - end * b, 0.0).pvalue == pytest.approx(0.05, abs=1e-9)


def test_ratios_of_zero_and_by_means_that_may_be_zero():
    nothing = np.zeros(20)
    assert ratio_of_means(nothing, nothing) == Estimate(0.0, 0.0, 0.0, 0.0)
    assert ratio_of_means(nothing, np.ones(20)) == Estimate(0.0, 0.0, 0.0, 0.0)
    around = np.random.default_rng(0).standard_normal(20)
    assert ratio_of_means(np.ones(20), around)[2:] == (-math.inf, math.inf)
    assert ratio_of_means(np.ones(20), nothing)[2:] == (-math.inf, math.inf)


def test_unpaired_difference_is_welchs():
    rng = np.random.default_rng(5)
    one, two = rng.standard_normal(20), 3 * rng.standard_normal(12) + 1
    difference = unpaired_difference(one, two)
    test = stats.ttest_ind(one, two, equal_var=False)
    assert difference.mean / difference.se == pytest.approx(test.statistic)
    assert tuple(difference[2:]) == pytest.approx(tuple(test.confidence_interval(0.95)))


def test_the_interval_that_was_printed_on_the_wrong_side():
    """LinUCB's rate ratio lies below 1, and [0.90, 1.00] does not say so."""
    ratio = Estimate(0.9505, 0.0222, 0.904, 0.997)
    assert ratio.below(1.0)
    assert ratio.against(1.0) == "0.951 [0.904, 0.997]"


def test_no_printed_interval_decides_otherwise_than_the_exact_one():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        value = float(rng.choice([0.0, 1.0, 0.5, 0.9, 4.0**-0.25, 100.0, -80.0]))
        low, mean, high = np.sort(value + 10.0 ** rng.uniform(-6, 3) * rng.standard_normal(3))
        exact = Estimate(float(mean), 1.0, float(low), float(high))
        text = exact.against(value).replace("−", "-").replace("\N{NARROW NO-BREAK SPACE}", "")
        printed = [float(number) for number in re.findall(r"-?\d*\.?\d+", text)]
        assert len(printed) == 3
        for number, shown in zip((exact.mean, exact.low, exact.high), printed, strict=True):
            assert np.sign(number - value) == np.sign(shown - value), (exact, value)


def test_verdicts_have_three_ends():
    assert verdict_above(Estimate(2.0, 0.5, 1.0, 3.0), 0) == "holds"
    assert verdict_above(Estimate(-2.0, 0.5, -3.0, -1.0), 0) == "fails"
    assert verdict_above(Estimate(0.5, 0.5, -0.5, 1.5), 0) == "undecided"
    assert all_hold([]) == "undecided"
    # Four times the trials halve the interval.
    assert trials_needed(Estimate(0.5, 0.5, -0.5, 1.5), 20, 0.0) == 80
    assert trials_needed(Estimate(0.0, 0.5, -1.0, 1.0), 20, 0.0) == math.inf
