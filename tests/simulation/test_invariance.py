"""A trial is the same whatever runs beside it and however the work is cut: exactly, to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.cli import XLA_FLAGS
from hrprob.simulation import schedule
from tests.helpers import make

# To the last bit, in the code that users run.
pytestmark = pytest.mark.optimised

USERS, TRIALS, SEED = 48, 7, 3
PROBLEM = hrprob.Problem(contexts=hrprob.Sphere(6))
# Its width does not depend on T, so neither do its choices.
HR_UCB = hrprob.HRUCB(radius="constant", xi=5.0, warmup=2)
RELEASED_MAX = 2 + float(np.linalg.norm([0.5, 0.2, 0.8, 0.9]))
VARIABLES = ("action", "lifetime", "regret")


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the users into chunks of 16, whatever their number: one shape, compiled once."""
    monkeypatch.setattr(schedule, "MOST_CONTEXT_NUMBERS", 1)


def run(policies: Any = HR_UCB, problem: hrprob.Problem = PROBLEM, **options: Any) -> xarray.Dataset:
    options = {"users": USERS, "trials": TRIALS, "seed": SEED, "keep": "all"} | options
    return hrprob.simulate(problem, policies, **options)


def assert_same(some: xarray.Dataset, reference: xarray.Dataset) -> None:
    """Check that the policies, trials and users of ``some`` are those of ``reference``."""
    same = reference.sel(policy=some.policy, trial=some.trial, user=some.user)
    for name in VARIABLES:
        np.testing.assert_array_equal(some[name], same[name], err_msg=name)


@pytest.fixture(scope="module")
def reference() -> xarray.Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "MOST_CONTEXT_NUMBERS", 1)
        return run()


@pytest.mark.usefixtures("short_chunks")
class TestSmall:
    def test_same_seed_twice(self, reference: xarray.Dataset) -> None:
        assert_same(run(), reference)

    def test_another_seed_differs(self, reference: xarray.Dataset) -> None:
        other = run(seed=SEED + 1)
        for name in VARIABLES:
            assert np.any(other[name].values != reference[name].values, axis=(0, 2)).all(), name

    def test_trials_differ(self, reference: xarray.Dataset) -> None:
        lifetimes = reference.lifetime.values[0]
        assert len(np.unique(lifetimes, axis=0)) == TRIALS

    @pytest.mark.slow
    @pytest.mark.parametrize("trials", [1, 3])
    def test_number_of_trials(self, reference: xarray.Dataset, trials: int) -> None:
        assert_same(run(trials=trials), reference)

    @pytest.mark.parametrize("block", [pytest.param(1, marks=pytest.mark.slow), 3, 100])
    def test_blocks(self, reference: xarray.Dataset, block: int) -> None:
        # Blocks of 3 leave a last one that is filled up with trials that are dropped.
        some = run(block=block)
        assert some.sizes["trial"] == TRIALS
        assert_same(some, reference)

    @pytest.mark.parametrize("workers", [1, 2, 5])
    def test_workers(self, reference: xarray.Dataset, workers: int) -> None:
        assert_same(run(workers=workers, block=3), reference)

    @pytest.mark.slow
    def test_other_policies_in_the_run_change_nothing(self, reference: xarray.Dataset) -> None:
        together = run({"oracle": hrprob.Oracle(), "hr-ucb": HR_UCB, "again": HR_UCB})
        assert_same(together.sel(policy=["hr-ucb"]), reference)
        assert_same(together.sel(policy=["again"]).assign_coords(policy=["hr-ucb"]), reference)
        # Comparisons are paired: where two policies choose alike, the user stays as long.
        oracle, hr_ucb = together.sel(policy="oracle"), together.sel(policy="hr-ucb")
        alike = oracle.action.values == hr_ucb.action.values
        assert 20 < alike.sum() < alike.size
        np.testing.assert_array_equal(oracle.lifetime.values[alike], hr_ucb.lifetime.values[alike])

    @pytest.mark.parametrize("users", [16, 17, 47])
    def test_number_of_users(self, reference: xarray.Dataset, users: int) -> None:
        # 16 fill their chunk but for the warm-up; the others end within one.
        some = run(users=users)
        assert some.sizes["user"] == users
        assert_same(some, reference)
        np.testing.assert_allclose(
            some.mean_lifetime, reference.lifetime[..., :users].mean("user"), rtol=1e-12
        )

    @pytest.mark.parametrize("keep", [1, 7, 100])
    def test_thinning(self, reference: xarray.Dataset, keep: int) -> None:
        some = run(keep=keep)
        assert some.user.values.tolist() == sorted({*range(1, USERS + 1, keep), USERS})
        assert_same(some, reference)
        np.testing.assert_array_equal(some.mean_lifetime, reference.mean_lifetime)


@pytest.mark.slow
def test_chunks(reference: xarray.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = PROBLEM.contexts.actions * PROBLEM.dimension * TRIALS
    monkeypatch.setattr(schedule, "MOST_CONTEXT_NUMBERS", 32 * numbers)
    assert_same(run(), reference)


# Differences in the last bit can take thousands of users to turn an action, so: long runs.

LONG = {
    "hr-ucb": hrprob.HRUCB(variance_max=RELEASED_MAX, warmup=5),
    "linucb": hrprob.LinUCB(ridge=0, warmup=5),
    "cmdp": make("cmdp", {"cells": 10}),
}


@pytest.fixture(scope="module")
def long_reference() -> xarray.Dataset:
    return run(LONG, hrprob.Problem(), users=3000, trials=24)


@pytest.mark.study
@pytest.mark.parametrize(
    "cut",
    [
        {"trials": 1},
        {"trials": 7},
        {"trials": 24, "workers": 1},
        {"trials": 20, "block": 4},
        {"trials": 24, "block": 24},
    ],
    ids=str,
)
def test_long_runs(long_reference: xarray.Dataset, cut: dict[str, int]) -> None:
    assert_same(run(LONG, hrprob.Problem(), users=3000, **cut), long_reference)


@pytest.mark.study
@pytest.mark.parametrize("numbers", [2**12, 2**24])
def test_long_runs_in_other_chunks(
    long_reference: xarray.Dataset, monkeypatch: pytest.MonkeyPatch, numbers: int
) -> None:
    monkeypatch.setattr(schedule, "MOST_CONTEXT_NUMBERS", numbers)
    assert_same(run(LONG, hrprob.Problem(), users=3000, trials=24), long_reference)


_ALONE = """
import sys

import hrprob

policies = {"greedy": hrprob.Greedy(warmup=2), "thompson": hrprob.Thompson()}
hrprob.simulate(hrprob.Problem(), policies, users=200, trials=4, seed=3).to_netcdf(sys.argv[1])
"""


@pytest.mark.study
def test_flags_of_the_compiler_change_no_digit(tmp_path: Path) -> None:
    """The flags that the command line sets are for speed only: without them the numbers are the same."""
    results = []
    for number, flags in enumerate(("", XLA_FLAGS)):
        file, environment = tmp_path / f"{number}.nc", os.environ | {"XLA_FLAGS": flags}
        subprocess.run([sys.executable, "-c", _ALONE, file], check=True, env=environment)
        results.append(xarray.load_dataset(file))
    assert_same(*results)
