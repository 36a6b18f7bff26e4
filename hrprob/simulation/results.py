"""What a simulation leaves: arrays over policy, trial and user, as an xarray dataset."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.memory import check_memory
from hrprob._core.records import describe
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.misspecification import as_json, misspecified
from hrprob.simulation.play import Piece
from hrprob.simulation.schedule import Chunk

if TYPE_CHECKING:
    import xarray

__all__ = ["Recorder", "described", "kept_users", "summary_users"]

MOST_ENTRIES = 20_000_000
# Users of a trajectory that are kept by default: longer ones are thinned, so that memory does not grow with T.
MOST_USERS = 100_000
# Of regret, lifetime, action and optimal, for one user of one policy.
_BYTES_PER_ENTRY = 8 + 8 + 4 + 1


class _Timing(NamedTuple):
    """How long a chunk took."""

    seconds: float
    users: int
    first: bool  # of its block


def kept_users(users: int, keep: str | int | np.ndarray, rows: int) -> np.ndarray:
    """Return the numbers of the users that a result has.

    Parameters
    ----------
    users : int
        How many there are.
    keep : "auto", "all", int or ndarray
        All of them, each ``keep``-th from the first, as many as fit (at most 100 000, and 20 million entries
        per variable), or these; users 1, 1001, 2001, ... and the last are always there.
    rows : int
        Policies times trials.

    Examples
    --------
    >>> kept_users(10, 4, rows=1).tolist()
    [1, 5, 9, 10]
    """
    if isinstance(keep, np.ndarray):
        return np.union1d(keep[(keep >= 1) & (keep <= users)], summary_users(users))
    if keep == "all":
        step = 1
    elif keep == "auto":
        steps = [lead * 10**power for power in range(9) for lead in (1, 2, 5)]
        most = min(MOST_USERS, MOST_ENTRIES // rows - 2)
        step = next(step for step in steps if users // step <= most or step >= users)
    elif isinstance(keep, int | np.integer) and not isinstance(keep, bool) and keep >= 1:
        step = int(keep)
    else:
        raise InvalidInput("keep", 'must be "auto", "all" or a whole number', keep, "it thins the users")
    size = rows * (users // step + users // 1000 + 1) * _BYTES_PER_ENTRY
    remedy = f"{users} users, {rows} times (policies × trials); keep fewer users, or play fewer trials"
    check_memory("keep", keep, size, remedy)
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

    def records(self, block: np.ndarray, low: int, stop: int) -> tuple[dict[str, np.ndarray], int]:
        """Return what was taken in for a block from column ``low`` up to before user ``stop``, and the next column."""
        rows, _ = self._rows(block)
        high = int(np.searchsorted(self.kept, stop))
        taken = {name: array[:, rows, low:high] for name, array in self._by_policy().items()}
        return taken | {"best": self._best[rows, low:high]}, high

    def sums(self, block: np.ndarray) -> dict[str, np.ndarray]:
        """Return the sums over all users so far, of a block."""
        rows, _ = self._rows(block)
        return {"total": self._total[:, rows], "best_total": self._best_total[rows]}

    def restore(
        self, block: np.ndarray, records: Sequence[Mapping[str, np.ndarray]], state: Mapping[str, np.ndarray]
    ) -> None:
        """Take in :meth:`records` and :meth:`sums` of a block that an earlier process played."""
        rows, _ = self._rows(block)
        low = 0
        for taken in records:
            high = low + taken["best"].shape[-1]
            for name, array in self._by_policy().items():
                array[:, rows, low:high] = taken[name]
            self._best[rows, low:high] = taken["best"]
            low = high
        self._total[:, rows], self._best_total[rows] = state["total"], state["best_total"]
        if state["users"]:
            for name, seconds in zip(self.names, state["seconds"], strict=True):
                self._timings[name].append(_Timing(float(seconds), int(state["users"]), first=False))

    def _by_policy(self) -> dict[str, np.ndarray]:
        return {
            "regret": self._regret,
            "lifetime": self._lifetime,
            "action": self._action,
            "optimal": self._optimal,
        }

    def _rows(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of these trials, and which of them were asked for: the last block is filled up."""
        real = block < self.trials.stop
        return block[real] - self.trials.start, real

    def _kept_of(self, chunk: Chunk) -> tuple[slice, np.ndarray]:
        """Return the columns of the users of a chunk that are kept, and their places among those after the warm-up."""
        low, high = np.searchsorted(self.kept, [chunk.users.start, chunk.users.stop])
        return slice(low, high), self.kept[low:high] - chunk.users.start

    def dataset(self, policies: Mapping[str, Policy]) -> xarray.Dataset:
        """Return all of it."""
        # Imported here: it takes as long as NumPy and JAX's core together, and nobody needs it to begin a run.
        import xarray

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
            attrs={"seed": self.seed, "users": self.users, **described(self.problem, policies)},
        )

    def _seconds(self, name: str) -> float:
        # The first chunk of a block includes compilation, or waiting for it, unless an earlier call
        # did it; it is charged at the rate of the others. With first chunks alone the two cannot be
        # separated.
        timings = self._timings[name]
        later = [timing for timing in timings if not timing.first] or timings
        rate = sum(timing.seconds for timing in later) / sum(timing.users for timing in later)
        return rate * sum(timing.users for timing in timings)


def described(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, str]:
    """Return what a result says of its problem and policies, each as JSON."""
    return {
        "problem": as_json(describe(problem)),
        "policies": as_json({name: describe(policy) for name, policy in policies.items()}),
        "misspecified": as_json(misspecified(problem, policies)),
    }


def _counted(chunk: Chunk) -> slice:
    """Return the rows of a chunk's arrays that belong to users after the warm-up."""
    return slice(chunk.warmup, chunk.warmup + len(chunk.users))


def _is_best(chunk: Chunk, places: np.ndarray, trials: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Say which of the actions (places, trials) had the best value."""
    rows, columns = (chunk.warmup + places)[:, None], np.flatnonzero(trials)
    # Only the chosen ranks are read: a copy of all would cost more than everything else that is recorded.
    chosen = np.asarray(chunk.arrived.rank)[rows, action, columns]
    best: np.ndarray = np.asarray(chunk.arrived.best_rank)[rows, columns]
    return chosen >= best
