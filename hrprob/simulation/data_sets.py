r"""Data sets: the same adaptive loop played many times, each time with its own truth.

A posterior is calibrated if, over truths drawn from the prior and data gathered under each,
its intervals contain the truth as often as they say. The data must come from the whole loop: the
policy looks at outcomes, picks contexts, users leave. It may not look at the truth; a policy that
does makes the contexts tell more than the posterior knows, and calibration shows it.

Under the prior a user may stay longer than any computer can count. No stay is cut off,
but only the first ``cap`` rounds of each are recorded: to stop recording at a round known
beforehand is a stopping rule and biases nothing.

===========  =======================================================
symbol       name
===========  =======================================================
θ*, φ*       ``theta``, ``phi``, one row per data set
x, m, Σr, …  ``stays``, one row per user, recorded rounds only
β            ``beta``
===========  =======================================================
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob._core.records import record, with_fields
from hrprob._core.types import PyTree, State
from hrprob.observations import Data, Rounds, Stays
from hrprob.policies.base import Policy, Seen
from hrprob.problem import Problem
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, checked_arrivals
from hrprob.simulation.checkpoints import ChunkStore
from hrprob.simulation.play import Play, play_block
from hrprob.simulation.programs import Keys
from hrprob.simulation.schedule import MOST_TRIALS_IN_BLOCK, Schedule
from hrprob.simulation.tasks import JobRunner, SideBySide, pack_tree, unpack_tree
from hrprob.simulation.truths import Truths, bind_to_each, with_truths

__all__ = [
    "CAP",
    "CappedPolicy",
    "DataSets",
    "GatherJob",
    "Truths",
    "check_fresh",
    "check_policy",
    "check_users",
    "gather",
    "gather_blocks",
    "gather_jobs",
]

CAP = BLOCK_OF_ROUNDS
"""Rounds of a stay that are recorded, where truths are drawn from a prior."""

# Of long data sets fewer are played side by side, to bound the rows held at once.
_MOST_ROWS, _LEAST_BLOCK = 2**20, 8
_LONGEST_CHUNK = 4096
# Longer data sets go without single outcomes.
_MOST_USERS_WITH_SINGLES = 1000


class DataSets(NamedTuple):
    """What was recorded, one row per data set and user."""

    truths: Truths
    stays: Stays  # x (sets, users, d), rounds, total, squares (sets, users)
    beta: np.ndarray  # (sets, users) the true level, seen by the policy or not
    played: np.ndarray  # (sets, users) rounds played, recorded or not
    # (sets, users, k) of the first k rounds; past ``played`` they mean nothing, and k may be 0
    outcomes: np.ndarray
    fresh: np.ndarray  # (sets, points, d) contexts that no user was served
    fresh_beta: np.ndarray  # (sets, points)

    def of_kind(self, kind: type) -> Data:
        """Return the rows as a model is conditioned on them: Stays, or Rounds of single outcomes."""
        if kind is Stays:
            return self.stays
        number = np.arange(self.outcomes.shape[-1])
        weight = np.where(number < np.asarray(self.stays.rounds)[..., None], 1.0, 0.0)
        return Rounds(self.stays.x, weight * self.outcomes, weight)  # type: ignore[arg-type]


class _Recorded(NamedTuple):
    """What is recorded of a user."""

    stay: Stays  # one row, without its axis
    played: jax.Array  # ()
    outcomes: jax.Array  # (k,)


@dataclasses.dataclass(frozen=True)
class _Record:
    """An observer that records a stay, and its first ``single`` outcomes one by one."""

    single: int

    def __call__(self, seen: Seen, state: PyTree) -> _Recorded:
        stay = Stays(seen.context, seen.sampled, seen.total, seen.squares)
        return _Recorded(stay, seen.played, seen.outcomes[: self.single])


@record(static=("eager",))
class CappedPolicy(Policy[State]):
    """A policy that observes at most ``cap`` rounds of a stay, a stopping rule known beforehand."""

    inner: Policy[State] = None  # type: ignore[assignment]  # always given
    cap: float = math.inf

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the same around the policy for this problem."""
        inner = self.inner.bind(problem, users)
        if inner.pauses(users):
            remedy = (
                "it fits between chunks of users; gather with a policy that learns within the compiled run"
            )
            raise InvalidInput("policy", "must have no pauses", inner.kind, remedy)
        return with_fields(super().bind(problem, users), inner=inner)

    def init(self) -> State:
        """Return the policy's first state."""
        return self.inner.init()

    def select(self, state: State, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the policy's choice."""
        action: jax.Array = self.inner.select(state, key, contexts, beta)
        return action

    def update(self, state: State, seen: Seen) -> State:
        """Let the policy learn from the first rounds.

        How long the stay went on after them would tell the policy more than the data do.
        """
        heard = seen._replace(
            played=jnp.minimum(seen.played, self.cap), left=seen.left & (seen.played <= self.cap)
        )
        return self.inner.update(state, heard)

    def depart(self, state: State, user: jax.Array) -> State:
        """Return the policy's state once the user has left."""
        return self.inner.depart(state, user)

    def quota(self, state: State, sample_size: jax.Array, user: jax.Array, context: jax.Array) -> jax.Array:
        """Return the policy's own quota, or the cap."""
        return jnp.minimum(self.inner.quota(state, sample_size, user, context), self.cap)


def gather(
    problem: Problem,
    policy: Policy,
    truths: Truths,
    *,
    users: int,
    seed: int,
    room: int | None = None,
    cap: float = CAP,
    fresh: int = 0,
    report: Callable[[int], None] = lambda users: None,
    runner: JobRunner | None = None,
    name: str = "data sets",
) -> DataSets:
    """Play ``policy`` on ``problem`` once for each truth, and return what was recorded.

    Parameters
    ----------
    problem : Problem
        What is played, apart from its own θ* and φ*.
    policy : Policy
        Who plays; its warm-up users are left out.
    truths : Truths
        θ* and φ* of each data set.
    users, seed : int
        Users in each data set, and the seed of everything random except the truths.
    room : int, optional
        Users that the policy and the programs have room for, by default ``users``: data sets of several lengths that have
        the same room share their programs.
    cap : float
        Most rounds recorded of a stay.
    fresh : int
        Contexts, with levels, that are drawn like those of a user and served to no user.
    report : callable
        Called now and then with the number of users just served.
    runner : JobRunner, optional
        Where the data sets are played; by default in threads of this process.
    name : str
        The name of this step, for the runner.
    """
    jobs = gather_jobs(problem, policy, truths, users=users, seed=seed, room=room, cap=cap, fresh=fresh)
    blocks = list((runner or SideBySide()).run(name, jobs, report))
    whole: DataSets = jax.tree.map(lambda *leaves: np.concatenate(leaves), *blocks)
    return whole


class GatherJob(NamedTuple):
    """Some data sets that are played side by side; the arguments are those of :func:`gather_jobs`."""

    problem: Problem
    policy: CappedPolicy
    truths: Truths  # of this block
    numbers: np.ndarray  # of its data sets
    sets: int  # of all blocks
    users: int
    room: int  # users that the policy and the programs have room for
    seed: int
    fresh: int
    enough: float
    singles: bool

    @property
    def size(self) -> int:
        """How many users are served."""
        return self.users * len(self.numbers)

    @property
    def real(self) -> int:
        """How many of its data sets were asked for; they come first."""
        return int(np.sum(self.numbers < self.sets))

    def play(
        self,
        *,
        workers: int | None = None,
        report: Callable[[int], None] = lambda users: None,
        store: ChunkStore | None = None,
    ) -> DataSets:
        """Play them in this thread."""
        with double_precision():
            keys = trial_keys(self.seed, self.numbers)
            schedule = _schedule(self.problem, self.room, len(self.numbers))
            observe = _Record(CAP if self.singles else 0)
            played = _play(
                self.problem,
                self.policy,
                self.truths,
                keys,
                schedule,
                self.users,
                observe,
                self.fresh,
                self.enough,
                report,
            )
            return jax.tree.map(lambda leaf: np.asarray(leaf)[: self.real], played)

    def pack(self, result: DataSets) -> dict[str, np.ndarray]:
        """Return the data sets as arrays by name."""
        return pack_tree(result)

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> DataSets:
        """Return the data sets that were packed."""
        nothing: PyTree = 0
        blank = DataSets(Truths(nothing, nothing), Stays(*[nothing] * 4), *[nothing] * 5)
        return unpack_tree(blank, arrays)


def gather_jobs(
    problem: Problem,
    policy: Policy,
    truths: Truths,
    *,
    users: int,
    seed: int,
    room: int | None = None,
    cap: float = CAP,
    fresh: int = 0,
    enough: float = math.inf,
    singles: bool | None = None,
) -> list[GatherJob]:
    """Return the jobs that together make what :func:`gather` returns, some data sets each: long ones need not be held all at once.

    A job ends early once ``enough`` rounds have been recorded in each of its data sets. ``singles`` says whether
    the outcomes of the first rounds are recorded one by one; by default those of at most a thousand users are.
    """
    check_policy(policy)
    sets = len(truths.theta)
    capped = CappedPolicy(inner=with_fields(policy, warmup=0), cap=float(cap))
    one_by_one = users <= _MOST_USERS_WITH_SINGLES if singles is None else singles

    def job(numbers: np.ndarray) -> GatherJob:
        # The last block is filled up, so that all have one shape.
        block = Truths(*(np.asarray(leaf)[np.minimum(numbers, sets - 1)] for leaf in truths))
        return GatherJob(problem, capped, block, numbers, sets, users, wide, seed, fresh, enough, one_by_one)

    wide, filled = users if room is None else room, sets
    if room is not None and sets > MOST_TRIALS_IN_BLOCK:
        # The size of a block is part of its programs, as the room is: whole blocks have one size.
        filled = -(-sets // MOST_TRIALS_IN_BLOCK) * MOST_TRIALS_IN_BLOCK
    return [job(numbers) for numbers in _schedule(problem, wide, filled).blocks]


def gather_blocks(
    problem: Problem,
    policy: Policy,
    truths: Truths,
    *,
    users: int,
    seed: int,
    cap: float = CAP,
    enough: float = math.inf,
    singles: bool | None = None,
    report: Callable[[int], None] = lambda users: None,
) -> Iterator[DataSets]:
    """Yield what the jobs of :func:`gather_jobs` return, played in threads of this process."""
    jobs = gather_jobs(
        problem, policy, truths, users=users, seed=seed, cap=cap, enough=enough, singles=singles
    )
    yield from SideBySide().run("data sets", jobs, report)


def _schedule(problem: Problem, users: int, sets: int) -> Schedule:
    most = min(MOST_TRIALS_IN_BLOCK, max(_LEAST_BLOCK, _MOST_ROWS // users))
    return Schedule(problem, users=users, trials=range(sets), block=most, longest_chunk=_LONGEST_CHUNK)


def _play(
    problem: Problem,
    policy: CappedPolicy,
    truths: Truths,
    keys: Keys,
    schedule: Schedule,
    users: int,
    observe: _Record,
    fresh: int,
    enough: float,
    report: Callable[[int], None],
) -> DataSets:
    """Return the data sets of one block."""
    sets = schedule.block_size
    bound, own = bind_to_each(policy, problem, truths, schedule.users)
    play = Play(problem, bound, keys, schedule.users, own=own, observe=observe, stops=(users,))
    true = with_truths(problem, truths)
    parts, recorded = [], np.zeros(sets)
    for chunk, piece in play_block(true, play, keys, schedule, sets):
        beta = np.asarray(chunk.arrived.beta)[: len(piece.users)]
        # Data sets first, as readers want them.
        parts.append(jax.tree.map(lambda leaf: np.moveaxis(leaf, -1, 0), (piece.observed, beta)))
        report(len(piece.users) * sets)
        recorded += piece.observed.stay.rounds.sum(axis=0)
        if recorded.min() >= enough or piece.users[-1] >= users:
            break
    kept, beta = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *parts)
    drawn = _fresh(true, keys, users, fresh, schedule.chunk_size)
    return DataSets(truths, kept.stay, beta, kept.played, kept.outcomes, *drawn)


def _fresh(
    problem: Problem, keys: Keys, users: int, points: int, chunk_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first context of ``points`` users who come after all others, and their levels."""
    sets = keys[0].shape[0]
    if points == 0:
        return np.zeros((sets, 0, problem.dimension)), np.zeros((sets, 0))
    # As many as make a chunk arrive, by the programs of the chunks before.
    numbers = np.arange(users + 1, users + max(points, chunk_size) + 1, dtype=np.uint32)
    arrived = checked_arrivals(problem, keys, numbers, points)
    contexts = np.moveaxis(np.asarray(arrived.contexts)[:points, 0], -1, 0)
    return contexts, np.asarray(arrived.beta)[:points].T


def check_users(users: Iterable[int], data: DataSets) -> None:
    """Raise unless the data sets have, after each of these numbers of users, one more to be looked at."""
    largest, there = max(users, default=0), data.played.shape[1]
    if not 0 < largest < there:
        remedy = "posteriors are compared with what the next user was served; gather one user more"
        raise InvalidInput("users", f"must be numbers from 1 to {there - 1}, one at least", largest, remedy)


def check_fresh(data: DataSets) -> None:
    """Raise unless the data sets have contexts that no user was served."""
    if not data.fresh.shape[1]:
        remedy = "posteriors are looked at there; gather with fresh = 8"
        raise InvalidInput("fresh", "must be at least 1", 0, remedy)


def check_policy(policy: Policy) -> None:
    """Raise unless the policy's data sets can be played here."""
    if policy.eager:
        raise InvalidInput(
            "policy",
            "must keep its action for a whole stay",
            policy.kind,
            "data sets have one row per user; set eager = false, or choose another policy",
        )
    if not getattr(getattr(policy, "engine", None), "streaming", True):
        raise InvalidInput(
            "policy",
            "must have an engine that fits within a compiled run",
            policy.engine.kind,  # type: ignore[attr-defined]
            "gather with laplace or smc; any engine can then be fitted to the data",
        )
