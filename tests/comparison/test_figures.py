"""Figures of a comparison."""

import numpy as np
import pytest

import hrprob
from hrprob.comparison import figures


@pytest.mark.slow
def test_of_many_policies_the_best_are_drawn() -> None:
    rng = np.random.default_rng(0)
    policies = {f"p{xi:02d}": hrprob.HRUCB(radius="constant", xi=float(xi)) for xi in rng.permutation(10)}
    run = hrprob.simulate(hrprob.Problem(theta=[0.5], phi=[0.5]), policies, users=60, trials=4, keep="all")
    found = hrprob.compare(run, baseline="p09")
    ordered = figures.best_first(run, found)
    few = figures.shown_policies(ordered)
    assert sorted(ordered.policy.values) == sorted(policies)
    assert few.sizes["policy"] == figures.MOST_CURVES
    assert few.policy.values[0] == "p09"
    others = [name for name in policies if name != "p09"]
    best = run.regret.isel(user=-1).mean("trial").sel(policy=others).to_series().sort_values(kind="stable")
    assert set(few.policy.values[1:]) == set(best.index[: figures.MOST_CURVES - 1]) or best.duplicated().any()
    hrprob.plot.differences(few, against=found.baseline)
    # With few policies nothing changes.
    three = run.isel(policy=slice(3))
    assert figures.best_first(three, hrprob.compare(three)) is three
