"""How one user is served, from arrival to departure, in one trial.

Under the lazy update the action is chosen once and kept: the user's stay is summed
up in a few numbers, whatever its length. Where actions change from round to round
(eager policies, warm-up users) it is played out one round at a time.

No stay is cut off. Rounds are drawn until the user leaves; only after
``MOST_ROUNDS`` of them, with the action kept, is the rest of the stay drawn at once
from its law, which is geometric because a stay has no memory. The outcomes of that rest
are not drawn, so no sample set takes them (``Seen.played`` counts them): to stop recording
at a round known beforehand is a stopping rule and biases nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from hrprob import lifetime
from hrprob.policies.base import Policy, Seen
from hrprob.problem import Problem
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, Arrivals
from hrprob.source import Purpose, Source

__all__ = ["MOST_ROUNDS", "Learning", "Served", "serve", "serve_at_random"]

MOST_ROUNDS = 2**16


class Learning(NamedTuple):
    """What a policy carries from user to user."""

    state: Any
    taken: jax.Array  # () |S|


class Served(NamedTuple):
    """What came of one user."""

    action: jax.Array  # () int32, of the first round
    lifetime: jax.Array  # () rounds played, the last included
    cost: jax.Array  # () pseudo regret


class _Stay(NamedTuple):
    """The rounds of one action so far."""

    alive: jax.Array  # () bool
    played: jax.Array  # ()
    taken: jax.Array  # ()
    total: jax.Array  # ()
    squares: jax.Array  # ()


def serve(
    problem: Problem, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> tuple[Learning, Served]:
    """Serve one user; ``user`` counts the warm-up in, ``arrival`` has no user and trial axes."""
    by_round = _serve_by_round if policy.eager else _serve_lazily
    return by_round(problem, policy, learning, user, arrival, source)


def _serve_lazily(
    problem: Problem, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> tuple[Learning, Served]:
    action = policy.select(learning.state, source.key(Purpose.POLICY), arrival.contexts, arrival.beta).astype(
        jnp.int32
    )
    mean, deviation = arrival.mean[action], arrival.deviation[action]
    quota = policy.quota(learning.taken, user)

    def extend(stay: _Stay, noise: jax.Array) -> _Stay:
        return _extend(stay, mean + deviation * noise, arrival.beta, quota)

    nothing = jnp.zeros(())
    stay = extend(_Stay(jnp.asarray(True), nothing, nothing, nothing, nothing), arrival.noise)
    stay = lax.while_loop(
        lambda stay: stay.alive & (stay.played < MOST_ROUNDS),
        lambda stay: extend(stay, problem.noise.draw(source, BLOCK_OF_ROUNDS, stay.played)),
        stay,
    )
    length = _with_remainder(problem, source, stay.alive, stay.played, mean, deviation, arrival.beta)
    seen = Seen(
        user=user,
        contexts=arrival.contexts,
        action=action,
        context=arrival.contexts[action],
        beta=arrival.beta,
        played=length,
        left=jnp.asarray(True),
        taken=stay.taken,
        total=stay.total,
        squares=stay.squares,
    )
    learned = Learning(policy.update(learning.state, seen), learning.taken + stay.taken)
    cost = lifetime.pseudo_regret(arrival.best, arrival.value[action])
    return learned, Served(action, length, cost)


def _extend(stay: _Stay, outcomes: jax.Array, beta: jax.Array, quota: jax.Array) -> _Stay:
    # Written out by rounds: each is a vector operation over the trials.
    alive, played, taken, total, squares = stay
    for outcome in outcomes:
        takes = alive & (taken < quota)
        played = played + jnp.where(alive, 1.0, 0.0)
        taken = taken + jnp.where(takes, 1.0, 0.0)
        total = total + jnp.where(takes, outcome, 0.0)
        squares = squares + jnp.where(takes, outcome * outcome, 0.0)
        alive = alive & (outcome >= beta)
    return _Stay(alive, played, taken, total, squares)


def _with_remainder(
    problem: Problem,
    source: Source,
    alive: jax.Array,
    played: jax.Array,
    mean: jax.Array,
    deviation: jax.Array,
    beta: jax.Array,
) -> jax.Array:
    """Return the length of the stay, its rest drawn from the geometric law if it goes on."""

    def rest(pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        chance = lifetime.reneging_chance(mean, deviation * deviation, beta, problem.noise)
        waiting = jnp.log(source.uniform(Purpose.REMAINDER)) / jnp.log1p(-chance)
        return jnp.asarray(False), pair[1] + jnp.ceil(waiting)

    # A loop that runs at most once: unlike a conditional, it costs nothing in a batch that needs none.
    return lax.while_loop(lambda pair: pair[0], rest, (alive, played))[1]


class _Round(NamedTuple):
    """A user's stay while actions may change."""

    alive: jax.Array  # () bool
    learning: Learning
    played: jax.Array  # ()
    first: jax.Array  # () int32
    action: jax.Array  # () int32
    cost: jax.Array  # ()


def _serve_by_round(
    problem: Problem, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> tuple[Learning, Served]:
    root = source.key(Purpose.POLICY)

    def choose(state: Any, played: jax.Array) -> jax.Array:
        key = jax.random.fold_in(root, played.astype(jnp.uint32))
        return policy.select(state, key, arrival.contexts, arrival.beta)

    return _play_rounds(problem, policy, learning, user, arrival, source, choose)


def serve_at_random(
    problem: Problem, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> Learning:
    """Serve a warm-up user: a new uniformly random action every round."""
    actions = arrival.mean.shape[0]

    def choose(state: Any, played: jax.Array) -> jax.Array:
        return jnp.floor(actions * source.uniform(Purpose.WARMUP, (), played))

    return _play_rounds(problem, policy, learning, user, arrival, source, choose)[0]


def _play_rounds(
    problem: Problem,
    policy: Policy,
    learning: Learning,
    user: jax.Array,
    arrival: Arrivals,
    source: Source,
    choose: Any,
) -> tuple[Learning, Served]:
    def play(now: _Round) -> _Round:
        action = choose(now.learning.state, now.played).astype(jnp.int32)
        mean, deviation = arrival.mean[action], arrival.deviation[action]
        outcome = mean + deviation * problem.noise.draw(source, 1, now.played)[0]
        left = outcome < arrival.beta
        taken = jnp.where(policy.quota(now.learning.taken, user) > 0, 1.0, 0.0)
        seen = Seen(
            user=user,
            contexts=arrival.contexts,
            action=action,
            context=arrival.contexts[action],
            beta=arrival.beta,
            played=jnp.ones(()),
            left=left,
            taken=taken,
            total=taken * outcome,
            squares=taken * outcome * outcome,
        )
        learned = Learning(policy.update(now.learning.state, seen), now.learning.taken + taken)
        cost = problem.objective.round_cost(arrival.best, arrival.value[action])
        first = jnp.where(now.played == 0, action, now.first)
        return _Round(~left, learned, now.played + 1.0, first, action, now.cost + cost)

    nothing, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
    end = lax.while_loop(
        lambda now: now.alive & (now.played < MOST_ROUNDS),
        play,
        _Round(jnp.asarray(True), learning, nothing, none, none, nothing),
    )
    # Past the last recorded round the action is kept, and the expected rest of the cost is that
    # of a stay with one action.
    mean, deviation = arrival.mean[end.action], arrival.deviation[end.action]
    length = _with_remainder(problem, source, end.alive, end.played, mean, deviation, arrival.beta)
    rest = lifetime.pseudo_regret(arrival.best, arrival.value[end.action])
    return end.learning, Served(end.first, length, end.cost + jnp.where(end.alive, rest, 0.0))
