"""What a simulation leaves: arrays over policy, trial and user, as an xarray dataset."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.play import Piece
from hrprob.simulation.schedule import Chunk

__all__ = ["Recorder", "kept_users", "summary_users"]

MOST_ENTRIES = 20_000_000


class _Timing(NamedTuple):
    """How long a chunk took."""

    seconds: float
    users: int
    first: bool  # of its block


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
    """Collects what the engine plays, chunk by chunk, in any order of blocks."""

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
        self._timings: dict[str, list[_Timing]] = {name: [] for name in names}
        self._lock = threading.Lock()

    def add(
        self, name: str, block: np.ndarray, chunk: Chunk, pieces: Sequence[Piece], seconds: float
    ) -> None:
        """Take in how a policy served the users of a chunk."""
        if not chunk.users:
            return
        row = self.names.index(name)
        rows, real = self._rows(block)
        action, lifetime, regret = (
            np.concatenate([getattr(piece, field) for piece in pieces])[:, real]
            for field in ("action", "lifetime", "regret")
        )
        span, places = self._kept_of(chunk)
        self._regret[row, rows, span] = regret[places].T
        self._lifetime[row, rows, span] = lifetime[places].T
        self._action[row, rows, span] = action[places].T
        self._optimal[row, rows, span] = _is_best(chunk, places, real, action[places]).T
        self._total[row, rows] += lifetime.sum(axis=0)
        with self._lock:
            self._timings[name].append(_Timing(seconds, len(action), chunk.users.start == 1))

    def add_best(self, block: np.ndarray, chunk: Chunk) -> None:
        """Take in the oracle's values of a chunk of users."""
        rows, real = self._rows(block)
        best = np.asarray(chunk.arrived.best)[_counted(chunk)][:, real]
        span, places = self._kept_of(chunk)
        self._best[rows, span] = best[places].T
        self._best_total[rows] += best.sum(axis=0)

    def _rows(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of these trials, and which of them were asked for: the last block is filled up."""
        real = block < self.trials.stop
        return block[real] - self.trials.start, real

    def _kept_of(self, chunk: Chunk) -> tuple[slice, np.ndarray]:
        """Return the columns of the users of a chunk that are kept, and their places among those who count."""
        low, high = np.searchsorted(self.kept, [chunk.users.start, chunk.users.stop])
        return slice(low, high), self.kept[low:high] - chunk.users.start

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
                        "long_name": "time in the policy's own steps, without compilation (but for a run of one chunk)",
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
        # The first chunk of a block includes compilation, or waiting for it, unless an earlier call
        # did it; it is charged at the rate of the others. With first chunks alone the two cannot be
        # separated.
        timings = self._timings[name]
        later = [timing for timing in timings if not timing.first] or timings
        rate = sum(timing.seconds for timing in later) / sum(timing.users for timing in later)
        return rate * sum(timing.users for timing in timings)


def _misspecified(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, Any]:
    """Return the policies that assume a part of the problem to be other than it is, and what they assume."""
    misspecified: dict[str, Any] = {}
    for name, policy in policies.items():
        for part, belief in policy.assumptions(problem).items():
            truth = getattr(problem, part)
            if belief is truth:
                continue
            # As JSON: distributions are equal only if they are the same object.
            believed, true = (json.loads(_as_json(describe(value))) for value in (belief, truth))
            if believed != true:
                misspecified.setdefault(name, {})[part] = believed
    return misspecified


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return plain data for what JSON cannot hold: arrays as lists, other values by kind and numbers."""
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    leaves = jax.tree.leaves(value)
    if any(leaf is value for leaf in leaves):
        return str(value)
    return {"kind": type(value).__name__, "values": leaves}


def _counted(chunk: Chunk) -> slice:
    """Return the rows of a chunk's arrays that belong to users who count."""
    return slice(chunk.warmup, chunk.warmup + len(chunk.users))


def _is_best(chunk: Chunk, places: np.ndarray, trials: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Say which of the actions (places, trials) had the best value."""
    value = np.asarray(chunk.arrived.value)[_counted(chunk)][places][..., trials]
    best = np.asarray(chunk.arrived.best)[_counted(chunk)][places][:, trials]
    chosen = np.take_along_axis(value, action[:, None], axis=1)[:, 0]
    return chosen >= best
