r"""Feasible generalised least squares for θ and φ, one stay at a time.

============  ===============================  ============================================
symbol        name                             meaning
============  ===============================  ============================================
θ̂, Σ_θ        ``estimates.theta``              normal belief of θ: mean and covariance
φ̂, Σ_φ        ``estimates.phi``                normal belief of φ: mean and covariance
w̃             ``counted_variance``             the variance that a stay is counted with
û, ŵ          ``moments.u``, ``.w``            mean and variance of an action, with deviations
============  ===============================  ============================================

The paper's estimator weighs all rounds alike. Here a round with variance w counts 1/w in
the regression for θ, and its squared residual, whose variance is 2w² where outcomes are
normal, counts 1/(2w²) in the regression for φ:

.. math::
    \Sigma_\theta^{-1} = \frac{d+2}{R_\theta^2} I + \sum \frac{x x^\top}{\tilde w}, \qquad
    \hat\theta = \Sigma_\theta \sum \frac{r\,x}{\tilde w},

.. math::
    \Sigma_\varphi^{-1} = \frac{d+2}{R_\varphi^2} I + \sum \frac{M_f^2\, x x^\top}{2\tilde w^2}, \qquad
    \hat\varphi = \Sigma_\varphi \sum \frac{M_f\,(\hat\varepsilon^2 - \text{offset})\, x}{2\tilde w^2},

with residuals ε̂ of the newest θ̂ for every round of the past, by the sums of
:mod:`hrprob.estimation.glse`. The ridges are the precisions of normal priors with the
covariance of the uniform distribution on the balls ‖θ‖ ≤ R_θ, ‖φ‖ ≤ R_φ, so Σ_θ and Σ_φ
are (to the first order) what a Bayesian would believe.

**Weights.** w̃ is fixed when the stay begins, from what was known then, so that weighted
sums of noise remain martingales. It is the estimate plus one standard deviation: an estimate
that is too small at random would let one stay outweigh all others for good.

**Bounds.** ‖φ‖ ≤ R_φ holds φᵀx to ±R_φ‖x‖. The normal belief of φᵀx is cut to that interval, and
ŵ is f at the mean of what is left: positive, where f(φ̂ᵀx) itself may be negative. Likewise û.

References
----------
.. [1] R. J. Carroll, D. Ruppert, "Transformation and Weighting in Regression", 1988, chapters
   2 and 3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob.estimation import glse
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.numerics.products import contract, quadratic_form

__all__ = [
    "Belief",
    "Estimates",
    "Moments",
    "Statistics",
    "add",
    "counted_variance",
    "cut_normal",
    "empty",
    "fit",
    "moments",
]

# A normal density this many deviations out is still an ordinary number.
_FARTHEST = 37.0


class Belief(NamedTuple):
    """What is believed of a vector of coefficients: N(mean, covariance)."""

    mean: jax.Array  # (d,)
    covariance: jax.Array  # (d, d)


class Estimates(NamedTuple):
    """The two beliefs."""

    theta: Belief
    phi: Belief


class Statistics(NamedTuple):
    """All that the weighted estimators need to know of the past."""

    sample_size: jax.Array  # () rounds
    sum_rx: jax.Array  # (d,) Σ r x / w̃
    squares: glse.Statistics  # each round counted 1/(2w̃²) times


class Moments(NamedTuple):
    """Mean and variance of the outcomes of some actions, and how well they are known."""

    u: jax.Array  # (...)
    w: jax.Array  # (...)
    u_deviation: jax.Array  # (...)
    w_deviation: jax.Array  # (...)


def empty(dimension: int, bounds: Any) -> tuple[Statistics, Estimates]:
    """Return what is known before the first stay: the priors.

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
    rounds: Any,
    total: Any,
    squares: Any,
    link: Any,
    variances: tuple[jax.Array, jax.Array],
) -> tuple[Statistics, Estimates]:
    """Add a stay of some rounds under one context.

    Parameters
    ----------
    statistics, estimates : Statistics, Estimates
        What is known so far.
    x : Array, shape (d,)
        The context.
    rounds, total, squares : scalar
        The number of outcomes, their sum and the sum of their squares; all 0 for none.
    link : Affine
        f.
    variances : pair of scalars
        w̃ for the regression of θ and for that of φ.
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


def moments(estimates: Estimates, contexts: jax.Array, link: Any, bounds: Any, floor: Any) -> Moments:
    """Return mean and variance of the outcomes of contexts (..., d), each belief cut to its bounds.

    Parameters
    ----------
    estimates : Estimates
        The two beliefs.
    contexts : Array, shape (..., d)
        The contexts.
    link, bounds : Affine, Bounds
        f, and the norms that θ and φ are held to.
    floor : float
        Least variance that is returned.
    """
    length = jnp.sqrt(contract(contexts, contexts))
    u, u_deviation = _along(estimates.theta, contexts, bounds.theta * length)
    v, v_deviation = _along(estimates.phi, contexts, bounds.phi * length)
    return Moments(u, jnp.maximum(link(v), floor), u_deviation, link.slope * v_deviation)


def _along(belief: Belief, contexts: jax.Array, most: jax.Array) -> tuple[jax.Array, jax.Array]:
    variance = jnp.maximum(quadratic_form(belief.covariance, contexts), 0.0)
    return cut_normal(contract(contexts, belief.mean), jnp.sqrt(variance), -most, most)


@float64
def cut_normal(
    mean: ArrayLike, deviation: ArrayLike, low: ArrayLike, high: ArrayLike
) -> tuple[jax.Array, jax.Array]:
    """Return mean and standard deviation of a normal number given that it lies in [low, high].

    Examples
    --------
    >>> mean, deviation = cut_normal(0.0, 1.0, 0.0, 50.0)
    >>> f"{mean:.6f}, {deviation:.6f}"
    '0.797885, 0.602810'
    >>> f"{cut_normal(0.0, 1.0, 60.0, 61.0)[0]:.6f}"
    '60.000000'
    """
    mean, deviation, low, high = (jnp.asarray(value, dtype=float) for value in (mean, deviation, low, high))
    scale = jnp.maximum(deviation, 1e-150)
    a, b = (low - mean) / scale, (high - mean) / scale
    # Mirrored where the interval lies above the mean: in the lower tail Φ keeps its digits.
    mirrored = a + b > 0
    a, b = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    a, b = jnp.maximum(a, -_FARTHEST - 1.0), jnp.maximum(b, -_FARTHEST)
    mass = jnp.maximum(_cdf(b) - _cdf(a), 1e-305)
    at_a, at_b = _pdf(a), _pdf(b)
    shift = (at_a - at_b) / mass
    share = 1.0 + (a * at_a - b * at_b) / mass - shift * shift
    # Rounding can leave a share of −1e-16, and far out only that it is small is known.
    spread = scale * jnp.sqrt(jnp.clip(share, 1e-4, 1.0))
    middle = mean + scale * jnp.where(mirrored, -shift, shift)
    return jnp.clip(middle, low, high), jnp.minimum(spread, 0.5 * (high - low))


def _pdf(z: jax.Array) -> jax.Array:
    return jnp.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def _cdf(z: jax.Array) -> jax.Array:
    return 0.5 * jax.lax.erfc(-z / math.sqrt(2.0))


@float64
def fit(contexts: ArrayLike, outcomes: ArrayLike, link: Any, bounds: Any, floor: float = 0.01) -> Estimates:
    """Return the estimates from contexts (n, d) and outcomes (n,), taken in their order.

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
def _fit(x: jax.Array, r: jax.Array, link: Any, bounds: Any, floor: Any) -> Estimates:
    def step(known: Any, sample: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        context, outcome = sample
        statistics, estimates = known
        counted = counted_variance(estimates, context, link, bounds, floor)
        squares = outcome * outcome
        return add(statistics, estimates, context, 1.0, outcome, squares, link, (counted, counted)), None

    return jax.lax.scan(step, empty(x.shape[1], bounds), (x, r))[0][1]


def counted_variance(estimates: Estimates, x: jax.Array, link: Any, bounds: Any, floor: Any) -> jax.Array:
    """Return w̃: the estimated variance and one standard deviation of it."""
    believed = moments(estimates, x, link, bounds, floor)
    return believed.w + believed.w_deviation
