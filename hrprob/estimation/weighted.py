r"""Feasible generalised least squares for θ and φ, updated one stay at a time.

============  ===============================  ============================================
symbol        name                             meaning
============  ===============================  ============================================
θ̂, Σ_θ        ``estimates.theta``              normal belief about θ: mean and covariance
φ̂, Σ_φ        ``estimates.phi``                normal belief about φ: mean and covariance
w̃             ``weighting_variance``           the variance by which a stay is weighted
û, ŵ          ``moments.u``, ``.w``            mean and variance of an action, with their sds
============  ===============================  ============================================

The paper's estimator gives all rounds the same weight. Here a round with variance w has weight 1/w
in the regression for θ, and its squared residual, whose variance is 2w² for normal outcomes,
has weight 1/(2w²) in the regression for φ:

.. math::
    \Sigma_\theta^{-1} = \frac{d+2}{R_\theta^2} I + \sum \frac{x x^\top}{\tilde w}, \qquad
    \hat\theta = \Sigma_\theta \sum \frac{r\,x}{\tilde w},

.. math::
    \Sigma_\varphi^{-1} = \frac{d+2}{R_\varphi^2} I + \sum \frac{M_f^2\, x x^\top}{2\tilde w^2}, \qquad
    \hat\varphi = \Sigma_\varphi \sum \frac{M_f\,(\hat\varepsilon^2 - \text{offset})\, x}{2\tilde w^2},

where the residuals ε̂ use the newest θ̂ for every past round, by the sums of
:mod:`hrprob.estimation.glse`. The ridges are the precisions of normal priors with the
covariance of the uniform distribution on the balls ‖θ‖ ≤ R_θ, ‖φ‖ ≤ R_φ, so Σ_θ and Σ_φ
are (to first order) posterior covariances.

**Weights.** w̃ is fixed when the stay begins, from the estimates at that time, so that weighted
sums of noise remain martingales. It is the estimated variance plus one standard deviation: an
estimate that is too small by chance would let one stay dominate all others permanently.

**Bounds.** ‖φ‖ ≤ R_φ confines φᵀx to ±R_φ‖x‖. The normal belief about φᵀx is truncated to that
interval, and ŵ is f at the mean of the truncated distribution, which is positive although
f(φ̂ᵀx) itself may be negative. û is computed in the same way.

References
----------
.. [1] R. J. Carroll, D. Ruppert, "Transformation and Weighting in Regression", 1988, chapters
   2 and 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob._core.types import Number
from hrprob.estimation import glse
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.products import contract, quadratic_form
from hrprob.problem.bounds import Bounds
from hrprob.problem.links import AffineLink

__all__ = [
    "Belief",
    "Estimates",
    "Moments",
    "Statistics",
    "SumsWithPrecision",
    "add",
    "add_sums",
    "empty",
    "fit",
    "moments",
    "solve",
    "truncated_normal_moments",
    "weighting_variance",
    "with_precision",
]

# The normal density this many standard deviations from its mean does not underflow.
_FARTHEST = 37.0


class Belief(NamedTuple):
    """A normal distribution of a vector of coefficients: N(mean, covariance)."""

    mean: jax.Array  # (d,)
    covariance: jax.Array  # (d, d)


class Estimates(NamedTuple):
    """The beliefs about θ and φ."""

    theta: Belief
    phi: Belief


class Statistics(NamedTuple):
    """Weighted sums over past stays from which the estimates are computed."""

    sample_size: jax.Array  # () rounds
    sum_rx: jax.Array  # (d,) Σ r x / w̃
    squares: glse.Statistics  # each round with weight 1/(2w̃²)


class SumsWithPrecision(NamedTuple):
    """All sums from which the estimates can be computed at once, without those before."""

    statistics: Statistics
    precision: jax.Array  # (d, d) Σ xxᵀ / w̃


class Moments(NamedTuple):
    """Estimated mean and variance of the outcomes of some actions, and the sds of these estimates."""

    u: jax.Array  # (...)
    w: jax.Array  # (...)
    u_sd: jax.Array  # (...)
    w_sd: jax.Array  # (...)


def empty(dimension: int, bounds: Bounds) -> tuple[Statistics, Estimates]:
    """Return the statistics and beliefs before the first stay: no data, and the priors.

    Examples
    --------
    >>> from hrprob.problem import Bounds
    >>> _, estimates = empty(2, Bounds(theta=1.0, phi=2.0))
    >>> estimates.theta.covariance.tolist(), estimates.phi.covariance.tolist()
    ([[0.25, 0.0], [0.0, 0.25]], [[1.0, 0.0], [0.0, 1.0]])
    """
    nothing = jnp.zeros(dimension)
    theta, phi = (
        Belief(nothing, jnp.eye(dimension) / prior_precision(dimension, radius))
        for radius in (bounds.theta, bounds.phi)
    )
    sums = jax.tree.map(jnp.asarray, glse.empty(dimension))
    return Statistics(jnp.zeros(()), nothing, sums), Estimates(theta, phi)


def add(
    statistics: Statistics,
    estimates: Estimates,
    x: jax.Array,
    rounds: Number,
    total: Number,
    squares: Number,
    link: AffineLink,
    variances: tuple[jax.Array, jax.Array],
) -> tuple[Statistics, Estimates]:
    """Add one stay: a number of rounds under one context.

    Parameters
    ----------
    statistics, estimates : Statistics, Estimates
        Those before this stay.
    x : Array, shape (d,)
        The context.
    rounds, total, squares : scalar
        The number of outcomes, their sum and the sum of their squares; all 0 if there are none.
    link : Affine
        f.
    variances : pair of scalars
        w̃ in the regression for θ, and in the regression for φ.
    """
    for_theta, for_phi = 1.0 / variances[0], 0.5 / variances[1] ** 2
    covariance = glse.sherman_morrison(estimates.theta.covariance, x, rounds * for_theta)
    sum_rx = statistics.sum_rx + total * for_theta * x
    theta = contract(covariance, sum_rx)

    sums = glse.add(statistics.squares, x, rounds * for_phi, total * for_phi, squares * for_phi)
    phi_covariance = glse.sherman_morrison(
        estimates.phi.covariance, x, rounds * for_phi * link.slope * link.slope
    )
    target = link.slope * (glse.squared_residuals(sums, theta) - link.offset * sums.sum_x)
    return (
        Statistics(statistics.sample_size + rounds, sum_rx, sums),
        Estimates(Belief(theta, covariance), Belief(contract(phi_covariance, target), phi_covariance)),
    )


def with_precision(statistics: Statistics) -> SumsWithPrecision:
    """Return the statistics of no stay with the sum that belongs to them."""
    return SumsWithPrecision(statistics, jnp.zeros_like(statistics.squares.gram))


def add_sums(
    sums: SumsWithPrecision,
    x: jax.Array,
    rounds: Number,
    total: Number,
    squares: Number,
    variances: tuple[jax.Array, jax.Array],
) -> SumsWithPrecision:
    """Return the sums with one stay added, as :func:`add` does, without estimates."""
    for_theta, for_phi = 1.0 / variances[0], 0.5 / variances[1] ** 2
    size, sum_rx, second = sums.statistics
    second = glse.add(second, x, rounds * for_phi, total * for_phi, squares * for_phi)
    statistics = Statistics(size + rounds, sum_rx + total * for_theta * x, second)
    return SumsWithPrecision(statistics, sums.precision + rounds * for_theta * (x[:, None] * x))


def solve(sums: SumsWithPrecision, link: AffineLink, bounds: Bounds) -> Estimates:
    """Return the estimates from sums alone, with covariances from new factorisations."""
    statistics, precision = sums
    prior_theta, prior_phi = (
        prior_precision(precision.shape[-1], radius) * jnp.eye(precision.shape[-1])
        for radius in (bounds.theta, bounds.phi)
    )
    covariance = inverse_of(cholesky(prior_theta + precision))
    theta, second = contract(covariance, statistics.sum_rx), statistics.squares
    phi_covariance = inverse_of(cholesky(prior_phi + link.slope * link.slope * second.gram))
    target = link.slope * (glse.squared_residuals(second, theta) - link.offset * second.sum_x)
    return Estimates(Belief(theta, covariance), Belief(contract(phi_covariance, target), phi_covariance))


def moments(
    estimates: Estimates, contexts: jax.Array, link: AffineLink, bounds: Bounds, floor: Number
) -> Moments:
    """Return mean and variance of the outcomes of contexts (..., d), with each belief truncated to its bounds.

    Parameters
    ----------
    estimates : Estimates
        The beliefs about θ and φ.
    contexts : Array, shape (..., d)
        The contexts.
    link, bounds : Affine, Bounds
        f, and the bounds of ‖θ‖ and ‖φ‖.
    floor : float
        The smallest variance that is returned.
    """
    length = jnp.sqrt(contract(contexts, contexts))
    u, u_sd = _along(estimates.theta, contexts, bounds.theta * length)
    v, v_sd = _along(estimates.phi, contexts, bounds.phi * length)
    return Moments(u, jnp.maximum(link(v), floor), u_sd, link.slope * v_sd)


def _along(belief: Belief, contexts: jax.Array, most: jax.Array) -> tuple[jax.Array, jax.Array]:
    variance = jnp.maximum(quadratic_form(belief.covariance, contexts), 0.0)
    return truncated_normal_moments(contract(contexts, belief.mean), jnp.sqrt(variance), -most, most)


@float64
def truncated_normal_moments(
    mean: ArrayLike, sd: ArrayLike, low: ArrayLike, high: ArrayLike
) -> tuple[jax.Array, jax.Array]:
    """Return mean and standard deviation of a normal distribution truncated to [low, high].

    Examples
    --------
    >>> mean, sd = truncated_normal_moments(0.0, 1.0, 0.0, 50.0)
    >>> f"{mean:.6f}, {sd:.6f}"
    '0.797885, 0.602810'
    >>> f"{truncated_normal_moments(0.0, 1.0, 60.0, 61.0)[0]:.6f}"
    '60.000000'
    """
    mean, sd, low, high = (jnp.asarray(value, dtype=float) for value in (mean, sd, low, high))
    scale = jnp.maximum(sd, 1e-150)
    a, b = (low - mean) / scale, (high - mean) / scale
    # Mirrored where the interval lies above the mean, because Φ is accurate in the lower tail only.
    mirrored = a + b > 0
    a, b = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    a, b = jnp.maximum(a, -_FARTHEST - 1.0), jnp.maximum(b, -_FARTHEST)
    mass = jnp.maximum(_cdf(b) - _cdf(a), 1e-305)
    at_a, at_b = _pdf(a), _pdf(b)
    shift = (at_a - at_b) / mass
    ratio = 1.0 + (a * at_a - b * at_b) / mass - shift * shift
    # Rounding can make the ratio −1e-16, and far in the tail it is only known to be small.
    spread = scale * jnp.sqrt(jnp.clip(ratio, 1e-4, 1.0))
    middle = mean + scale * jnp.where(mirrored, -shift, shift)
    return jnp.clip(middle, low, high), jnp.minimum(spread, 0.5 * (high - low))


def _pdf(z: jax.Array) -> jax.Array:
    return jnp.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def _cdf(z: jax.Array) -> jax.Array:
    return 0.5 * jax.lax.erfc(-z / math.sqrt(2.0))


@float64
def fit(
    contexts: ArrayLike, outcomes: ArrayLike, link: AffineLink, bounds: Bounds, floor: float = 0.01
) -> Estimates:
    """Return the estimates from contexts (n, d) and outcomes (n,), added in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from hrprob.problem import Affine, Bounds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> r = X @ [0.6, 0.3] + np.sqrt(X @ [0.5, 0.9] + 2.0) * rng.normal(size=20000)
    >>> theta, phi = fit(X, r, Affine(1.0, 2.0), Bounds(1.0, 2.0))
    >>> theta.mean.round(1).tolist(), phi.mean.round(1).tolist()
    ([0.6, 0.3], [0.5, 0.9])
    """
    x, r = jnp.asarray(contexts, dtype=float), jnp.asarray(outcomes, dtype=float)
    return _fit(x, r, link, bounds, floor)


@jax.jit
def _fit(x: jax.Array, r: jax.Array, link: AffineLink, bounds: Bounds, floor: Number) -> Estimates:
    def step(
        carry: tuple[Statistics, Estimates], sample: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Statistics, Estimates], None]:
        context, outcome = sample
        statistics, estimates = carry
        variance = weighting_variance(estimates, context, link, bounds, floor)
        squares = outcome * outcome
        return add(statistics, estimates, context, 1.0, outcome, squares, link, (variance, variance)), None

    return jax.lax.scan(step, empty(x.shape[1], bounds), (x, r))[0][1]


def weighting_variance(
    estimates: Estimates, x: jax.Array, link: AffineLink, bounds: Bounds, floor: Number
) -> jax.Array:
    """Return w̃: the estimated variance plus one standard deviation of the estimate."""
    estimated = moments(estimates, x, link, bounds, floor)
    return estimated.w + estimated.w_sd
