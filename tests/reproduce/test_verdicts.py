"""Verdicts on curves and claims, on curves whose growth is known."""

import numpy as np
import xarray

from hrprob.reproduce.published import published_curves
from hrprob.reproduce.verdicts import claims, compare_curves
from tests.comparison.curves import run_of


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


def test_claims_are_decided_by_growth():
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


def test_claims_fail_on_curves_that_contradict_them():
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


def test_published_curves_are_complete():
    assert len(published_curves()) == 10
    for curve in published_curves():
        np.testing.assert_array_equal(curve.users, 1 + 1000 * np.arange(30))
        assert np.all(np.diff(curve.regret) >= 0)
