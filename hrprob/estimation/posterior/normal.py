"""Beliefs that are normal distributions in z: what ``laplace`` and ``svi`` share."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.types import Number
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.factors import one_at_a_time
from hrprob.numerics.products import contract

__all__ = ["Normal", "NormalBelief"]

# Draws from a prior for its moments, which they estimate to a hundredth of a standard deviation.
_PRIOR_DRAWS = 8192

cholesky_one_by_one = one_at_a_time(jnp.linalg.cholesky)


class Normal(NamedTuple):
    """The belief z ~ N(mean, factor·factorᵀ)."""

    mode: jax.Array  # (2d,) where the next search for a mode starts
    mean: jax.Array  # (2d,)
    factor: jax.Array  # (2d, 2d) lower triangular


class NormalBelief:
    """The methods of an engine whose belief is a :class:`Normal`; inherit from it before the sort of engine."""

    has_density: ClassVar[bool] = True
    makes_draws: ClassVar[bool] = False

    def init(self, target: Target, key: jax.Array | None = None) -> Normal:
        """Return the prior where it is uniform, else the normal distribution with its moments in z.

        The moments are those of the same draws always, whatever the key.
        """
        zeros = jnp.zeros(target.size)
        if target.uniform:
            return Normal(zeros, zeros, jnp.eye(target.size))
        z = target.prior_of_both(jax.random.key(0), _PRIOR_DRAWS)
        mean = jnp.mean(z, axis=0)
        covariance = (z - mean).T @ (z - mean) / _PRIOR_DRAWS
        # The search for a mode starts at the centres of the balls, as under the uniform prior.
        return Normal(zeros, mean, cholesky_one_by_one(covariance))

    def keep(self, target: Target, belief: Normal) -> Normal:
        """Return the part of a fit that a policy keeps: the marginal distribution of (z_θ, z_φ)."""
        covariance = (belief.factor @ belief.factor.T)[: target.size, : target.size]
        mean = belief.mean[: target.size]
        return Normal(mean, mean, jnp.linalg.cholesky(covariance))

    def draw(self, target: Target, belief: Normal, key: jax.Array, scale: Number = 1.0) -> jax.Array:
        """Return one draw of z, the spread multiplied by ``scale``."""
        noise = jax.random.normal(key, belief.mean.shape)
        return belief.mean + scale * contract(belief.factor, noise)

    def log_density(self, target: Target, belief: Normal, z: jax.Array) -> jax.Array:
        """Return the log density of the belief at z (2d,)."""
        white = jax.scipy.linalg.solve_triangular(belief.factor, z - belief.mean, lower=True)
        size = jnp.sum(jnp.log(jnp.diagonal(belief.factor)))
        return -0.5 * contract(white, white) - size - 0.5 * z.shape[-1] * jnp.log(2.0 * jnp.pi)
