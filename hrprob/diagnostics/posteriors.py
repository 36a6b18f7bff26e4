"""The posterior of each of many data sets, by any engine: draws of θ and φ, and what follows from them.

Data sets of one length are fitted side by side in one compiled program. A streaming engine
follows the users as it does in a policy, and is looked at after some of them. An engine is
used through its contract alone, so that a faulty one can stand in the place of a sound one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.parallel import side_by_side
from hrprob._core.precision import float64
from hrprob.estimation.posterior.base import fit
from hrprob.estimation.posterior.nuts import Chains
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import Data, first_rows, pad
from hrprob.numerics.control_flow import once
from hrprob.policies.bayes import refit_times

__all__ = ["Posteriors", "draws_of", "moments_of", "posteriors"]

# Rows of data fitted side by side, and data sets at most.
_ROWS_AT_ONCE = 2**13
_SETS_AT_ONCE = 32


class Posteriors(NamedTuple):
    """Draws from the posterior of each data set."""

    theta: np.ndarray  # (sets, draws, d)
    phi: np.ndarray  # (sets, draws, d)


def posteriors(
    engine: Any,
    target: Target,
    data: Data,
    users: Sequence[int],
    *,
    draws: int = 500,
    seed: int = 0,
    report: Callable[[int], None] = lambda sets: None,
) -> list[Posteriors]:
    """Fit ``engine`` to each data set and return draws, after each of some numbers of users.

    Parameters
    ----------
    engine : engine
        How the posterior is found.
    target : Target
        The posterior itself: model, prior, setting.
    data : Data
        Data sets on the first axis of every leaf, users on the second.
    users : sequence of int
        After how many users to look, in rising order.
    draws : int
        Draws of each posterior; at most as many as a sampler makes.
    seed : int
        Seed of the engine.
    report : callable
        Told how many data sets have been fitted, now and then.
    """
    sets, stops = data.x.shape[0], tuple(int(number) for number in users)
    size = min(sets, _SETS_AT_ONCE, max(1, _ROWS_AT_ONCE // stops[-1]))

    def some(first: int) -> list[Posteriors]:
        numbers = np.arange(first, first + size)
        keys = jax.vmap(lambda number: jax.random.fold_in(jax.random.key(seed), number))(numbers)
        # The last lot is filled up, so that all have one shape.
        picks = np.minimum(numbers, sets - 1)
        lot = jax.tree.map(lambda leaf: jnp.asarray(leaf[picks, : stops[-1]]), data)
        z = _draws_of_each(engine, target, lot, keys, stops, draws)
        theta, phi = (np.asarray(leaf)[: sets - first] for leaf in target.coefficients(z))
        report(len(theta))
        return [Posteriors(theta[:, place], phi[:, place]) for place in range(len(stops))]

    lots = list(side_by_side(some, range(0, sets, size)))
    return [jax.tree.map(lambda *leaves: np.concatenate(leaves), *found) for found in zip(*lots, strict=True)]


@functools.partial(jax.jit, static_argnames=("stops", "draws"))
def _draws_of_each(
    engine: Any, target: Target, data: Data, keys: jax.Array, stops: tuple[int, ...], draws: int
) -> jax.Array:
    """Return draws of z (sets, stops, draws, 2d)."""
    if engine.streaming:
        return _follow(engine, target, data, keys, stops, draws)

    def one(data: Data, key: jax.Array) -> jax.Array:
        return jnp.stack(
            [
                draws_of(engine, target, jax.tree.map(lambda leaf, n=n: leaf[:n], data), key, draws)
                for n in stops
            ]
        )

    return jax.vmap(one)(data, keys)


def _follow(
    engine: Any, target: Target, data: Data, keys: jax.Array, stops: tuple[int, ...], draws: int
) -> jax.Array:
    """Return draws of z of a streaming engine, fitted at its own times and at the stops."""
    users = stops[-1]
    place = np.full(users + 1, -1)
    place[list(stops)] = np.arange(len(stops))
    # Between fits most engines do nothing; particles must be moved on the way.
    due = (place >= 0) | (refit_times(users, engine.refit) if engine.kind == "smc" else False)

    def begin(data: Data, key: jax.Array) -> Any:
        by_start, by_draws = jax.random.split(key)
        first = engine.init(target, by_start) if engine.kind == "smc" else engine.init(target)
        return pad(data, capacity_for(users)), by_draws, (first, jnp.zeros((len(stops), draws, target.size)))

    wide, by_draws, start = jax.vmap(begin)(data, keys)

    def step(number: Any, now: Any) -> Any:
        def one(wide: Data, by_draws: jax.Array, now: Any) -> Any:
            belief, z = now
            row = jax.tree.map(lambda leaf: leaf[number], wide)
            so_far = first_rows(wide, number + 1)
            absorbed = engine.absorb(target, belief, row)
            belief = engine.refresh(target, [(so_far, number + 1)], absorbed, jnp.asarray(due)[number + 1])
            at = jnp.asarray(place)[number + 1]
            looked = lambda z: z.at[at].set(_draw(engine, target, belief, by_draws, draws))  # noqa: E731
            return belief, once(at >= 0, looked, z)

        return jax.vmap(one)(wide, by_draws, now)

    # Data sets side by side within the loop: around it, JAX would trace the loop twice.
    return jax.lax.fori_loop(0, users, step, start)[1]


def draws_of(engine: Any, target: Target, data: Data, key: jax.Array, draws: int) -> jax.Array:
    """Return draws of z (draws, 2d) from the posterior of one data set."""
    by_fit, by_draws = jax.random.split(key)
    belief = fit(engine, target, data, by_fit)
    if isinstance(belief, Chains):
        every = belief.z[..., : target.size].reshape(-1, target.size)
        return every[np.linspace(0, every.shape[0] - 1, min(draws, every.shape[0])).astype(int)]
    return _draw(engine, target, belief, by_draws, draws)


def _draw(engine: Any, target: Target, belief: Any, key: jax.Array, draws: int) -> jax.Array:
    return jax.vmap(lambda key: engine.draw(target, belief, key))(jax.random.split(key, draws))


@float64
def moments_of(target: Target, found: Posteriors, x: Any) -> tuple[Any, Any]:
    """Return mean and variance of the outcome at contexts x (sets, points, d), draw by draw.

    Both have shape (sets, draws, points).
    """
    return _moments(target, *(jnp.asarray(leaf) for leaf in (*found, x)))


@jax.jit
def _moments(target: Target, theta: jax.Array, phi: jax.Array, x: jax.Array) -> Any:
    def one(theta: jax.Array, phi: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.vmap(lambda theta, phi: target.setting.moments(theta, phi, x))(theta, phi)

    return jax.vmap(one)(theta, phi, x)
