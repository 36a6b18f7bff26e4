"""The tests that decide claims, on curves whose growth is known."""

import math

import numpy as np
import pytest
import xarray

from hrprob.comparison.estimates import estimate, growth_exponent, paired_difference, rate_ratio
from hrprob.reproduce.published import published_curves
from hrprob.reproduce.verdicts import claims, compare_curves

USERS = np.arange(1, 30001, 10)


def run_of(curves, trials=20, noise=0.01, seed=0):
    """Regret curves with a factor of their own in each trial, so that intervals have a width."""
    rng = np.random.default_rng(seed)
    names = list(curves)
    factor = 1 + noise * rng.standard_normal((len(names), trials, 1))
    regret = np.stack([np.broadcast_to(curves[name](USERS), (trials, len(USERS))) for name in names]) * factor
    return xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret)},
        coords={"policy": names, "trial": np.arange(trials), "user": USERS},
    )


@pytest.mark.parametrize("power", [0.1, 0.5, 0.8, 1.0])
def test_growth_exponent_of_a_power_is_the_power(power):
    run = run_of({"p": lambda t: 3.0 * t**power})
    found = growth_exponent(run, "p")
    # A factor of its own in each trial moves ln R by a constant, and the slope not at all.
    assert found.mean == pytest.approx(power, abs=1e-6)


def test_rate_ratio_forgets_the_beginning():
    run = run_of(
        {"linear": lambda t: 500 + 0.1 * t, "root": lambda t: 500 + 7 * np.sqrt(t)}, noise=0.0
    )  # users come in tens, so thirds are off by one in a thousand
    assert rate_ratio(run, "linear").mean == pytest.approx(1.0, abs=2e-3)
    root = (math.sqrt(3) - math.sqrt(2)) / (math.sqrt(2) - 1)
    assert rate_ratio(run, "root").mean == pytest.approx(root, abs=2e-3)


def test_paired_difference_takes_out_what_trials_share():
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
    # The spread of a difference is 0.1·√2, that of its mean 0.03; unpaired it would be 30.
    assert found.se < 0.1


def test_estimate_covers_at_its_level():
    rng = np.random.default_rng(0)
    hits = sum(
        found.low < 0 < found.high for found in (estimate(rng.standard_normal(8)) for _ in range(2000))
    )
    # Binomial with probability .95: three standard errors are .015.
    assert abs(hits / 2000 - 0.95) < 0.015


def curves_like_the_paper():
    return {
        "hr-ucb-k2": lambda t: 50 * np.log1p(t) * (1 + 0.3 * np.exp(-t / 500)),
        "hr-ucb-k3": lambda t: 45 * np.log1p(t),
        "hr-ucb-k5": lambda t: 50 * np.log1p(t),
        "linucb": lambda t: 0.05 * t,
        "sigma-max-ucb": lambda t: 20 * np.sqrt(t),
        "cmdp": lambda t: 0.3 * t,
        "greedy": lambda t: 20 * np.log1p(t),
    }


def test_claims_are_decided_by_the_growth():
    run = run_of(curves_like_the_paper())
    found = {
        claim.claim: claim for claim in claims("s", {"a": run, "b": run, "b-cmdp": run, "c": run, "d": run})
    }
    assert found["HR-UCB has sublinear regret whatever K"].holds
    assert found["LinUCB has linear regret"].holds
    assert found["CMDP has linear regret"].holds
    # √t: 20·√t is far from linear, however large it is.
    assert not found["sigma_max-UCB has linear regret"].holds
    assert found["HR-UCB beats LinUCB"].holds
    assert "greedy" in found["HR-UCB beats LinUCB"].evidence


def test_claims_fail_when_the_curves_say_so():
    curves = curves_like_the_paper() | {
        "hr-ucb-k5": lambda t: 0.9 * t,
        "hr-ucb-k2": lambda t: 1.2 * t,
        "linucb": lambda t: 30 * np.log1p(t),
    }
    run = run_of(curves)
    found = {claim.claim: claim for claim in claims("s", {"a": run, "b": run})}
    assert not found["HR-UCB has sublinear regret whatever K"].holds
    assert not found["K matters only while users are few"].holds
    assert not found["LinUCB has linear regret"].holds
    assert not found["HR-UCB beats LinUCB"].holds


def test_a_published_curve_agrees_with_itself_and_not_with_twice_itself():
    curve = next(
        curve for curve in published_curves() if (curve.panel, curve.policy) == ("c", "sigma-max-ucb")
    )
    hr_ucb = next(curve for curve in published_curves() if (curve.panel, curve.policy) == ("c", "hr-ucb-k5"))
    rng = np.random.default_rng(1)
    # Trials whose mean is exactly the published one, 5 % apart.
    spread = rng.standard_normal((20, 1))
    spread = 1 + 0.05 * (spread - spread.mean())
    regret = np.stack([2 * curve.regret * spread, hr_ucb.regret * spread])
    run = xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret)},
        coords={"policy": ["sigma-max-ucb", "hr-ucb-k5"], "trial": np.arange(20), "user": curve.users},
    )
    points = compare_curves({"c": run})
    assert len(points) == 60
    assert all(point.agrees == (point.policy == "hr-ucb-k5") for point in points)


def test_published_curves_are_whole():
    assert len(published_curves()) == 10
    for curve in published_curves():
        np.testing.assert_array_equal(curve.users, 1 + 1000 * np.arange(30))
        assert np.all(np.diff(curve.regret) >= 0)
