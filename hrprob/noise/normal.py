r"""The standard normal distribution, the noise of the paper.

Derivatives are computed through the reversed hazard rate m = ψ/Φ, which grows only like |z|:

.. math::
    (1/\Phi)' = -m/\Phi, \qquad (\ln \Phi)' = m, \qquad m' = -m\,(z + m).
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob._core.random_numbers import Purpose, Source, normals
from hrprob._core.types import Number
from hrprob.noise.base import compiled, real, register
from hrprob.noise.excess import excess_share
from hrprob.noise.normal_tail import normal_tail
from hrprob.numerics.logarithm import log

__all__ = ["NORMAL", "Normal", "log_density_of_rounds"]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Over this small a share of the length on which it changes, 1/Φ is a parabola up to 1e-11.
_SHORT = 0.005

# Below this point m is computed by its continued fraction, whose truncation error is
# below 1e-16 at this depth; above it, as the quotient ψ/Φ.
_TAIL = -6.0
_TAIL_DEPTH = 20


@register("normal")
class Normal:
    """The standard normal distribution.

    Relative errors stay below 1e-12 down to z = −37.5, where Φ leaves the range of
    float64 (1e-308) and :meth:`reciprocal_cdf` becomes infinite. :meth:`log_cdf` has
    no such limit.

    Examples
    --------
    >>> noise = Normal()
    >>> float(noise.reciprocal_cdf(0.0))
    2.0
    >>> f"{noise.cdf(-37.0):.6e}"
    '5.725571e-300'
    >>> f"{noise.log_cdf(-1e4):.6f}"
    '-50000010.129279'
    """

    kind: ClassVar[str]
    sums_suffice: ClassVar[bool] = True
    tail: ClassVar[float] = 1.0
    tail_centre: ClassVar[float] = 0.0
    # Above 9, Φ rounds to 1.
    corners: ClassVar[tuple[float, ...]] = (9.0,)
    turns: ClassVar[tuple[float, ...]] = ()
    lowest: ClassVar[float] = -math.inf
    fourth_moment: ClassVar[float] = 3.0
    sub_gaussian_scale: ClassVar[float] = 1.0

    @float64
    def pdf(self, z: ArrayLike) -> jax.Array:
        """Return the density at ``z``."""
        return _pdf(real(z))

    @float64
    def log_pdf(self, z: ArrayLike) -> jax.Array:
        """Return the log density at ``z``."""
        z = real(z)
        return -0.5 * z * z - _LOG_SQRT_2PI

    @float64
    def cdf(self, z: ArrayLike) -> jax.Array:
        """Return Φ(z)."""
        return _cdf(real(z))

    @float64
    def survival(self, z: ArrayLike) -> jax.Array:
        """Return Φ(−z), the probability of a draw above ``z``."""
        return _cdf(-real(z))

    @float64
    def log_cdf(self, z: ArrayLike) -> jax.Array:
        """Return ln Φ(z)."""
        return _log_cdf(real(z))

    @float64
    def reciprocal_cdf(self, z: ArrayLike) -> jax.Array:
        """Return 1/Φ(z); infinite below z = −37.5."""
        return _reciprocal_cdf(real(z))

    @float64
    def overshoot(self, z: ArrayLike) -> jax.Array:
        """Return E[(z − e)⁺] for z ≤ 0 and E[(e − z)⁺] for z > 0: how far a draw lies beyond ``z`` on average."""
        return _overshoot(real(z))

    @float64
    def mean_reciprocal_cdf(self, low: ArrayLike, high: ArrayLike) -> jax.Array:
        """Return the mean of 1/Φ between ``low`` and ``high``, to 1e-10; infinite where ``low`` is below −37.5."""
        return _mean_reciprocal_cdf(real(low), real(high))

    def normal_components(self) -> tuple[tuple[float, float, float], ...]:
        """Return weight, mean and sd of its only component: itself."""
        return ((1.0, 0.0, 1.0),)

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds, from round ``start`` on (counted from 0)."""
        return self.of_words(*source.words(Purpose.NOISE, (rounds,), start))

    def of_words(self, high: jax.Array, low: jax.Array) -> jax.Array:
        """Return the noise of rounds from two random words of each."""
        return normals(high, low)


NORMAL = Normal()
"""The noise of the paper, and the default everywhere."""


def _pdf(z: jax.Array) -> jax.Array:
    return jnp.exp(-0.5 * z * z - _LOG_SQRT_2PI)


def _cdf(z: jax.Array) -> jax.Array:
    return 0.5 * jax.lax.erfc(-z / math.sqrt(2.0))


