r"""θ given the variances: a normal distribution truncated to the ball of θ.

Under the prior θ ~ N(0, I/κ) the posterior of θ given φ is normal, and one more user changes its mean and
covariance by a rank-one update. Where the prior is N(0, I/κ₀) truncated to the ball ‖θ‖ ≤ R instead, with
κ₀ ≤ κ (κ₀ = 0 is the uniform prior), rejection sampling accepts a draw in the ball with probability
exp(½(κ − κ₀)(‖θ‖² − R²)): that replaces one prior by the other, exactly. κ is at least (d+2)/R², the precision
of the uniform prior, so that most draws lie in the ball even before any data.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob._core.types import Number
from hrprob.numerics.factors import cholesky
from hrprob.numerics.products import contract

__all__ = ["draw_in_ball", "first_accepted", "log_acceptance", "prior_precision", "project_onto_ball"]

# Proposals for one draw in the ball. Under the prior with d = 4 all are rejected once in 3000 draws, later never.
_TRIES = 32
# The log of probability 0, finite: where all proposals have it, they weigh the same.
_NEVER = -1e6


def prior_precision(dimension: int, radius: Number, wanted: Number = 0.0) -> Number:
    """Return κ, the precision of θ's normal prior, where ``wanted`` is κ₀.

    Examples
    --------
    >>> float(prior_precision(4, 1.0)), float(prior_precision(4, 1.0, wanted=16.0))
    (6.0, 16.0)
    """
    return jnp.maximum((dimension + 2.0) / jnp.square(radius), wanted)


def first_accepted(
    key: jax.Array, tries: jax.Array, radius: Number, wanted: Number = 0.0
) -> tuple[jax.Array, jax.Array]:
    """Return the first proposal of θ (tries, d) that is accepted, and its index; ``wanted`` is κ₀.

    Where none is, the first is projected onto the ball.
    """
    size, log_probability = _size_and_log_probability(tries, radius, wanted)
    accepted = (size <= 1.0) & (jax.random.uniform(key, size.shape) < jnp.exp(log_probability))
    number = jnp.argmax(accepted)
    return project_onto_ball(tries[number], radius), number


def project_onto_ball(theta: jax.Array, radius: Number) -> jax.Array:
    """Return the nearest point of the ball to each θ (..., d).

    Examples
    --------
    >>> project_onto_ball(jnp.asarray([[0.0, 4.0], [0.0, 0.5]]), 1.0).tolist()
    [[0.0, 1.0], [0.0, 0.5]]
    """
    length = jnp.sqrt(contract(theta, theta)) / radius
    return theta / jnp.maximum(length, 1.0)[..., None]


def log_acceptance(tries: jax.Array, radius: Number, wanted: Number = 0.0) -> jax.Array:
    """Return the log acceptance probability of each proposal of θ (tries, d); outside the ball it is almost −∞."""
    size, log_probability = _size_and_log_probability(tries, radius, wanted)
    return jnp.where(size <= 1.0, log_probability, _NEVER)


def _size_and_log_probability(
    tries: jax.Array, radius: Number, wanted: Number
) -> tuple[jax.Array, jax.Array]:
    size = contract(tries, tries) / radius**2
    excess = (prior_precision(tries.shape[-1], radius, wanted) - wanted) * jnp.square(radius)
    return size, 0.5 * excess * (size - 1.0)


def draw_in_ball(
    key: jax.Array, mean: jax.Array, covariance: jax.Array, radius: Number, scale: Number = 1.0
) -> jax.Array:
    """Return a draw of θ (d,) in the ball, given mean and covariance under the normal prior.

    ``scale`` multiplies the distance of the normal draws from their mean.
    """
    by_proposal, by_accept = jax.random.split(key)
    noise = jax.random.normal(by_proposal, (_TRIES, mean.shape[-1]))
    tries = mean + scale * contract(cholesky(covariance), noise[:, None, :])
    return first_accepted(by_accept, tries, radius)[0]
