"""Who arrives: contexts, levels, noise and the oracle, made in bulk before any policy acts.

None of this depends on a policy, so it is made once for a chunk of users and a
block of trials, and every policy meets the same. The trials are on the last axis.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import program
from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import Purpose, Source, bulk_normals, bulk_words, widened
from hrprob._core.types import PyTree
from hrprob.lifetime import oracle
from hrprob.problem.contexts.base import NormalVectors
from hrprob.problem.problem import Problem
from hrprob.problem.stay_rules import StayRules

__all__ = ["BLOCK_OF_ROUNDS", "Arrivals", "arrivals", "checked_arrivals", "noise_of_rounds"]

# Rounds whose noise is drawn in bulk. Few stays are longer; those draw the rest as they go.
BLOCK_OF_ROUNDS = 16


class Arrivals(NamedTuple):
    """A chunk of users in a block of trials, and what each action would truly give."""

    users: jax.Array  # (users,) uint32, the number of each user, from 1
    contexts: jax.Array  # (users, actions, d, trials)
    beta: jax.Array  # (users, trials) the true level, seen or not
    noise: jax.Array  # (users, rounds, trials) standardised noise of the first rounds
    mean: jax.Array  # (users, actions, trials) θ*ᵀx
    sd: jax.Array  # (users, actions, trials) √f(φ*ᵀx)
    rank: jax.Array  # (users, actions, trials) orders actions as their values do: ``StayRules.rank``
    best_rank: jax.Array  # (users, trials) the oracle's
    best: jax.Array  # (users, trials) the oracle's value

    @classmethod
    def shapes(cls, problem: Problem, users: int, trials: int) -> Arrivals:
        """Return the shapes of a chunk of ``users`` in a block of ``trials``, to compile for before it is made."""
        actions = problem.contexts.actions
        inner: list[tuple[int, ...]] = [
            (actions, problem.dimension),
            (),
            (BLOCK_OF_ROUNDS,),
            *[(actions,)] * 3,
            *[()] * 2,
        ]
        numbers = jax.ShapeDtypeStruct((users,), np.dtype(np.uint32))
        floats = [jax.ShapeDtypeStruct((users, *shape, trials), np.dtype(float)) for shape in inner]
        return cls(numbers, *floats)  # type: ignore[arg-type]  # shapes stand for the arrays


def arrivals(problem: Problem, keys: tuple[jax.Array, jax.Array], users: jax.Array | np.ndarray) -> Arrivals:
    """Return these users of these trials.

    In several compiled steps: see :mod:`hrprob.problem.contexts` for why.
    """
    numbers, contexts = np.asarray(users, dtype=np.uint32), problem.contexts
    drawn, beta, noise, drift = _draw(problem, keys, numbers)
    if isinstance(contexts, NormalVectors):
        shape = contexts.actions, problem.dimension
        drawn = bulk_normals(bulk_words(keys, numbers, Purpose.CONTEXTS, shape)), drawn
    placed, mean, sd, rank = _arrive(problem, drawn, beta, drift)
    best = _best(problem.rules, rank)
    return Arrivals(jax.device_put(numbers), placed, beta, noise, mean, sd, rank, *best)


def checked_arrivals(
    problem: Problem,
    keys: tuple[jax.Array, jax.Array],
    users: np.ndarray,
    first_users: int | None = None,
    first_trials: int | None = None,
) -> Arrivals:
    """Return these users of these trials; raise unless what a user's own functions return can be played.

    All other contexts and levels are checked when the problem is made. Only the ``first_users`` and
    ``first_trials`` (by default all) are checked; others fill a chunk up and do not count.
    """
    arrived = arrivals(problem, keys, users)
    for name, given in (("contexts", arrived.contexts), ("satisfaction", arrived.beta)):
        check = getattr(getattr(problem, name), "check_arrived", None)
        if check is not None:
            try:
                check(users[:first_users], np.asarray(given)[:first_users, ..., :first_trials])
            except InvalidInput as complaint:
                raise complaint.within(f"problem.{name}") from None
    return arrived


def noise_of_rounds(
    problem: Problem, keys: tuple[jax.Array, jax.Array], arrived: Arrivals, rounds: np.ndarray
) -> list[np.ndarray]:
    """Return the noise of the first ``rounds`` (users,) of each stay, for keys of one trial.

    A run keeps no outcomes, but every random number is a function of its address
    (:mod:`hrprob._core.random_numbers`): the noise of a stay is drawn again, to the last bit.
    """
    noise, numbers = list(np.asarray(arrived.noise)[..., 0]), np.asarray(arrived.users)
    for user in np.flatnonzero(rounds > BLOCK_OF_ROUNDS).tolist():
        # Drawn in powers of two, so that few shapes are compiled.
        size = 1 << int(rounds[user] - 1).bit_length()
        source = Source(keys, jnp.asarray(numbers[user : user + 1]))
        noise[user] = np.asarray(problem.noise.draw(source, size))[0, :, 0]
    return [noise[user][: int(number)] for user, number in enumerate(rounds)]


@program()
def _draw(problem: Problem, keys: tuple[jax.Array, jax.Array], users: jax.Array | np.ndarray) -> PyTree:
    """Return what contexts need beside normal vectors, levels, noise, and what a drift of the truth needs."""
    source, contexts = Source(keys, jnp.asarray(users)), problem.contexts
    drawn: PyTree
    if isinstance(contexts, NormalVectors):
        drawn = contexts.draw_more(source)
    else:
        drawn = contexts.draw(source, problem.dimension)
    drift = None if problem.drift is None else problem.drift.draw(source, problem.dimension)
    return drawn, problem.satisfaction.draw(source), problem.noise.draw(source, BLOCK_OF_ROUNDS), drift


@program()
def _arrive(problem: Problem, drawn: PyTree, beta: jax.Array, drift: PyTree) -> tuple[jax.Array, ...]:
    """Return contexts, mean, standard deviation and rank of every action."""
    if isinstance(problem.contexts, NormalVectors):
        shape = beta.shape[0], problem.contexts.actions, problem.dimension, beta.shape[1]
        drawn = widened(drawn[0].reshape(shape)), drawn[1]
    contexts, theta, phi = problem.contexts.place(drawn), problem.theta, problem.phi
    if problem.drift is not None:
        theta, phi = (
            problem.drift.truth(jnp.asarray(start), drift, place) for place, start in enumerate((theta, phi))
        )
    mean = _along(contexts, theta)
    variance = problem.link(_along(contexts, phi))
    # A bound that is met exactly can leave a variance of −1e-17.
    variance = jnp.maximum(variance, 0.0)
    rank = problem.rules.rank(mean, variance, beta[:, None])
    return contexts, mean, jnp.sqrt(variance), rank


@program()
def _best(rules: StayRules, rank: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return rank and value of the best actions: in one program with the ranks, each of these would be computed again."""
    best = oracle(rank, axis=1).value
    return best, rules.value_of(best)


def _along(contexts: jax.Array, weights: jax.Array) -> jax.Array:
    """Return wᵀx of every context, (users, actions, trials)."""
    return jnp.asarray(sum(weights[j] * contexts[:, :, j] for j in range(contexts.shape[2])))
