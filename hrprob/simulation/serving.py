"""How one user is served, from arrival to departure, in one trial.

Under the lazy update the action is chosen once and kept: a few numbers summarise the user's
stay, whatever its length. Where actions change from round to round (eager policies, warm-up
users) the stay is played one round at a time.

No stay is cut off. Rounds are drawn until the user leaves. Only after ``MOST_ROUNDS`` rounds
the action is kept and the rest of the stay is drawn at once from its distribution, which is
geometric because a stay has no memory. The outcomes of that rest are not drawn, so no sample set
contains them (``Seen.played`` counts them). To stop recording at a round known beforehand is a
stopping rule and biases nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from hrprob import lifetime
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.types import Integer, PyTree
from hrprob.numerics.control_flow import once
from hrprob.policies.base import Policy, Seen
from hrprob.problem.levels.base import longest_stay
from hrprob.problem.stay_rules import StayRules
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, Arrivals

__all__ = ["MOST_ROUNDS", "Learning", "Served", "Visit", "blank_seen", "serve", "warm_up"]

MOST_ROUNDS = 2**16
# Rounds that are drawn at a time beyond those in bulk, for all trials as long as one needs them.
ROUNDS_MORE = 4


class Learning(NamedTuple):
    """What a policy carries from user to user."""

    state: PyTree
    sample_size: jax.Array  # () |S|


class Served(NamedTuple):
    """How one user was served."""

    action: jax.Array  # () int32, of the first round
    lifetime: jax.Array  # () rounds played, the last included
    cost: jax.Array  # () pseudo regret of this user


class Visit(NamedTuple):
    """One user, and who serves them by which rules; no array has a user or trial axis."""

    rules: StayRules
    policy: Policy
    user: jax.Array  # () number of users arrived so far, this one and the warm-up included
    arrival: Arrivals
    source: Source

    @property
    def level(self) -> jax.Array:
        """The level that the policy sees: NaN where levels are hidden."""
        beta = self.arrival.beta
        return beta if self.rules.satisfaction.seen else jnp.full_like(beta, jnp.nan)


class _Stay(NamedTuple):
    """The rounds of one action so far."""

    alive: jax.Array  # () bool
    played: jax.Array  # ()
    sampled: jax.Array  # ()
    total: jax.Array  # ()
    squares: jax.Array  # ()


def serve(visit: Visit, learning: Learning) -> tuple[Learning, Served, Seen | None]:
    """Serve one user; return what the policy saw of the stay too, if it kept one action throughout."""
    seen: Seen | None = None
    if visit.policy.eager:
        learned, served = _serve_by_round(visit, learning)
    else:
        learned, served, seen = _serve_lazily(visit, learning)
    return learned._replace(state=visit.policy.depart(learned.state, visit.user)), served, seen


def warm_up(visit: Visit, learning: Learning) -> Learning:
    """Serve a warm-up user, a new uniformly random action every round; the policy learns from every one."""
    actions = visit.arrival.mean.shape[0]

    def at_random(_: PyTree, played: jax.Array) -> jax.Array:
        share = _drawn(visit, lambda start: visit.source.uniform(Purpose.WARMUP, (), start), (), played)
        return jnp.floor(actions * share).astype(jnp.int32)

    free = jnp.zeros_like(visit.arrival.mean)
    learned = _play_rounds(visit, learning, at_random, free).learning
    return learned._replace(state=visit.policy.depart(learned.state, visit.user))


def blank_seen(visit: Visit) -> Seen:
    """Return a ``Seen`` whose arrays have the shapes and types of those that ``serve`` returns."""
    zero = jnp.zeros(())
    stay = _Stay(jnp.asarray(True), zero, zero, zero, zero)
    return _see(visit, jnp.zeros((), jnp.int32), stay, jnp.zeros(BLOCK_OF_ROUNDS))


def _serve_lazily(visit: Visit, learning: Learning) -> tuple[Learning, Served, Seen]:
    rules, policy, user, arrival, source = visit
    action = policy.select(learning.state, source.key(Purpose.POLICY), arrival.contexts, visit.level).astype(
        jnp.int32
    )
    mean, sd = arrival.mean[action], arrival.sd[action]
    quota = policy.quota(learning.state, learning.sample_size, user, arrival.contexts[action])

    def extend(stay: _Stay) -> _Stay:
        # In a loop over rounds, a third of the code: what comes here has drawn as many numbers, which take longer.
        outcomes = mean + sd * _noise(visit, ROUNDS_MORE, stay.played)
        betas = rules.satisfaction.by_round(arrival.beta, source, ROUNDS_MORE, stay.played)
        return lax.fori_loop(
            0, ROUNDS_MORE, lambda i, stay: _play_on(stay, outcomes[i], _of_round(betas, i), quota), stay
        )

    nothing, outcomes = jnp.zeros(()), mean + sd * arrival.noise
    stay = _Stay(jnp.asarray(True), nothing, nothing, nothing, nothing)
    betas = rules.satisfaction.by_round(arrival.beta, source, len(arrival.noise), nothing)
    # Written out by rounds: each is a vector operation over the trials.
    for i, outcome in enumerate(outcomes):
        stay = _play_on(stay, outcome, _of_round(betas, i), quota)
    length, recorded = stay.played, len(arrival.noise)
    if longest_stay(rules.satisfaction) > recorded:
        stay = lax.while_loop(lambda stay: stay.alive & (stay.played < MOST_ROUNDS), extend, stay)
        length = _with_remainder(visit, stay.alive, stay.played, mean, sd)
    # Of one length everywhere; nobody looks at what comes after the stay.
    outcomes = jnp.concatenate([outcomes, jnp.zeros(BLOCK_OF_ROUNDS - recorded)])
    seen = _see(visit, action, stay._replace(alive=jnp.asarray(False), played=length), outcomes)
    learned = Learning(policy.update(learning.state, seen), learning.sample_size + stay.sampled)
    cost = lifetime.pseudo_regret(arrival.best, _value(visit, action))
    return learned, Served(action, length, cost), seen


def _value(visit: Visit, action: jax.Array | slice) -> jax.Array:
    """Return the value of an action or of several, which is exactly ``arrival.best`` where the action has the best rank."""
    arrival = visit.arrival
    rank = arrival.rank[action]
    # The best value comes from another program, which may round the last bit in another way.
    value = jnp.minimum(visit.rules.value_of(rank), arrival.best)
    return jnp.where(rank == arrival.best_rank, arrival.best, value)


def _noise(visit: Visit, rounds: int, start: jax.Array) -> jax.Array:
    """Return the noise of ``rounds`` rounds of a stay, from round ``start`` on."""
    return _drawn(visit, lambda first: visit.rules.noise.draw(visit.source, rounds, first), (rounds,), start)


def _drawn(
    visit: Visit, draw: Callable[[jax.Array], jax.Array], shape: tuple[int, ...], start: jax.Array
) -> jax.Array:
    """Return ``draw(start)``, which has this shape.

    In a loop that runs once: by itself, the compiler would copy the hundreds of operations of a random number into every
    place that uses it.
    """
    # Always so, which the compiler cannot know.
    arrived = visit.user > 0.0
    return once(arrived, lambda pair: (pair[0] + 1.0, draw(pair[0])), (start, jnp.zeros(shape)))[1]


def _see(visit: Visit, action: jax.Array, stay: _Stay, outcomes: jax.Array) -> Seen:
    contexts = visit.arrival.contexts
    return Seen(
        user=visit.user,
        contexts=contexts,
        action=action,
        context=contexts[action],
        beta=visit.level,
        played=stay.played,
        left=~stay.alive,
        sampled=stay.sampled,
        total=stay.total,
        squares=stay.squares,
        outcomes=outcomes,
    )


def _play_on(stay: _Stay, outcome: jax.Array, beta: jax.Array, quota: jax.Array) -> _Stay:
    """Return the stay after one more round, if the user is still there."""
    takes = stay.alive & (stay.sampled < quota)
    return _Stay(
        stay.alive & (outcome >= beta),
        stay.played + jnp.where(stay.alive, 1.0, 0.0),
        stay.sampled + jnp.where(takes, 1.0, 0.0),
        stay.total + jnp.where(takes, outcome, 0.0),
        stay.squares + jnp.where(takes, outcome * outcome, 0.0),
    )


def _of_round(levels: jax.Array, number: Integer) -> jax.Array:
    """Return the level of one of some rounds: there is one for the whole stay, or one per round."""
    return levels[number] if levels.ndim else levels


def _with_remainder(
    visit: Visit, alive: jax.Array, played: jax.Array, mean: jax.Array, sd: jax.Array
) -> jax.Array:
    """Return the length of the stay; if the user is still there, draw the rest from the geometric law."""
    rules, beta = visit.rules, visit.arrival.beta

    def rest(pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        # What does not depend on the state of a loop is computed before it, for everybody: so everything here does.
        needed, before = pair
        own_mean, own_sd = jnp.where(needed, mean, 0.0), jnp.where(needed, sd, 1.0)
        probability = rules.satisfaction.reneging_probability(own_mean, own_sd * own_sd, beta, rules.noise)
        start = jnp.where(needed, jnp.uint32(0), jnp.uint32(1))
        waiting = jnp.log(visit.source.uniform(Purpose.REMAINDER, (), start)) / jnp.log1p(-probability)
        return jnp.asarray(False), before + jnp.ceil(waiting)

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


def _serve_by_round(visit: Visit, learning: Learning) -> tuple[Learning, Served]:
    rules, policy, _, arrival, source = visit
    root = source.key(Purpose.POLICY)

    def choose(state: PyTree, played: jax.Array) -> jax.Array:
        key = jax.random.fold_in(root, played.astype(jnp.uint32))
        return policy.select(state, key, arrival.contexts, visit.level).astype(jnp.int32)

    # Outside the loop, which then only adds: how a product and a sum are rounded together
    # depends on how many trials a block has.
    values = _value(visit, slice(None))
    costs = rules.round_cost(arrival.best, values, arrival.mean, arrival.sd**2, arrival.beta)
    end = _play_rounds(visit, learning, choose, costs)
    # After the last recorded round the action is kept, and the expected rest of the cost is that
    # of a stay with one action.
    mean, sd = arrival.mean[end.action], arrival.sd[end.action]
    length = _with_remainder(visit, end.alive, end.played, mean, sd)
    rest = rules.rest_cost(arrival.best, _value(visit, end.action), mean, sd * sd, arrival.beta)
    return end.learning, Served(end.first, length, end.cost + jnp.where(end.alive, rest, 0.0))


def _play_rounds(
    visit: Visit, learning: Learning, choose: Callable[[PyTree, jax.Array], jax.Array], costs: jax.Array
) -> _Round:
    """Play a stay round by round; ``costs`` (actions,) are those of one round."""
    rules, policy, user, arrival, source = visit

    def play(now: _Round) -> _Round:
        action = choose(now.learning.state, now.played)
        mean, sd = arrival.mean[action], arrival.sd[action]
        outcome = mean + sd * _noise(visit, 1, now.played)[0]
        state, context = now.learning.state, arrival.contexts[action]
        sampled = jnp.where(policy.quota(state, now.learning.sample_size, user, context) > 0, 1.0, 0.0)
        beta = rules.satisfaction.by_round(arrival.beta, source, 1, now.played).reshape(())
        stays = outcome >= beta
        one = _Stay(stays, jnp.ones(()), sampled, sampled * outcome, sampled * outcome * outcome)
        seen = _see(visit, action, one, outcome[None])
        learned = Learning(policy.update(state, seen), now.learning.sample_size + sampled)
        first = jnp.where(now.played == 0, action, now.first)
        return _Round(stays, learned, now.played + 1.0, first, action, now.cost + costs[action])

    nothing, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
    return lax.while_loop(
        lambda now: now.alive & (now.played < MOST_ROUNDS),
        play,
        _Round(jnp.asarray(True), learning, nothing, none, none, nothing),
    )
