"""Particles over θ and φ together, for any outcome model and any prior.

A particle is z = (z_θ, z_φ). A row of data multiplies its weight by the likelihood of that row, and a
move evaluates the likelihood of all rows, one by one. That costs more than the closed form of
:mod:`.smc_integrated`, and twice the number of coordinates needs more particles for the same accuracy.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.types import Number
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data
from hrprob.observations import Tables

__all__ = ["Given", "absorb", "draw", "posterior", "start"]


# The log of probability 0, finite: where all particles have it, they weigh the same.
_NEVER = -1e300


class Given(NamedTuple):
    """The coefficients of each particle."""

    theta: jax.Array  # (particles, d)
    phi: jax.Array  # (particles, d)


def start(target: Target, key: jax.Array, particles: int) -> tuple[jax.Array, Given]:
    """Return particles z (particles, 2d) from the prior, and their coefficients."""
    z = target.prior_of_both(key, particles)
    return z, Given(*target.coefficients(z))


def absorb(target: Target, z: jax.Array, given: Given, row: Data) -> tuple[jax.Array, Given]:
    """Return the log likelihood of one more row, without an axis of rows, and the coefficients as they are."""
    one = jax.tree.map(lambda leaf: leaf[None], row)
    return jnp.maximum(target.row_at_many(one, *given), _NEVER), given


def posterior(target: Target, tables: Tables, z: jax.Array) -> tuple[jax.Array, Given]:
    """Return ln p(z | all rows) of each particle up to a constant, and its coefficients."""
    return jnp.maximum(target.log_density_of_many(z, tables), _NEVER), Given(*target.coefficients(z))


def draw(
    target: Target, z: jax.Array, weight: jax.Array, given: Given, key: jax.Array, tries: int, scale: Number
) -> jax.Array:
    """Return one particle, picked by its weight, its distance from the mean multiplied by ``scale``."""
    edges = jnp.cumsum(weight)
    pick = jnp.searchsorted(edges, jax.random.uniform(key) * edges[-1])
    mean = weight @ z
    return mean + scale * (z[jnp.minimum(pick, z.shape[0] - 1)] - mean)
