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
from hrprob._core.random_numbers import Purpose, Source
from hrprob.policies.base import Policy, Seen
from hrprob.problem.stay_rules import StayRules
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, Arrivals

__all__ = ["MOST_ROUNDS", "Learning", "Served", "serve", "serve_at_random"]

MOST_ROUNDS = 2**16


class Learning(NamedTuple):
    """What a policy carries from user to user."""

    state: Any
    sample_size: jax.Array  # () |S|


class Served(NamedTuple):
    """What came of one user."""

    action: jax.Array  # () int32, of the first round
    lifetime: jax.Array  # () rounds played, the last included
    cost: jax.Array  # () pseudo regret


class _Stay(NamedTuple):
    """The rounds of one action so far."""

    alive: jax.Array  # () bool
    played: jax.Array  # ()
    sampled: jax.Array  # ()
    total: jax.Array  # ()
    squares: jax.Array  # ()


def serve(
    rules: StayRules, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> tuple[Learning, Served]:
    """Serve one user; ``user`` counts the warm-up in, ``arrival`` has no user and trial axes."""
    to_the_end = _serve_by_round if policy.eager else _serve_lazily
    learned, served = to_the_end(rules, policy, learning, user, arrival, source)
    return _departed(policy, learned, user), served


def _serve_lazily(
    rules: StayRules, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> tuple[Learning, Served]:
    seen_level = _seen_level(rules, arrival)
    action = policy.select(learning.state, source.key(Purpose.POLICY), arrival.contexts, seen_level).astype(
        jnp.int32
    )
    mean, sd = arrival.mean[action], arrival.sd[action]
    quota = policy.quota(learning.state, learning.sample_size, user, arrival.contexts[action])

    def extend(stay: _Stay, outcomes: jax.Array) -> _Stay:
        levels = rules.satisfaction.by_round(arrival.beta, source, BLOCK_OF_ROUNDS, stay.played)
        return _extend(stay, outcomes, levels, quota)

    nothing, outcomes = jnp.zeros(()), mean + sd * arrival.noise
    stay = extend(_Stay(jnp.asarray(True), nothing, nothing, nothing, nothing), outcomes)
    stay = lax.while_loop(
        lambda stay: stay.alive & (stay.played < MOST_ROUNDS),
        lambda stay: extend(stay, mean + sd * rules.noise.draw(source, BLOCK_OF_ROUNDS, stay.played)),
        stay,
    )
    length = _with_remainder(rules, source, stay.alive, stay.played, mean, sd, arrival.beta)
    whole = stay._replace(alive=jnp.asarray(False), played=length)
    seen = _see(user, arrival, seen_level, action, whole, outcomes)
    learned = Learning(policy.update(learning.state, seen), learning.sample_size + stay.sampled)
    cost = lifetime.pseudo_regret(arrival.best, arrival.value[action])
    return learned, Served(action, length, cost)


def _seen_level(rules: StayRules, arrival: Arrivals) -> jax.Array:
    return arrival.beta if rules.satisfaction.seen else jnp.full_like(arrival.beta, jnp.nan)


def _see(
    user: jax.Array,
    arrival: Arrivals,
    level: jax.Array,
    action: jax.Array,
    stay: _Stay,
    outcomes: jax.Array,
) -> Seen:
    return Seen(
        user=user,
        contexts=arrival.contexts,
        action=action,
        context=arrival.contexts[action],
        beta=level,
        played=stay.played,
        left=~stay.alive,
        sampled=stay.sampled,
        total=stay.total,
        squares=stay.squares,
        outcomes=outcomes,
    )


def _departed(policy: Policy, learning: Learning, user: jax.Array) -> Learning:
    return learning._replace(state=policy.depart(learning.state, user))


def _extend(stay: _Stay, outcomes: jax.Array, levels: jax.Array, quota: jax.Array) -> _Stay:
    # Written out by rounds: each is a vector operation over the trials.
    alive, played, sampled, total, squares = stay
    for i, outcome in enumerate(outcomes):
        # One level for the whole stay, or one a round.
        beta = levels[i] if levels.ndim else levels
        takes = alive & (sampled < quota)
        played = played + jnp.where(alive, 1.0, 0.0)
        sampled = sampled + jnp.where(takes, 1.0, 0.0)
        total = total + jnp.where(takes, outcome, 0.0)
        squares = squares + jnp.where(takes, outcome * outcome, 0.0)
        alive = alive & (outcome >= beta)
    return _Stay(alive, played, sampled, total, squares)


def _with_remainder(
    rules: StayRules,
    source: Source,
    alive: jax.Array,
    played: jax.Array,
    mean: jax.Array,
    sd: jax.Array,
    beta: jax.Array,
) -> jax.Array:
    """Return the length of the stay, its rest drawn from the geometric law if it goes on."""

    def rest(pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        probability = rules.satisfaction.reneging_probability(mean, sd * sd, beta, rules.noise)
        waiting = jnp.log(source.uniform(Purpose.REMAINDER)) / jnp.log1p(-probability)
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
    rules: StayRules, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> tuple[Learning, Served]:
    root, level = source.key(Purpose.POLICY), _seen_level(rules, arrival)

    def choose(state: Any, played: jax.Array) -> jax.Array:
        key = jax.random.fold_in(root, played.astype(jnp.uint32))
        return policy.select(state, key, arrival.contexts, level)

    return _play_rounds(rules, policy, learning, user, arrival, source, choose)


def serve_at_random(
    rules: StayRules, policy: Policy, learning: Learning, user: jax.Array, arrival: Arrivals, source: Source
) -> Learning:
    """Serve a warm-up user: a new uniformly random action every round."""
    actions = arrival.mean.shape[0]

    def choose(state: Any, played: jax.Array) -> jax.Array:
        return jnp.floor(actions * source.uniform(Purpose.WARMUP, (), played))

    learned, _ = _play_rounds(rules, policy, learning, user, arrival, source, choose)
    return _departed(policy, learned, user)


def _play_rounds(
    rules: StayRules,
    policy: Policy,
    learning: Learning,
    user: jax.Array,
    arrival: Arrivals,
    source: Source,
    choose: Any,
) -> tuple[Learning, Served]:
    level = _seen_level(rules, arrival)
    # Outside the loop, which then only adds: how a product and a sum are rounded together
    # depends on how many trials a block has.
    costs = rules.round_cost(arrival.best, arrival.value, arrival.mean, arrival.sd**2, arrival.beta)

    def play(now: _Round) -> _Round:
        action = choose(now.learning.state, now.played).astype(jnp.int32)
        mean, sd = arrival.mean[action], arrival.sd[action]
        outcome = mean + sd * rules.noise.draw(source, 1, now.played)[0]
        state, context = now.learning.state, arrival.contexts[action]
        sampled = jnp.where(policy.quota(state, now.learning.sample_size, user, context) > 0, 1.0, 0.0)
        beta = rules.satisfaction.by_round(arrival.beta, source, 1, now.played).reshape(())
        stays = outcome >= beta
        one = _Stay(stays, jnp.ones(()), sampled, sampled * outcome, sampled * outcome * outcome)
        seen = _see(user, arrival, level, action, one, outcome[None])
        learned = Learning(policy.update(state, seen), now.learning.sample_size + sampled)
        first = jnp.where(now.played == 0, action, now.first)
        return _Round(stays, learned, now.played + 1.0, first, action, now.cost + costs[action])

    nothing, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
    end = lax.while_loop(
        lambda now: now.alive & (now.played < MOST_ROUNDS),
        play,
        _Round(jnp.asarray(True), learning, nothing, none, none, nothing),
    )
    # Past the last recorded round the action is kept, and the expected rest of the cost is that
    # of a stay with one action.
    mean, sd = arrival.mean[end.action], arrival.sd[end.action]
    length = _with_remainder(rules, source, end.alive, end.played, mean, sd, arrival.beta)
    rest = rules.rest_cost(arrival.best, arrival.value[end.action], mean, sd * sd, arrival.beta)
    return end.learning, Served(end.first, length, end.cost + jnp.where(end.alive, rest, 0.0))
