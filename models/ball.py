r"""A map from ℝᵈ onto the ball ‖v‖ ≤ R under which z ~ N(0, I) becomes uniform.

.. math:: v = R\,\frac{z}{|z|}\,F_d(|z|^2)^{1/d}, \qquad F_d \text{ the } \chi^2_d
    \text{ distribution function.}

The image is exactly uniform, so the log-determinant of the Jacobian is the log ratio of the
two densities and needs no derivative. The code writes v = R·z·g(s) with s = |z|²/2, where g
is analytic at s = 0:

.. math:: g(s) = F_d(2s)^{1/d} / \sqrt{2s}
    = \Big[\frac{e^{-s}}{\Gamma(a+1)} \sum_{k\ge0} \frac{s^k}{(a+1)\cdots(a+k)}\Big]^{1/d}/\sqrt2,
    \qquad a = d/2.

The series is used below s = a, where computing F as 1 − (1 − F) would cancel; above, 1 − F is a
finite sum (with an ``erfc`` for odd d). Both are elementary, so derivatives of every order exist,
at z = 0 as well as for large z.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaincc
from jax.typing import ArrayLike

from hrprob._core.types import Number
from hrprob.numerics.products import contract

__all__ = ["ball_derivatives", "from_ball", "gain", "gain_derivatives", "log_volume", "to_ball"]

# Up to this dimension the finite sum is written out; beyond, JAX's incomplete gamma function is as fast.
_WRITTEN_OUT = 64
_BISECTIONS = 60


def to_ball(z: ArrayLike, radius: ArrayLike) -> jax.Array:
    """Return the image of z (..., d) in the ball.

    Examples
    --------
    >>> [f"{entry:.4f}" for entry in to_ball(jnp.asarray([30.0, 40.0]), radius=2.0)]
    ['1.2000', '1.6000']
    """
    z = jnp.asarray(z, dtype=float)
    s = 0.5 * contract(z, z)
    return jnp.asarray(radius)[..., None] * z * gain(s, z.shape[-1])[..., None]


def gain(s: jax.Array, dimension: int) -> jax.Array:
    """Return g(s), the factor of the map at |z|² = 2s.

    Examples
    --------
    >>> f"{gain(jnp.asarray(8.0), 4):.6f}"  # |z| = 4 is almost at the surface
    '0.249811'
    """
    return jnp.exp(_log_gain(s, dimension))


def from_ball(v: ArrayLike, radius: ArrayLike) -> jax.Array:
    """Return z with ``to_ball(z, radius) == v``, to about 1e-9, for ‖v‖ < R.

    Examples
    --------
    >>> from hrprob._core.precision import double_precision
    >>> with double_precision():
    ...     from_ball(to_ball(jnp.asarray([0.5, -1.0]), 2.0), 2.0).round(6).tolist()
    [0.5, -1.0]
    """
    v = jnp.asarray(v, dtype=float)
    d = v.shape[-1]
    norm = jnp.sqrt(contract(v, v))
    share = norm / radius

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        below = middle * gain(0.5 * middle * middle, d) < share
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    # A normal vector has |z| above √d + 12 with a probability under 1e-30.
    ends = (jnp.zeros_like(share), jnp.full_like(share, math.sqrt(d) + 12.0))
    low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, ends)
    return v * jnp.where(norm > 0, 0.5 * (low + high) / jnp.where(norm > 0, norm, 1.0), 0.0)[..., None]


def ball_derivatives(z: jax.Array, radius: Number, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the Jacobian of the map at z (d,), and the Hessian of ``weights``ᵀ(map).

    Examples
    --------
    >>> jacobian, _ = ball_derivatives(jnp.zeros(2), 2.0, jnp.zeros(2))
    >>> [[f"{entry:.3f}" for entry in row] for row in jacobian]  # near 0 the map is 2·g(0)·z
    [['1.414', '0.000'], ['0.000', '1.414']]
    """
    d = z.shape[-1]
    s = 0.5 * contract(z, z)
    value, first, second = gain_derivatives(s, d)
    outer = z[:, None] * z[None, :]
    mixed = weights[:, None] * z[None, :]
    along = contract(weights, z)
    jacobian = jnp.asarray(radius * (value * jnp.eye(d) + first * outer))
    hessian = jnp.asarray(radius * (first * (mixed + mixed.T + along * jnp.eye(d)) + second * along * outer))
    return jacobian, hessian


