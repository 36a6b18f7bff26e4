"""Weights of particles: their effective number, tempering, and resampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["effective_size", "largest_power", "systematic"]


def effective_size(log_weight: jax.Array) -> jax.Array:
    """Return the effective sample size of weighted particles."""
    return 1.0 / jnp.sum(jax.nn.softmax(log_weight) ** 2)


def largest_power(log_weight: jax.Array, share: float) -> jax.Array:
    """Return the largest power ≤ 1 of the weights that leaves this share of the particles effective, by bisection."""
    least = share * log_weight.shape[0]

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        enough = effective_size(middle * log_weight) >= least
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    power = lax.fori_loop(0, 30, halve, (jnp.zeros(()), jnp.ones(())))[0]
    return jnp.where(effective_size(log_weight) >= least, 1.0, power)


def systematic(uniform: jax.Array, weight: jax.Array, n: int) -> jax.Array:
    """Return n indices of particles by systematic resampling, from one uniform number."""
    places = (jnp.arange(n) + uniform) / n
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(weight), places), n - 1)
