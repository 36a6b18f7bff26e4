"""What a simulation leaves: arrays over policy, trial and user, as an xarray dataset."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.arrivals import Arrivals
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
        self, problem: Problem, names: list[str], kept: np.ndarray, trials: range, users: int, seed: int
    ) -> None:
        self.problem, self.names, self.kept = problem, names, kept
        self.trials, self.users, self.seed = trials, users, seed
        shape = (len(names), len(trials), len(kept))
        self._regret = np.full(shape, np.nan)
        self._lifetime = np.full(shape, np.nan)
        self._action = np.full(shape, -1, dtype=np.int32)
        self._optimal = np.zeros(shape, dtype=np.int8)
        self._best = np.full(shape[1:], np.nan)
        self._best_total = np.zeros(shape[1])
        self._total = np.zeros(shape[:2])
        self._timings: dict[str, list[tuple[Timing, int, bool]]] = {name: [] for name in names}
        self._lock = threading.Lock()

    def add(
        self, name: str, trials: np.ndarray, first: int, served: Served, arrived: Arrivals, timing: Timing
    ) -> None:
        """Take in a stretch of users, arrays of shape (users, trials), whose first user is ``first``."""
        row = self.names.index(name)
        rows, real = self._rows(trials)
        action, lifetime, regret = (np.asarray(leaf)[: self.users - first + 1, real] for leaf in served)
        span, places = self._kept_of(first, len(action))
        self._regret[row, rows, span] = regret[places].T
        self._lifetime[row, rows, span] = lifetime[places].T
        self._action[row, rows, span] = action[places].T
        self._optimal[row, rows, span] = np.asarray(_is_best(arrived, served.action))[places][:, real].T
        self._total[row, rows] += lifetime.sum(axis=0)
        with self._lock:
            self._timings[name].append((timing, len(action), first == 1))

    def add_best(self, trials: np.ndarray, first: int, arrived: Arrivals) -> None:
        """Take in what the oracle makes of a stretch of users."""
        rows, real = self._rows(trials)
        best = np.asarray(arrived.best)[: self.users - first + 1, real]
        span, places = self._kept_of(first, len(best))
        self._best[rows, span] = best[places].T
        self._best_total[rows] += best.sum(axis=0)

    def _rows(self, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where these trials are kept, and which of them there are: the last block is filled up."""
        real = trials < self.trials.stop
        return trials[real] - self.trials.start, real

    def _kept_of(self, first: int, users: int) -> tuple[slice, np.ndarray]:
        """Return where the users kept of a stretch go, and their places in it."""
        low, high = np.searchsorted(self.kept, [first, first + users])
        return slice(low, high), self.kept[low:high] - first

    def dataset(self, policies: Mapping[str, Policy]) -> xarray.Dataset:
        """Return all of it."""
        axes = ("policy", "trial", "user")
        unit = self.problem.objective.unit
        return xarray.Dataset(
            {
                "regret": (axes, self._regret, {"long_name": "cumulative pseudo regret", "units": unit}),
                "lifetime": (axes, self._lifetime, {"long_name": "realised lifetime", "units": "rounds"}),
                "action": (axes, self._action, {"long_name": "action of the first round, from 0"}),
                "optimal": (axes, self._optimal, {"long_name": "1 where no action was better at first"}),
                "best": (axes[1:], self._best, {"long_name": "the oracle's expected value"}),
                "mean_best": (
                    axes[1:2],
                    self._best_total / self.users,
                    {"long_name": "mean of the oracle's expected value over all users"},
                ),
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
            coords={"policy": self.names, "trial": np.array(self.trials), "user": self.kept},
            attrs={
                "seed": self.seed,
                "users": self.users,
                "problem": _as_json(describe(self.problem)),
                "policies": _as_json({name: describe(policy) for name, policy in policies.items()}),
                "misspecified": _as_json(_misspecified(self.problem, policies)),
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


def _misspecified(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, Any]:
    """Return the policies that take a part of the problem for another than it is, and for what."""
    found: dict[str, Any] = {}
    for name, policy in policies.items():
        for part, belief in policy.assumptions(problem).items():
            truth = getattr(problem, part)
            if belief is truth:
                continue
            # As JSON, for distributions are the same only if they are the same object.
            believed, true = (json.loads(_as_json(describe(value))) for value in (belief, truth))
            if believed != true:
                found.setdefault(name, {})[part] = believed
    return found


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return what a record holds and JSON cannot: its kind and its numbers."""
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    leaves = jax.tree.leaves(value)
    if any(leaf is value for leaf in leaves):
        return str(value)
    return {"kind": type(value).__name__, "values": leaves}


@jax.jit
def _is_best(arrived: Arrivals, action: jax.Array) -> jax.Array:
    """Say whose action (users, trials) had the best value."""
    chosen = jnp.take_along_axis(arrived.value, action[:, None], axis=1)[:, 0]
    return chosen >= arrived.best
