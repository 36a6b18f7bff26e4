r"""Student-t noise, standardised: e = √((ν − 2)/ν)·T with T ~ t_ν.

Its tails are heavier than the theory allows: it shows what a wrong assumption of normal noise costs.

With :math:`s = t/\sqrt{\nu + t^2}` in [0, 1) the lower tail is

.. math:: P(T < -t) = (1 + t^2/\nu)^{-\nu/2} J(s), \qquad
    J(s) = c \int_0^\infty \frac{e^{-\nu v}}{\sqrt{1 - (1 - s^2)\,e^{-2v}}}\,dv, \qquad J(0) = \tfrac12 .

J varies little. Its logarithm plus ln(1 + s/κ) is stored as a polynomial in s/(s + κ),
κ = 1.5/√ν, with an error below 1e-13 for every ν. The distribution function then costs a
few multiplications, and is accurate however small it is.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from hrprob._core.errors import check_number
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import Array, Number
from hrprob.noise.base import Tailed, real, register

__all__ = ["StudentT"]

_TERMS = 32
# Beyond this, t² would overflow; the probability is below 1e-300 there for every ν > 2.
_FAR = 1e150
# Newton steps towards the largest root of a cubic, from slightly above it.
_STEPS = 20
_TURNS = (1.0, 3.0, 10.0)
# With this many degrees of freedom, Ψ differs from the normal Φ by less than 1e-9 everywhere.
_MOST_DF = 1e9


class Lower(NamedTuple):
    """The lower tail for given degrees of freedom, computed once."""

    constant: float  # c
    kappa: float  # κ
    coefficients: Array  # (terms,) of Chebyshev polynomials


@register("student-t")
class StudentT(Tailed):
    """The t distribution, standardised.

    Parameters
    ----------
    df : float
        ν, the degrees of freedom, above 2 and at most 1e9.

    Examples
    --------
    >>> StudentT(df=5.0).reciprocal_cdf([0.0, -3.0]).round(2).tolist()
    [2.0, 170.58]
    """

    kind: ClassVar[str]
    df: float = 5.0
    lower: Lower = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        remedy = "with 2 degrees of freedom or fewer there is no variance; for many take the normal noise"
        set_frozen(self, df=check_number("df", self.df, low=2, high=_MOST_DF, open_low=True, remedy=remedy))
        set_frozen(self, lower=_lower(self.df))

    @property
    def symmetric(self) -> bool:
        """True."""
        return True

    @property
    def tail(self) -> float:
        """Infinite: a power of z falls slower than any normal density."""
        return math.inf

    @property
    def fourth_moment(self) -> float | None:
        """E[e⁴] = 3(ν − 2)/(ν − 4); None with 4 degrees of freedom or fewer, where it is infinite."""
        return 3.0 * (self.df - 2.0) / (self.df - 4.0) if self.df > 4.0 else None

    @property
    def sub_gaussian_scale(self) -> float:
        """Infinite: E exp(se) is, for every s ≠ 0."""
        return math.inf

    @property
    def turns(self) -> tuple[Number, ...]:
        """Points, on both sides, where ψ ceases to fall like a normal density; and points below, where it falls like a power."""
        near = tuple(sign * k * self.scale for k in _TURNS for sign in (-1.0, 1.0))
        return near + tuple(-k * jnp.sqrt(self.df) for k in _TURNS)

    def peak(self, shift: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
        r"""Return the place and the width of the bump of exp(−t²/2)/Ψ(shift + slope·t) far below.

        With m + at for z in units of the scale, 1/Ψ grows like :math:`(1 + (m + at)^2/\nu)^{\nu/2}`, and
        s = −(m + at) is the largest root of :math:`s^3 + ms^2 - \nu(a^2 - 1)s + m\nu`. Where that has no
        root, the place is where the product falls least.
        """
        m, a = shift / self.scale, slope / self.scale
        gain = self.df * (a * a - 1.0)
        least = (jnp.sqrt(jnp.maximum(m * m + 3.0 * gain, 0.0)) - m) / 3.0
        least = jnp.where(m * m + 3.0 * gain > 0.0, jnp.maximum(least, 0.0), 0.0)
        # Newton steps from above the largest root decrease towards it.
        root = jnp.abs(m) + jnp.sqrt(jnp.maximum(gain, 0.0)) + jnp.cbrt(jnp.abs(m) * self.df)

        def step(_: int, s: jax.Array) -> jax.Array:
            value, rise = ((s + m) * s - gain) * s + m * self.df, (3.0 * s + 2.0 * m) * s - gain
            return jnp.maximum(s - value / jnp.where(rise > 0.0, rise, jnp.inf), least)

        root = lax.fori_loop(0, _STEPS, step, root)
        squared = root * root
        bend = 1.0 - a * a * self.df * (self.df - squared) / (self.df + squared) ** 2
        # Where it is flat to second order, the width follows from the fourth.
        wide = 1.0 / jnp.sqrt(jnp.maximum(bend, 0.5 / jnp.sqrt(self.df)))
        return jnp.where(root > 0.0, -(root + m) / a, 0.0), wide

    @property
    def scale(self) -> Number:
        """√((ν − 2)/ν), which makes the variance 1."""
        return jnp.sqrt((self.df - 2.0) / self.df)

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        t = z / self.scale
        level = jnp.log(self.lower.constant / (jnp.sqrt(self.df) * self.scale))
        return level - 0.5 * (self.df + 1.0) * jnp.log1p(t * t / self.df)

    def probability(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        lower = jnp.exp(self._log_lower(jnp.abs(z)))
        return jnp.where(z > 0.0, 1.0 - lower, lower)

    def log_probability(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        below = self._log_lower(jnp.abs(z))
        return jnp.where(z > 0.0, jnp.log1p(-jnp.exp(below)), below)

    def _log_lower(self, size: jax.Array) -> jax.Array:
        """Return ln Ψ(−size)."""
        _, kappa, coefficients = self.lower
        t = jnp.minimum(size / self.scale, _FAR)
        s = t / jnp.sqrt(self.df + t * t)
        place = 2.0 * (1.0 + kappa) * s / (s + kappa) - 1.0
        log_j = _clenshaw(coefficients, place) - jnp.log1p(s / kappa)
        return jnp.where(jnp.isinf(size), -jnp.inf, log_j - 0.5 * self.df * jnp.log1p(t * t / self.df))

    @float64
    def overshoot(self, z: ArrayLike) -> jax.Array:
        """Return E[(z − e)⁺] for z ≤ 0 and E[(e − z)⁺] for z > 0: how far a draw lies beyond ``z`` on average."""
        size = jnp.abs(real(z))
        t = jnp.minimum(size / self.scale, _FAR)
        # In units of the scale, ∫_t^∞ x·f(x) dx = (ν + t²)·f(t)/(ν − 1).
        unit = self.scale * (self.df + t * t) / (self.df - 1.0)
        beyond = jnp.exp(self.log_density(t * self.scale) + jnp.log(unit))
        return jnp.where(t < _FAR, self.scale * (beyond - t * jnp.exp(self._log_lower(size))), 0.0)

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds, by Bailey's polar formula [1]_.

        References
        ----------
        .. [1] R. W. Bailey, "Polar generation of random variates with the t-distribution",
           Mathematics of Computation 62(206), 1994.
        """
        first = source.uniform(Purpose.NOISE, (rounds,), start)
        second = source.uniform(Purpose.NOISE_AUXILIARY, (rounds,), start)
        radius = jnp.sqrt(self.df * jnp.expm1(-2.0 / self.df * jnp.log(first)))
        return self.scale * radius * jnp.cos(2.0 * math.pi * second)


