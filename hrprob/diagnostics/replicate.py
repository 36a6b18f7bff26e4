r"""Data sets: the same adaptive loop played many times, each time with a truth of its own.

A posterior is calibrated if, over truths drawn from the prior and data gathered about
each, its intervals hold what they say. The data must come from the whole loop: the policy
looks at outcomes, picks contexts, users leave. It may not look at the truth; one that does
makes the contexts tell more than the posterior knows, and calibration shows it.

Under the prior a user may stay for longer than any computer can count. No stay is cut off,
but only the first ``cap`` rounds of each are recorded: to stop recording at a round known
beforehand is a stopping rule and biases nothing.

===========  =======================================================
symbol       name
===========  =======================================================
θ*, φ*       ``theta``, ``phi``, one row a data set
x, m, Σr, …  ``stays``, one row a user, those recorded
β            ``beta``
===========  =======================================================
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob._core.records import record, with_fields
from hrprob.models import Data, Rounds, Setting, Stays
from hrprob.policies.base import Policy, Seen
from hrprob.problem import Problem
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, Arrivals, checked_arrivals
from hrprob.simulation.serving import Learning, serve

__all__ = [
    "CAP",
    "DataSets",
    "Truths",
    "check_fresh",
    "check_policy",
    "check_users",
    "draw_truths",
    "gather",
    "gather_blocks",
    "side_by_side",
]

CAP = BLOCK_OF_ROUNDS
"""Rounds of a stay that are recorded, where truths are drawn from a prior."""

# Data sets played side by side: enough to fill vector registers, few enough that one user who
# will not leave does not hold up many. Long ones are fewer, to bound the rows of users held at once.
_LANES = 32
_MOST_ROWS = 2**20
# Longer data sets go without single outcomes.
_MOST_USERS_WITH_SINGLES = 1000
# Numbers in the contexts of a stretch of users, as in a simulation.
_MOST_CONTEXT_NUMBERS = 2**20
_LONGEST_STRETCH = 4096

T = TypeVar("T")
R = TypeVar("R")
Keys = tuple[jax.Array, jax.Array]


class Truths(NamedTuple):
    """What is true in each data set."""

    theta: np.ndarray  # (sets, d)
    phi: np.ndarray  # (sets, d)


class DataSets(NamedTuple):
    """What was recorded, one row a data set and a user."""

    truths: Truths
    stays: Stays  # x (sets, users, d), rounds, total, squares (sets, users)
    beta: np.ndarray  # (sets, users) the true level, seen by the policy or not
    played: np.ndarray  # (sets, users) rounds played, recorded or not
    outcomes: (
        np.ndarray
    )  # (sets, users, k) of the first k rounds; past ``played`` they mean nothing, and k may be 0
    fresh: np.ndarray  # (sets, points, d) contexts that nobody was served
    fresh_beta: np.ndarray  # (sets, points)

    def of_kind(self, kind: type) -> Data:
        """Return the rows as a model is conditioned on them: Stays, or Rounds of single outcomes."""
        if kind is Stays:
            return self.stays
        number = np.arange(self.outcomes.shape[-1])
        weight = np.where(number < np.asarray(self.stays.rounds)[..., None], 1.0, 0.0)
        return Rounds(self.stays.x, weight * self.outcomes, weight)  # type: ignore[arg-type]


class _Noted(NamedTuple):
    """What is recorded of a user."""

    x: jax.Array  # (d,)
    rounds: jax.Array  # ()
    total: jax.Array  # ()
    squares: jax.Array  # ()
    played: jax.Array  # ()
    outcomes: jax.Array  # (k,)


class _State(NamedTuple):
    inner: Any
    last: _Noted


@record(static=("eager", "single"))
class RecordingPolicy(Policy):
    """A policy, and what it saw last; it sees ``cap`` rounds of a stay at most.

    ``single`` outcomes of a stay are noted one by one.
    """

    inner: Any = None
    cap: Any = math.inf
    single: Any = BLOCK_OF_ROUNDS

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the same around the policy for this problem."""
        return with_fields(super().bind(problem, users), inner=self.inner.bind(problem, users))

    def init(self) -> _State:
        """Return the policy's first state."""
        none, d = jnp.zeros(()), self.known.dimension
        seen = _Noted(jnp.zeros(d), none, none, none, none, jnp.zeros(self.single))
        return _State(self.inner.init(), seen)

    def select(self, state: _State, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the policy's choice."""
        return self.inner.select(state.inner, key, contexts, beta)

    def update(self, state: _State, seen: Seen) -> _State:
        """Note what was seen, and let the policy learn from what is recorded of it."""
        outcomes = seen.outcomes[: self.single]
        noted = _Noted(seen.context, seen.sampled, seen.total, seen.squares, seen.played, outcomes)
        # How long a stay went on after its last recorded round would tell the policy more than the data do.
        recorded = seen._replace(
            played=jnp.minimum(seen.played, self.cap), left=seen.left & (seen.played <= self.cap)
        )
        return _State(self.inner.update(state.inner, recorded), noted)

    def depart(self, state: _State, user: jax.Array) -> _State:
        """Let the policy close the user's book."""
        return state._replace(inner=self.inner.depart(state.inner, user))

    def quota(self, state: _State, sample_size: jax.Array, user: jax.Array, context: jax.Array) -> jax.Array:
        """Return what the policy would take, or the cap."""
        return jnp.minimum(self.inner.quota(state.inner, sample_size, user, context), self.cap)


def draw_truths(prior: Any, setting: Setting, sets: int, seed: int) -> Truths:
    """Return truths drawn from a prior.

    Examples
    --------
    >>> from hrprob.models import make_prior
    >>> truths = draw_truths(make_prior("uniform"), Setting(3), sets=5, seed=0)
    >>> truths.phi.shape, bool(np.linalg.norm(truths.theta, axis=1).max() <= 1)
    ((5, 3), True)
    """
    check_count("sets", sets, remedy="calibration is seen over data sets")
    with double_precision():
        by_theta, by_phi = jax.random.split(jax.random.key(seed))
        return Truths(
            np.asarray(prior.theta(setting).sample(by_theta, (sets,))),
            np.asarray(prior.phi(setting).sample(by_phi, (sets,))),
        )


def gather(
    problem: Problem,
    policy: Policy,
    truths: Truths,
    *,
    users: int,
    seed: int,
    cap: float = CAP,
    fresh: int = 0,
    report: Callable[[int], None] = lambda users: None,
) -> DataSets:
    """Play ``policy`` on ``problem`` once for each truth, and return what was recorded.

    Parameters
    ----------
    problem : Problem
        What is played, its own θ* and φ* aside.
    policy : Policy
        Who plays; its warm-up users are left out.
    truths : Truths
        θ* and φ* of each data set.
    users, seed : int
        Users in each, and the seed of everything random but the truths.
    cap : float
        Rounds recorded of a stay at most.
    fresh : int
        Contexts, with levels, that are drawn as those of a user and served to nobody.
    report : callable
        Told how many users have been served, now and then.
    """
    options: dict[str, Any] = {"cap": cap, "fresh": fresh, "report": report}
    blocks = list(gather_blocks(problem, policy, truths, users=users, seed=seed, **options))
    whole: DataSets = jax.tree.map(lambda *leaves: np.concatenate(leaves), *blocks)
    return whole


def gather_blocks(
    problem: Problem,
    policy: Policy,
    truths: Truths,
    *,
    users: int,
    seed: int,
    cap: float = CAP,
    fresh: int = 0,
    enough: float = math.inf,
    report: Callable[[int], None] = lambda users: None,
) -> Iterator[DataSets]:
    """Yield what :func:`gather` returns, some data sets at a time: long ones need not be held all at once.

    A block ends early once ``enough`` rounds have been recorded in each of its data sets.
    """
    check_policy(policy)
    sets = truths.theta.shape[0]
    blocks = -(-sets // min(_LANES, max(8, _MOST_ROWS // users)))
    lanes = -(-sets // blocks)
    single = CAP if users <= _MOST_USERS_WITH_SINGLES else 0
    watched = RecordingPolicy(inner=with_fields(policy, warmup=0), cap=float(cap), single=single)

    def play(first: int) -> DataSets:
        # The last block is filled up, so that all have one shape.
        numbers = np.arange(first, first + lanes)
        block = Truths(*(leaf[np.minimum(numbers, sets - 1)] for leaf in truths))
        played = _play(problem, watched, block, numbers, users, seed, fresh, enough, report)
        return jax.tree.map(lambda leaf: leaf[: sets - first], played)

    yield from side_by_side(play, range(0, sets, lanes))


def side_by_side(function: Callable[[T], R], arguments: Sequence[T]) -> Iterator[R]:
    """Yield ``function`` of each argument, in order, on all cores and in double precision.

    No more is begun than there are cores, and a result not yet taken holds up the next.

    Examples
    --------
    >>> list(side_by_side(lambda x: x * x, [1, 2, 3]))
    [1, 4, 9]
    """

    def one(argument: T) -> R:
        with double_precision():
            return function(argument)

    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        waiting = list(arguments)
        running = [pool.submit(one, waiting.pop(0)) for _ in range(min(workers, len(waiting)))]
        while running:
            result = running.pop(0).result()
            if waiting:
                running.append(pool.submit(one, waiting.pop(0)))
            yield result


def check_users(users: Iterable[int], data: DataSets) -> None:
    """Raise unless the data sets have, after each of these numbers of users, one more to be looked at."""
    largest, there = max(users, default=0), data.played.shape[1]
    if not 0 < largest < there:
        remedy = "posteriors are held against what the next user was served; gather one user more"
        raise InvalidInput("users", f"must be numbers from 1 to {there - 1}, one at least", largest, remedy)


def check_fresh(data: DataSets) -> None:
    """Raise unless the data sets have contexts that nobody was served."""
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
            "data sets have one row a user; set eager = false, or name another with --policy",
        )
    if not getattr(getattr(policy, "engine", None), "streaming", True):
        raise InvalidInput(
            "policy",
            "must have an engine that fits within a compiled run",
            policy.engine.kind,  # type: ignore[attr-defined]
            "gather with laplace or smc; any engine can then be fitted to the data",
        )


def _play(
    problem: Problem,
    watched: RecordingPolicy,
    truths: Truths,
    numbers: np.ndarray,
    users: int,
    seed: int,
    fresh: int,
    enough: float,
    report: Callable[[int], None],
) -> DataSets:
    """Return the data sets of one block; ``numbers`` are those of its data sets."""
    keys = trial_keys(seed, numbers)
    played = with_fields(problem, theta=jnp.asarray(truths.theta.T), phi=jnp.asarray(truths.phi.T))
    policy, own = _bound_to_each(watched, problem, truths, users)
    learning = _begin(policy, own, keys)
    lanes = len(numbers)
    size = problem.contexts.actions * problem.dimension * lanes
    stretch = min(users, _LONGEST_STRETCH, max(16, _MOST_CONTEXT_NUMBERS // size))
    parts, recorded = [], np.zeros(lanes)
    for first in range(1, users + 1, stretch):
        coming = np.arange(first, first + stretch, dtype=np.uint32)
        arrived = checked_arrivals(played, keys, coming, users - first + 1)
        learning, noted = _advance(problem, policy, own, keys, learning, arrived)
        # Trials first, as readers want them; users past the last are those that filled the stretch.
        both = (noted, arrived.beta)
        parts.append(jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), -1, 0), both))
        report(min(stretch, users - first + 1) * lanes)
        recorded += parts[-1][0].rounds.sum(axis=1)
        if recorded.min() >= enough:
            break
    whole, beta = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1)[:, :users], *parts)
    stays = Stays(whole.x, whole.rounds, whole.total, whole.squares)
    return DataSets(truths, stays, beta, whole.played, whole.outcomes, *_fresh(played, keys, users, fresh))


