"""The compiled programs of the engine: one policy, one block of trials, one chunk of users.

===========  ==============================================================================
``begin``    the first state; one program per kind of policy
``warm``     the warm-up users of a chunk; one per kind of policy and of rules that has some
``advance``  other users of a chunk; one per kind of policy and of rules
===========  ==============================================================================

Two programs are compiled side by side, where one with both loops would keep one core busy for twice as long; and
policies with warm-up users share ``advance`` with those that have none. Every array has the trials on its last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from hrprob._core.compiled import program
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source
from hrprob._core.types import Integer, PyTree
from hrprob.numerics.last_axis import vmap_last
from hrprob.policies.base import Policy, Seen
from hrprob.problem.stay_rules import StayRules
from hrprob.simulation.arrivals import Arrivals
from hrprob.simulation.serving import Learning, Served, Visit, blank_seen, serve, warm_up
from hrprob.simulation.truths import SHARED, OwnNumbers, with_own_numbers

__all__ = ["Carry", "Keys", "Observer", "Played", "advance", "begin", "fit_keys", "warm"]

Keys = tuple[jax.Array, jax.Array]
Observer = Callable[[Seen, PyTree], PyTree]
"""What to keep of each user: a function of what was seen and of the policy's state afterwards.

It is written for one user of one trial and must be hashable (a function of a module, or a frozen
record): it is part of the compiled program.
"""

ForOne = Callable[[Visit, Learning], PyTree]
"""What is done with one user of one trial."""

# The user's number is the same in all trials; everything else has the trials on its last axis.
_TRIALS_LAST = Arrivals(False, *[True] * (len(Arrivals._fields) - 1))  # type: ignore[arg-type]


class Carry(NamedTuple):
    """What a policy carries from user to user."""

    learning: Learning
    regret: jax.Array  # (trials,) so far


class Played(NamedTuple):
    """How the users of a chunk were served."""

    served: Served  # each (users, trials)
    regret: jax.Array  # (users, trials) cumulative pseudo regret
    observed: PyTree  # each (users, ..., trials)


@program()
def begin(policy: Policy, keys: Keys, own: OwnNumbers = SHARED) -> Carry:
    """Return a policy's state before the first user."""
    trials = keys[0].shape[0]

    def one(own: OwnNumbers) -> Learning:
        return Learning(with_own_numbers(policy, own).init(), jnp.zeros(()))

    return Carry(jax.vmap(one, -1, -1, axis_size=trials)(own), jnp.zeros(trials))


@program()
def warm(
    rules: StayRules,
    policy: Policy,
    keys: Keys,
    carry: Carry,
    arrived: Arrivals,
    low: Integer = 0,
    high: Integer | None = None,
    own: OwnNumbers = SHARED,
) -> Carry:
    """Serve the users ``low`` to ``high`` (by default all) of a chunk, all of whom are warm-up users."""

    def step(number: Integer, carry: Carry) -> Carry:
        learning = _over_trials(warm_up, rules, policy, keys, own, carry.learning, _row(arrived, number))
        return carry._replace(learning=learning)

    return lax.fori_loop(low, arrived.beta.shape[0] if high is None else high, step, carry)


@program(static=("observe",))
def advance(
    rules: StayRules,
    policy: Policy,
    keys: Keys,
    carry: Carry,
    arrived: Arrivals,
    low: Integer = 0,
    high: Integer | None = None,
    own: OwnNumbers = SHARED,
    *,
    observe: Observer | None = None,
) -> tuple[Carry, Played]:
    """Serve the users ``low`` to ``high`` (by default all) of a chunk; the rows of others are 0.

    Parameters
    ----------
    observe : callable, optional
        What to keep of each user; see :data:`Observer`.
    """
    size, trials = arrived.beta.shape

    def serve_one(visit: Visit, learning: Learning) -> tuple[Learning, Served, PyTree]:
        learned, served, seen = serve(visit, learning)
        return learned, served, None if observe is None or seen is None else observe(seen, learned.state)

    def blank(visit: Visit, learning: Learning) -> PyTree:
        return observe(blank_seen(visit), learning.state)  # type: ignore[misc]

    def over_trials(one: ForOne, learning: Learning, number: Integer) -> PyTree:
        return _over_trials(one, rules, policy, keys, own, learning, _row(arrived, number))

    def step(number: Integer, now: tuple[Carry, Played]) -> tuple[Carry, Played]:
        carry, played = now
        learning, served, observed = over_trials(serve_one, carry.learning, number)
        regret = carry.regret + served.cost
        new = Played(served, regret, observed)
        return Carry(learning, regret), jax.tree.map(
            lambda rows, row: lax.dynamic_update_index_in_dim(rows, row, number, 0), played, new
        )

    zeros = jnp.zeros((size, trials))
    kept = None if observe is None else jax.eval_shape(lambda now: over_trials(blank, now, 0), carry.learning)
    observed = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), kept)
    empty = Played(Served(zeros.astype(jnp.int32), zeros, zeros), zeros, observed)
    return lax.fori_loop(low, size if high is None else high, step, (carry, empty))


def _over_trials(
    one: ForOne,
    rules: StayRules,
    policy: Policy,
    keys: Keys,
    own: OwnNumbers,
    learning: Learning,
    arrival: Arrivals,
) -> PyTree:
    """Return ``one(visit, learning)`` of one user in every trial."""

    def with_visit(learning: Learning, arrival: Arrivals, keys: Keys, own: OwnNumbers) -> PyTree:
        # Users are counted from the first warm-up user on.
        warming = arrival.users >= WARMUP_USERS
        user = arrival.users.astype(float) + jnp.where(warming, 1.0 - WARMUP_USERS, policy.warmup)
        visit = Visit(rules, with_own_numbers(policy, own), user, arrival, Source(keys, arrival.users))
        return one(visit, learning)

    batched = True, _TRIALS_LAST, True, True
    if policy.eager or policy.trials_apart:
        # Loops over rounds in which trials end at different times take half of the time this way.
        axes = jax.tree.map(lambda has: -1 if has else None, batched)
        return jax.vmap(with_visit, axes, -1)(learning, arrival, keys, own)
    return vmap_last(with_visit, batched, keys[0].shape[0])(learning, arrival, keys, own)


def _row(arrived: Arrivals, number: Integer) -> Arrivals:
    row: Arrivals = jax.tree.map(
        lambda leaf: lax.dynamic_index_in_dim(leaf, number, 0, keepdims=False), arrived
    )
    return row


@jax.jit
def fit_keys(keys: Keys, user: Integer) -> jax.Array:
    """Return the keys of a fit outside the compiled run after ``user``, one per trial."""
    number = jnp.asarray(user, jnp.uint32)
    return jax.vmap(lambda one, two: Source((one, two), number).key(Purpose.FIT))(*keys)