def _lower(df: float) -> Lower:
    kappa = 1.5 / math.sqrt(df)
    cosines = np.cos(math.pi * (np.arange(_TERMS) + 0.5) / _TERMS)
    places = 0.5 * (cosines + 1.0) / (1.0 + kappa)
    s = kappa * places / (1.0 - places)
    constant = 0.5 / _integral(np.zeros(1), df)[0]
    wanted = np.log(constant * _integral(s, df)) + np.log1p(s / kappa)
    return Lower(constant, kappa, np.polynomial.chebyshev.chebfit(cosines, wanted, _TERMS - 1))


def _integral(s: np.ndarray, df: float) -> np.ndarray:
    """Return J(s)/c by the double exponential rule, which tolerates the root at v = 0."""
    step = 2.0**-6
    k = np.arange(-4.6, 2.2, step)
    v = np.exp(0.5 * math.pi * np.sinh(k)) / df
    weights = step * 0.5 * math.pi * np.cosh(k) * v * np.exp(-df * v)
    square = s[:, None] ** 2
    return np.sum(weights / np.sqrt(square - (1.0 - square) * np.expm1(-2.0 * v)), axis=1)


def _clenshaw(coefficients: Array, x: jax.Array) -> jax.Array:
    """Return Σ_k a_k T_k(x)."""
    high, higher = jnp.zeros_like(x), jnp.zeros_like(x)
    for k in range(_TERMS - 1, 0, -1):
        high, higher = coefficients[k] + 2.0 * x * high - higher, high
    return coefficients[0] + x * high - higher