def _fresh(problem: Problem, keys: Keys, users: int, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first context of ``points`` users who come after all others, and their levels."""
    lanes = keys[0].shape[0]
    if points == 0:
        return np.zeros((lanes, 0, problem.dimension)), np.zeros((lanes, 0))
    arrived = checked_arrivals(problem, keys, np.arange(users + 1, users + points + 1, dtype=np.uint32))
    contexts = np.moveaxis(np.asarray(arrived.contexts[:, 0]), -1, 0)
    return contexts, np.asarray(arrived.beta).T


def _bound_to_each(
    watched: RecordingPolicy, problem: Problem, truths: Truths, users: int
) -> tuple[RecordingPolicy, tuple[tuple[int, jax.Array], ...]]:
    """Return the policy bound to the problem of each data set.

    Leaves that differ from data set to data set, those of a policy that looks at the truth, come
    beside it: their places among the leaves, and all of them with the data sets on the last axis.
    """

    def bound(number: int) -> RecordingPolicy:
        with_truth = with_fields(problem, theta=truths.theta[number], phi=truths.phi[number])
        return watched.bind(with_truth, users)

    one = bound(0)
    different = _differing(one, bound(len(truths.theta) - 1))
    if not different:
        return one, ()
    each = [jax.tree.leaves(bound(number)) for number in range(len(truths.theta))]
    own = ((place, jnp.stack([jnp.asarray(leaves[place]) for leaves in each], -1)) for place in different)
    return one, tuple(own)


def _differing(one: Any, other: Any) -> list[int]:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return [place for place, (a, b) in enumerate(pairs) if not np.array_equal(np.asarray(a), np.asarray(b))]


# The user's number is the same in all data sets; everything else has them on its last axis.
_LAST = Arrivals(None, *[-1] * (len(Arrivals._fields) - 1))  # type: ignore[arg-type]


def _begin(policy: RecordingPolicy, own: Any, keys: Keys) -> Learning:
    return _begin_compiled(policy, tuple(place for place, _ in own), [leaf for _, leaf in own], keys)


def _advance(
    problem: Problem, policy: RecordingPolicy, own: Any, keys: Keys, learning: Learning, arrived: Arrivals
) -> tuple[Learning, _Noted]:
    places, leaves = tuple(place for place, _ in own), [leaf for _, leaf in own]
    return _advance_compiled(problem, policy, places, leaves, keys, learning, arrived)


@functools.partial(jax.jit, static_argnames="places")
def _begin_compiled(
    policy: RecordingPolicy, places: tuple[int, ...], own: list[jax.Array], keys: Keys
) -> Learning:
    def one(own: list[jax.Array], _: jax.Array) -> Learning:
        return Learning(_with_own(policy, places, own).init(), jnp.zeros(()))

    return jax.vmap(one, -1, -1)(own, keys[0])


@functools.partial(jax.jit, static_argnames="places")
def _advance_compiled(
    problem: Problem,
    policy: RecordingPolicy,
    places: tuple[int, ...],
    own: list[jax.Array],
    keys: Keys,
    learning: Learning,
    arrived: Arrivals,
) -> tuple[Learning, _Noted]:
    """Play a stretch of users; what is noted has shape (users, ..., data sets)."""

    def one(learning: Learning, arrival: Arrivals, keys: Keys, own: list[jax.Array]) -> Learning:
        mine = _with_own(policy, places, own)
        source, user = Source(keys, arrival.users), arrival.users.astype(float)
        return serve(problem.rules, mine, learning, user, arrival, source)[0]

    def step(learning: Learning, arrival: Arrivals) -> tuple[Learning, _Noted]:
        after = jax.vmap(one, (-1, _LAST, -1, -1), -1)(learning, arrival, keys, own)
        return after, after.state.last

    return lax.scan(step, learning, arrived)


def _with_own(policy: RecordingPolicy, places: tuple[int, ...], own: list[jax.Array]) -> RecordingPolicy:
    leaves, structure = jax.tree.flatten(policy)
    for place, leaf in zip(places, own, strict=True):
        leaves[place] = leaf
    return jax.tree.unflatten(structure, leaves)
