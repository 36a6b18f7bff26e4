"""The compiled programs of the engine: one policy, one block of trials, one chunk of users.

===========  ==============================================================================
``begin``    the first state; one program per kind of policy
``advance``  some users of a chunk; one per kind of policy and of rules, and one more for
             runs with warm-up users
===========  ==============================================================================

Whole chunks, parts of chunks and warm-up users are all served by ``advance``. Every array has
the trials on its last axis.
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

__all__ = ["Carry", "Keys", "Observer", "Played", "advance", "begin", "fit_keys"]

Keys = tuple[jax.Array, jax.Array]
Observer = Callable[[Seen, PyTree], PyTree]
"""What to keep of each user: a function of what was seen and of the policy's state afterwards.

It is written for one user of one trial and must be hashable (a function of a module, or a frozen
record): it is part of the compiled program.
"""

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


@program(static=("warms", "observe"))
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
    warms: bool = False,
    observe: Observer | None = None,
) -> tuple[Carry, Played]:
    """Serve the users ``low`` to ``high`` (by default all) of a chunk; the rows of others are 0.

    Parameters
    ----------
    warms : bool
        Whether warm-up users may be among them, those with numbers from ``WARMUP_USERS`` on.
    observe : callable, optional
        What to keep of each user; see :data:`Observer`. A warm-up user has nothing to observe.
    """
    size, trials = arrived.beta.shape

    def over_trials(one: Callable[..., PyTree], learning: Learning, arrival: Arrivals) -> PyTree:
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
        return vmap_last(with_visit, batched, trials)(learning, arrival, keys, own)

    def serve_one(visit: Visit, learning: Learning) -> tuple[Learning, Served, PyTree]:
        learned, served, seen = serve(visit, learning)
        return learned, served, None if observe is None or seen is None else observe(seen, learned.state)

    def step(number: Integer, now: tuple[Carry, Played]) -> tuple[Carry, Played]:
        carry, played = now
        learning, served, observed = over_trials(serve_one, carry.learning, _row(arrived, number))
        regret = carry.regret + served.cost
        new = Played(served, regret, observed)
        return Carry(learning, regret), jax.tree.map(
            lambda rows, row: lax.dynamic_update_index_in_dim(rows, row, number, 0), played, new
        )

    def blank(learning: Learning, arrival: Arrivals) -> PyTree:
        return over_trials(lambda visit, after: observe(blank_seen(visit), after.state), learning, arrival)  # type: ignore[misc]

    def warm(number: Integer, carry: Carry) -> Carry:
        return carry._replace(learning=over_trials(warm_up, carry.learning, _row(arrived, number)))

    high = size if high is None else high
    if warms:
        # They come first. In a loop of their own: in one with the others, the state would be copied for every user.
        first = jnp.clip(jnp.sum(arrived.users >= WARMUP_USERS), low, high)
        carry, low = lax.fori_loop(low, first, warm, carry), first
    zeros = jnp.zeros((size, trials))
    kept = None if observe is None else jax.eval_shape(blank, carry.learning, _row(arrived, 0))
    observed = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), kept)
    empty = Played(Served(zeros.astype(jnp.int32), zeros, zeros), zeros, observed)
    return lax.fori_loop(low, high, step, (carry, empty))


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
