"""The engine: one policy plays one block of trials, chunk by chunk.

Everything that plays goes through :class:`Play`: a simulation (many policies on the same
arrivals), data sets for diagnostics (a truth per trial, an observer), coverage (stops at which the
state is looked at), rounds for a fit. Random numbers belong to a trial and a user, so all of them
play the same game.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple

import jax
import numpy as np

from hrprob._core.compiled import Ready
from hrprob._core.errors import InvalidInput
from hrprob._core.parallel import side_by_side
from hrprob._core.random_numbers import trial_keys
from hrprob._core.types import PyTree
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.problem.stay_rules import StayRules
from hrprob.simulation.arrivals import Arrivals
from hrprob.simulation.programs import Carry, Keys, Observer, Played, advance, begin, fit_keys, warm
from hrprob.simulation.schedule import Chunk, Schedule, arriving
from hrprob.simulation.truths import SHARED, OwnNumbers

__all__ = ["Piece", "Play", "look_at_states", "play_block"]


class Piece(NamedTuple):
    """Users who were served one after another; NumPy arrays, the trials on the last axis."""

    users: range  # their numbers
    action: np.ndarray  # (users, trials) int32, of the first round
    lifetime: np.ndarray  # (users, trials) rounds played
    cost: np.ndarray  # (users, trials) pseudo regret of each user
    regret: np.ndarray  # (users, trials) cumulative pseudo regret
    observed: PyTree  # what the observer returned, each (users, ..., trials)


class Play:
    """A policy in the middle of a block of trials.

    Parameters
    ----------
    problem : Problem
        What is played; of its parts only those that decide a stay matter here.
    policy : Policy
        Who plays, bound to the problem.
    keys : tuple of arrays
        The keys of the trials, from :func:`~hrprob._core.random_numbers.trial_keys`.
    users : int
        How many users will come.
    own : OwnNumbers
        Numbers of the policy that differ between trials.
    observe : callable, optional
        What to keep of each user: a function of what was seen of the stay (``Seen``) and of the
        policy's state afterwards, for one user of one trial. It must be hashable: a function of a
        module or a frozen record. The policy must keep one action per stay.
    stops : sequence of int
        Users after whom a piece ends, so that the state can be looked at.

    Attributes
    ----------
    state
        The policy's state after the last user served, each leaf with the trials on the last axis.
    """

    def __init__(
        self,
        problem: Problem,
        policy: Policy,
        keys: Keys,
        users: int,
        *,
        own: OwnNumbers = SHARED,
        observe: Observer | None = None,
        stops: Sequence[int] = (),
    ) -> None:
        if observe is not None and policy.eager:
            remedy = "a stay under several actions has no summary to observe; set eager = false"
            raise InvalidInput("policy", "must keep its action for a whole stay", policy.kind, remedy)
        self._rules, self._policy, self._keys, self._own = problem.rules, policy, keys, own
        self._observe = observe
        self._pauses = set(policy.pauses(users))
        self._ends = sorted({*stops, *self._pauses})
        self._carry: Carry = begin(policy, keys, own)

    @property
    def state(self) -> PyTree:
        """The policy's state after the last user served."""
        return self._carry.learning.state

    @property
    def carry(self) -> list[np.ndarray]:
        """All that decides how the play goes on, as plain arrays."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self._carry)]

    def set_carry(self, leaves: Sequence[np.ndarray]) -> None:
        """Go on from where a play of the same policy had this :attr:`carry`."""
        self._carry = jax.tree.unflatten(
            jax.tree.structure(self._carry), [jax.device_put(leaf) for leaf in leaves]
        )

    def programs(self, problem: Problem, schedule: Schedule) -> list[Callable[[], Future[Ready]]]:
        """Return functions that compile the programs for the chunks of a schedule, to be called side by side.

        The future of each is done when its program is ready: another thread may be compiling it.
        """
        shapes = Arrivals.shapes(problem, schedule.chunk_size, schedule.block_size)
        arguments = self._arguments(shapes, 0, 0)
        serving = functools.partial(advance.prepare, *arguments, observe=self._observe)
        return [serving, functools.partial(warm.prepare, *arguments)] if self._policy.warmup else [serving]

    def advance(self, chunk: Chunk) -> Iterator[Piece]:
        """Serve the users of a chunk; yield those after the warm-up, in one piece or up to each stop."""
        warmup = min(max(self._policy.warmup - chunk.before, 0), chunk.warmup)
        if warmup:
            self._carry = warm(*self._arguments(chunk.arrived, 0, warmup))
        if not chunk.users:
            return
        first, last = chunk.users.start, chunk.users[-1]
        if first == 1 and 0 in self._pauses:
            self._pause(0)
        for end in [*(end for end in self._ends if first <= end < last), last]:
            low, high = chunk.place(first), chunk.place(end) + 1
            played = jax.tree.map(
                lambda rows, low=low, high=high: np.asarray(rows)[low:high], self._serve(chunk, low, high)
            )
            if end in self._pauses:
                self._pause(end)
            action, lifetime, cost = played.served
            yield Piece(range(first, end + 1), action, lifetime, cost, played.regret, played.observed)
            first = end + 1

    def _serve(self, chunk: Chunk, low: int, high: int) -> Played:
        self._carry, played = advance(*self._arguments(chunk.arrived, low, high), observe=self._observe)
        return played

    def _arguments(
        self, arrived: Arrivals, low: int, high: int
    ) -> tuple[StayRules, Policy, Keys, Carry, Arrivals, int, int, OwnNumbers]:
        return self._rules, self._policy, self._keys, self._carry, arrived, low, high, self._own

    def _pause(self, user: int) -> None:
        learning = self._carry.learning
        state = self._policy.fit_outside(learning.state, user, fit_keys(self._keys, user))
        self._carry = self._carry._replace(learning=learning._replace(state=state))


def play_block(
    problem: Problem, play: Play, keys: Keys, schedule: Schedule, trials: int
) -> Iterator[tuple[Chunk, Piece]]:
    """Play one policy on one block of trials; yield each piece with the chunk that it belongs to.

    ``problem`` makes the arrivals and may have a truth per trial; ``trials`` of the block were asked for.
    """
    for chunk in arriving(problem, keys, schedule, trials):
        for piece in play.advance(chunk):
            yield chunk, piece


def look_at_states(
    problem: Problem,
    policy: Policy,
    look: Callable[[Policy, PyTree], PyTree],
    marks: Sequence[int],
    trials: int,
    seed: int,
) -> PyTree:
    """Play a policy and return what ``look`` says of its state after each of the users ``marks``.

    ``look`` is called with the policy, bound to the problem, and its state, trials on the last axis; what it
    returns is stacked, each leaf (marks, ..., trials).
    """
    bound = policy.bind(problem, marks[-1])
    schedule = Schedule(problem, users=marks[-1], trials=range(trials), warmup=bound.warmup)

    def play(block: np.ndarray) -> PyTree:
        keys, real = trial_keys(seed, block), schedule.real(block)
        playing = Play(problem, bound, keys, marks[-1], stops=marks)
        looks = [
            look(bound, playing.state)
            for _, piece in play_block(problem, playing, keys, schedule, real)
            if piece.users[-1] in marks
        ]
        return jax.tree.map(lambda *leaves: np.array(leaves)[..., :real], *looks)

    blocks = side_by_side(play, schedule.blocks)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=-1), *blocks)