@jax.custom_jvp
@compiled
def _reversed_hazard(z: jax.Array) -> jax.Array:
    r"""Return m(z) = ψ(z)/Φ(z), in the tail by Laplace's continued fraction.

    .. math:: m(-x) = x + \cfrac{1}{x + \cfrac{2}{x + \cfrac{3}{x + \cdots}}}
    """
    x = jnp.maximum(-z, -_TAIL)
    fraction = jnp.zeros_like(x)
    for k in range(_TAIL_DEPTH, 0, -1):
        fraction = k / (x + fraction)
    body = jnp.maximum(z, _TAIL)
    return jnp.where(z < _TAIL, x + fraction, _pdf(body) / _cdf(body))


def _overshoot(z: jax.Array) -> jax.Array:
    # ψ − |z|·Φ(−|z|) = ψ·(1 − |z|/m); the first form loses its digits far out.
    z = -jnp.abs(z)
    near = jnp.maximum(z, -40.0)
    m = _reversed_hazard(near)
    return _pdf(z) * (m + near) / m


@jax.custom_jvp
@compiled
def _reciprocal_cdf(z: jax.Array) -> jax.Array:
    tail = normal_tail(jnp.abs(z))
    return 1.0 / jnp.where(z < 0.0, tail, 1.0 - tail)


@compiled
def _mean_reciprocal_cdf(low: jax.Array, high: jax.Array) -> jax.Array:
    width, middle = high - low, 0.5 * (low + high)
    first, last = _excess(low), _excess(high)
    endless = jnp.isinf(first)
    mean = 1.0 + (first - jnp.where(endless, 0.0, last)) / jnp.where(width > 0.0, width, 1.0)
    # 1/Φ changes over a length of 1, and of 1/|z| far below. Over a small share of that length the difference
    # loses its digits, and 1/Φ is a parabola: its second derivative is m(2m + z)/Φ.
    value = _reciprocal_cdf(middle)
    m = jnp.where(jnp.isinf(value), 0.0, _pdf(middle) * value)
    parabola = value * (1.0 + width**2 / 24.0 * m * (2.0 * m + middle))
    return jnp.where(width * jnp.maximum(1.0, -low) <= _SHORT, parabola, mean)


@jax.custom_jvp
@compiled
def _excess(z: jax.Array) -> jax.Array:
    return excess_share(z) * _reciprocal_cdf(z)


@jax.custom_jvp
@compiled
def _log_cdf(z: jax.Array) -> jax.Array:
    # Φ = ψ/m in the lower tail; ln(1 − Φ(−z)) in the upper, where Φ rounds to 1.
    lower = -0.5 * z * z - _LOG_SQRT_2PI - jnp.log(_reversed_hazard(jnp.minimum(z, _TAIL)))
    middle = jnp.log(_cdf(jnp.maximum(z, _TAIL)))
    upper = jnp.log1p(-_cdf(-jnp.maximum(z, 0.0)))
    return jnp.where(z < _TAIL, lower, jnp.where(z < 0.0, middle, upper))


@_reversed_hazard.defjvp
def _reversed_hazard_jvp(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (z,), (dz,) = primals, tangents
    m = _reversed_hazard(z)
    return m, -m * (z + m) * dz


@_reciprocal_cdf.defjvp
def _reciprocal_cdf_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    (z,), (dz,) = primals, tangents
    value = _reciprocal_cdf(z)
    # At an infinite z the slope is 0, and inf·0 would be NaN.
    slope = jnp.where(jnp.isinf(z), 0.0, -value * _reversed_hazard(z))
    return value, slope * dz


@_excess.defjvp
def _excess_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    (z,), (dz,) = primals, tangents
    slope = jnp.where(jnp.isinf(z), 0.0, -_cdf(-z) * _reciprocal_cdf(z))
    return _excess(z), slope * dz


@_log_cdf.defjvp
def _log_cdf_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    (z,), (dz,) = primals, tangents
    return _log_cdf(z), _reversed_hazard(z) * dz


def log_density_of_rounds(u: Number, w: Number, rounds: Number, total: Number, squares: Number) -> jax.Array:
    """Return the log density of m rounds of mean u and variance w, from m, Σr and Σr².

    Examples
    --------
    >>> one, other = NORMAL.log_pdf((1.0 - 0.3) / 2.0), NORMAL.log_pdf((-1.0 - 0.3) / 2.0)
    >>> together = log_density_of_rounds(0.3, 4.0, rounds=2.0, total=0.0, squares=2.0)
    >>> f"{together:.6f} {one + other - 2 * math.log(2.0):.6f}"
    '-3.496671 -3.496671'
    """
    spread = squares - 2.0 * u * total + rounds * u * u
    return -0.5 * (rounds * (2.0 * _LOG_SQRT_2PI + log(jnp.asarray(w, float))) + spread / w)