def log_volume(dimension: int, radius: ArrayLike) -> jax.Array:
    """Return the logarithm of the volume of the ball.

    Examples
    --------
    >>> f"{log_volume(2, 1.0):.5f}"
    '1.14473'
    """
    a = dimension / 2
    return a * math.log(math.pi) - math.lgamma(a + 1) + dimension * jnp.log(radius)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def gain_derivatives(s: jax.Array, dimension: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return g(s) with its first two derivatives; differentiating them costs one more evaluation.

    Examples
    --------
    >>> value, slope, bend = gain_derivatives(jnp.asarray(8.0), 4)
    >>> f"{value:.6f} {slope:.6f} {bend:.6f}"
    '0.249811 -0.015445 0.002759'
    """
    return _up_to_third(s, dimension, 2)  # type: ignore[return-value]


@gain_derivatives.defjvp
def _gain_derivatives_jvp(
    d: int, primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[tuple[jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array, jax.Array]]:
    (s,), (ds,) = primals, tangents
    value, slope, bend, third = _up_to_third(s, d, 3)
    return (value, slope, bend), (slope * ds, bend * ds, third * ds)


def _up_to_third(s: jax.Array, d: int, order: int) -> tuple[jax.Array, ...]:
    """Return g and its derivatives up to ``order`` from those of ln g."""
    value, *rest = (_log_gain(s, d, k) for k in range(order + 1))
    g, first, second = jnp.exp(value), rest[0], rest[1]
    first_three = (g, g * first, g * (second + first**2))
    return first_three if order == 2 else (*first_three, g * (rest[2] + 3.0 * first * second + first**3))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _log_gain(s: jax.Array, d: int, order: int = 0) -> jax.Array:
    """Return ln g(s), or one of its first three derivatives.

    Each is the derivative of the one before, so that derivatives in z are short programs;
    JAX differentiates the third one itself.
    """
    return _written_out(s, d, order)


@_log_gain.defjvp
def _log_gain_jvp(
    d: int, order: int, primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (s,), (ds,) = primals, tangents
    if order == 3:
        return jax.jvp(lambda s: _written_out(s, d, 3), (s,), (ds,))
    return _log_gain(s, d, order), _log_gain(s, d, order + 1) * ds


@functools.partial(jax.jit, static_argnums=(1, 2))  # long, so traced once per shape of s
def _written_out(s: jax.Array, d: int, order: int) -> jax.Array:
    a = d / 2
    small = s < a
    # The branch that is not selected gets an argument at which it and its derivatives are finite.
    near, far = jnp.where(small, s, 0.0), jnp.where(small, a, s)
    return jnp.where(small, _near(near, d, order), _far(far, d, order))


def _near(s: jax.Array, d: int, order: int) -> jax.Array:
    """Return the derivative of this order of ln g = (ln S − s − ln Γ(a+1))/d − ln 2/2, S being the series."""
    a = d / 2
    series = _series(s, a)
    if order == 0:
        return (jnp.log(series) - s - math.lgamma(a + 1)) / d - 0.5 * math.log(2.0)
    first = _series(s, a, 1) / series
    if order == 1:
        return (first - 1.0) / d
    second = _series(s, a, 2) / series
    if order == 2:
        return (second - first**2) / d
    return (_series(s, a, 3) / series - 3.0 * second * first + 2.0 * first**3) / d


def _far(s: jax.Array, d: int, order: int) -> jax.Array:
    """Return the derivative of this order of ln g = ln F/d − ln(2s)/2, by h = (ln F)'.

    F' = s^{a−1}e^{−s}/Γ(a), so that h' = h·k with k = (a − 1)/s − 1 − h.
    """
    a = d / 2
    log_f = jnp.log1p(-_upper_tail(s, d))
    if order == 0:
        return log_f / d - 0.5 * jnp.log(2.0 * s)
    h = jnp.exp((a - 1.0) * jnp.log(s) - s - math.lgamma(a) - log_f)
    if order == 1:
        return h / d - 0.5 / s
    k = (a - 1.0) / s - 1.0 - h
    if order == 2:
        return h * k / d + 0.5 / s**2
    return (h * k * k - h * ((a - 1.0) / s**2 + h * k)) / d - 1.0 / s**3


def _series(s: jax.Array, a: float, order: int = 0) -> jax.Array:
    """Return Σ_k s^k / ((a+1)···(a+k)) for s ≤ a, or a derivative of it."""
    coefficients, size = [1.0], 1.0
    while size > 1e-17:  # the last term at s = a, the largest s
        k = len(coefficients)
        coefficients.append(coefficients[-1] / (a + k))
        size = coefficients[-1] * a**k
    for _ in range(order):
        coefficients = [k * c for k, c in enumerate(coefficients)][1:]
    total = jnp.zeros_like(s)
    for coefficient in reversed(coefficients):
        total = total * s + coefficient
    return total


def _upper_tail(s: jax.Array, d: int) -> jax.Array:
    r"""Return 1 − F_d(2s) = Γ(a, s)/Γ(a).

    For even d it is :math:`e^{-s}\sum_{k<a} s^k/k!`, for odd d
    :math:`\operatorname{erfc}\sqrt s + e^{-s}\sum_{k<a-1/2} s^{k+1/2}/\Gamma(k+3/2)`.
    """
    if d > _WRITTEN_OUT:
        return gammaincc(d / 2, s)
    half = 0.5 * (d % 2)
    # For larger s the power s^k may overflow, although e^{-s}s^k is 0.
    bounded = jnp.minimum(s, 700.0)
    total = jnp.zeros_like(s)
    for k in range(d // 2 - 1, -1, -1):
        total = total * bounded + math.exp(-math.lgamma(k + 1 + half))
    tail = jnp.exp(-bounded) * total
    return tail if d % 2 == 0 else jax.lax.erfc(jnp.sqrt(bounded)) + tail * jnp.sqrt(bounded)
