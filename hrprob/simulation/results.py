"""What a simulation leaves: arrays over policy, trial and user, as an xarray dataset."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping

import numpy as np
import xarray

from hrprob.errors import InvalidInput
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.record import describe
from hrprob.simulation.serving import Served

__all__ = ["Recorder", "Timing", "kept_users", "summary_users"]

MOST_ENTRIES = 20_000_000
Timing = float


def kept_users(users: int, keep: str | int, rows: int) -> np.ndarray:
    """Return the numbers of the users that a result has.

    Parameters
    ----------
    users : int
        How many there are.
    keep : "auto", "all" or int
        All of them, each ``keep``-th from the first, or as many as fit; users 1, 1001,
        2001, ... and the last are always there.
    rows : int
        Policies times trials.

    Examples
    --------
    >>> kept_users(10, 4, rows=1).tolist()
    [1, 5, 9, 10]
    """
    if keep == "all":
        step = 1
    elif keep == "auto":
        steps = [lead * 10**power for power in range(9) for lead in (1, 2, 5)]
        step = next(step for step in steps if rows * (users // step + 2) <= MOST_ENTRIES or step >= users)
    elif isinstance(keep, int | np.integer) and not isinstance(keep, bool) and keep >= 1:
        step = int(keep)
    else:
        raise InvalidInput("keep", 'must be "auto", "all" or a whole number', keep, "it thins the users")
    return np.union1d(np.arange(1, users + 1, step), summary_users(users))


def summary_users(users: int) -> np.ndarray:
    """Return the users that a summary names: 1, 1001, 2001, ... and the last.

    Examples
    --------
    >>> summary_users(2500).tolist()
    [1, 1001, 2001, 2500]
    """
    return np.union1d(np.arange(1, users + 1, 1000), [users])


class Recorder:
    """Collects what the engine plays, stretch by stretch, in any order of blocks."""

    def __init__(
        self, problem: Problem, names: list[str], kept: np.ndarray, trials: int, users: int, seed: int
    ) -> None:
        self.problem, self.names, self.kept = problem, names, kept
        self.trials, self.users, self.seed = trials, users, seed
        shape = (len(names), trials, len(kept))
        self._regret = np.full(shape, np.nan)
        self._lifetime = np.full(shape, np.nan)
        self._action = np.full(shape, -1, dtype=np.int32)
        self._total = np.zeros(shape[:2])
        self._timings: dict[str, list[tuple[Timing, int, bool]]] = {name: [] for name in names}
        self._lock = threading.Lock()

    def add(self, name: str, trials: np.ndarray, first: int, served: Served, timing: Timing) -> None:
        """Take in a stretch of users, arrays of shape (users, trials), whose first user is ``first``."""
        row = self.names.index(name)
        real = trials < self.trials
        rows = trials[real]
        action, lifetime, regret = (np.asarray(leaf)[: self.users - first + 1, real] for leaf in served)
        low, high = np.searchsorted(self.kept, [first, first + len(action)])
        places = self.kept[low:high] - first
        self._regret[row, rows, low:high] = regret[places].T
        self._lifetime[row, rows, low:high] = lifetime[places].T
        self._action[row, rows, low:high] = action[places].T
        self._total[row, rows] += lifetime.sum(axis=0)
        with self._lock:
            self._timings[name].append((timing, len(action), first == 1))

    def dataset(self, policies: Mapping[str, Policy]) -> xarray.Dataset:
        """Return all of it."""
        axes = ("policy", "trial", "user")
        return xarray.Dataset(
            {
                "regret": (axes, self._regret, {"long_name": "cumulative pseudo regret", "units": "rounds"}),
                "lifetime": (axes, self._lifetime, {"long_name": "realised lifetime", "units": "rounds"}),
                "action": (axes, self._action, {"long_name": "action of the first round, from 0"}),
                "mean_lifetime": (
                    axes[:2],
                    self._total / self.users,
                    {"long_name": "mean realised lifetime over all users", "units": "rounds"},
                ),
                "seconds": (
                    axes[:1],
                    [self._seconds(name) for name in self.names],
                    {
                        "long_name": "time in the policy's own steps, compilation aside (but for a run of one stretch)",
                        "units": "s",
                    },
                ),
            },
            coords={"policy": self.names, "trial": np.arange(self.trials), "user": self.kept},
            attrs={
                "seed": self.seed,
                "users": self.users,
                "problem": json.dumps(describe(self.problem), ensure_ascii=False, default=str),
                "policies": json.dumps(
                    {name: describe(policy) for name, policy in policies.items()},
                    ensure_ascii=False,
                    default=str,
                ),
            },
        )

    def _seconds(self, name: str) -> float:
        # The first stretch of a block includes compilation, or waiting for it, unless an earlier call
        # did it; it is charged at the rate of the others. With first stretches alone there is nothing
        # to tell the two apart by.
        timings = self._timings[name]
        later = [timing for timing in timings if not timing[2]] or timings
        rate = sum(seconds for seconds, _, _ in later) / sum(users for _, users, _ in later)
        return rate * sum(users for _, users, _ in timings)
