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
from hrprob._core.random_numbers import Addresses, Purpose, Source, coarse_normals, widened
from hrprob._core.types import PyTree
from hrprob.lifetime import oracle
from hrprob.noise import Noise
from hrprob.problem.contexts.base import NormalVectors
from hrprob.problem.levels import Satisfaction
from hrprob.problem.levels.base import longest_stay
from hrprob.problem.problem import Problem
from hrprob.problem.stay_rules import StayRules

__all__ = ["BLOCK_OF_ROUNDS", "Arrivals", "arrivals", "checked_arrivals", "noise_of_rounds", "rounds_in_bulk"]

# Rounds whose noise is drawn in bulk. Few stays are longer; those draw the rest as they go.
BLOCK_OF_ROUNDS = 16


class Arrivals(NamedTuple):
    """A chunk of users in a block of trials, and what each action would truly give."""

    users: jax.Array  # (users,) uint32, the number of each user, from 1
    contexts: jax.Array  # (users, actions, d, trials)
    beta: jax.Array  # (users, trials) the true level, seen or not
    noise: jax.Array  # (users, rounds, trials) standardised noise of the first ``rounds_in_bulk``
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
            (rounds_in_bulk(problem.satisfaction),),
            *[(actions,)] * 3,
            *[()] * 2,
        ]
        numbers = jax.ShapeDtypeStruct((users,), np.dtype(np.uint32))
        floats = [jax.ShapeDtypeStruct((users, *shape, trials), np.dtype(float)) for shape in inner]
        return cls(numbers, *floats)  # type: ignore[arg-type]  # shapes stand for the arrays


def rounds_in_bulk(levels: Satisfaction) -> int:
    """Return of how many rounds of each stay the noise is drawn in bulk.

    Examples
    --------
    >>> from hrprob.problem import InfiniteLevels, UniformLevels
    >>> rounds_in_bulk(UniformLevels()), rounds_in_bulk(InfiniteLevels())
    (16, 1)
    """
    return int(min(BLOCK_OF_ROUNDS, longest_stay(levels)))


def arrivals(problem: Problem, keys: tuple[jax.Array, jax.Array], users: jax.Array | np.ndarray) -> Arrivals:
    """Return these users of these trials.

    In several compiled steps: see :mod:`hrprob.problem.contexts` for why.
    """
    numbers, contexts = np.asarray(users, dtype=np.uint32), problem.contexts
    rounds, trials = rounds_in_bulk(problem.satisfaction), keys[0].shape[0]
    of_vectors = of_noise = None
    if isinstance(contexts, NormalVectors):
        of_vectors = Addresses.of(keys, Purpose.CONTEXTS, (contexts.actions, problem.dimension))
    if _in_bulk(problem.noise):
        of_noise = Addresses.of(keys, Purpose.NOISE, (rounds,))
    drawn, beta, noise, drift = _draw(problem, keys, numbers)
    if of_vectors is not None or of_noise is not None:
        vectors, flat = _normals(problem.noise, *_words(numbers, of_vectors, of_noise))
        drawn = drawn if vectors is None else (vectors, drawn)
        if flat is not None:
            # A view in NumPy, which is another program otherwise.
            noise = jax.device_put(np.asarray(flat).reshape(len(numbers), rounds, trials))
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
    for user in np.flatnonzero(rounds > arrived.noise.shape[1]).tolist():
        # Drawn in powers of two, so that few shapes are compiled.
        size = 1 << int(rounds[user] - 1).bit_length()
        source = Source(keys, jnp.asarray(numbers[user : user + 1]))
        noise[user] = np.asarray(problem.noise.draw(source, size))[0, :, 0]
    return [noise[user][: int(number)] for user, number in enumerate(rounds)]


def _in_bulk(noise: Noise) -> bool:
    return hasattr(noise, "of_words")


@program()
def _words(users: np.ndarray, of_vectors: Addresses | None, of_noise: Addresses | None) -> PyTree:
    """Return the random words of normal vectors and of noise, where they are made in bulk."""
    vectors = None if of_vectors is None else of_vectors.words(users)[0]
    return vectors, None if of_noise is None else of_noise.words(users)


@program()
def _normals(noise: Noise, vectors: jax.Array | None, words: tuple[jax.Array, jax.Array] | None) -> PyTree:
    """Return normal vectors in single precision, and noise: in one program with the words, they take twice the time of both."""
    coarse = None if vectors is None else coarse_normals(vectors)
    return coarse, None if words is None else noise.of_words(*words)  # type: ignore[attr-defined]


@program()
def _draw(problem: Problem, keys: tuple[jax.Array, jax.Array], users: jax.Array | np.ndarray) -> PyTree:
    """Return what contexts need beside normal vectors, levels, noise unless in bulk, and what a drift of the truth needs."""
    source, contexts = Source(keys, jnp.asarray(users)), problem.contexts
    drawn: PyTree
    if isinstance(contexts, NormalVectors):
        drawn = contexts.draw_more(source)
    else:
        drawn = contexts.draw(source, problem.dimension)
    drift = None if problem.drift is None else problem.drift.draw(source, problem.dimension)
    noise = None
    if not _in_bulk(problem.noise):
        noise = problem.noise.draw(source, rounds_in_bulk(problem.satisfaction))
    return drawn, problem.satisfaction.draw(source), noise, drift


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
