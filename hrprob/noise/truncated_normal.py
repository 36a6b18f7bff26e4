r"""Bounded noise: a normal distribution cut at ± ``width`` of its standard deviations, standardised.

A hard cut has no gradient: an outcome model whose cuts move with θ and φ breaks
gradient-based samplers. The cut may therefore be an edge of a small thickness τ
(``edge``, in the same units; 0 is a hard cut). With e before standardisation,

.. math:: \psi(e) \propto \begin{cases} \exp(-e^2/2) & |e| \le b \\
    \exp\!\big(-e^2/2 - (|e|-b)^2/2\tau^2\big) & |e| > b \end{cases}

which is smooth to first order. Beyond b it is a piece of a normal density of mean c
and standard deviation q,

.. math:: q^2 = \frac{\tau^2}{1+\tau^2}, \qquad c = (1-q^2)\,b, \qquad
    \psi(e) \propto e^{-(1-q^2)b^2/2}\, \exp\!\big(-(|e|-c)^2/2q^2\big),

so that masses and moments are in closed form. At b = 3 and τ = 0.05, 0.06 % of the mass lies beyond the cut.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jax.typing import ArrayLike

from hrprob._core.errors import check_number
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import Number
from hrprob.noise.base import Tailed, compiled, real, register
from hrprob.noise.normal import NORMAL

__all__ = ["TruncatedNormal"]

# Below _LEAST it is uniform and above _MOST normal, to the last digit; squares of its parameters must not overflow.
_LEAST, _MOST = 1e-6, 1e6
# Integrals are split at these multiples of the edge from the lower cut.
_TURNS = (-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Gauss-Legendre on [-1, 1]: over the short intervals where it is used, exact to 1e-16.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class Shape(NamedTuple):
    """Masses and moments for given width and edge, computed once."""

    q: jax.Array  # sd of the normal piece beyond the cut
    centre: jax.Array  # c, its mean
    beyond: jax.Array  # mass beyond the cut on one side, where exp(-e²/2)/√2π has mass 1
    half: jax.Array  # mass on one side of 0
    sd: jax.Array  # standard deviation of e


@register("truncated-normal")
class TruncatedNormal(Tailed):
    """A normal distribution cut at a number of its standard deviations, standardised.

    If the outcomes of an action cannot fall below β, the user never leaves: Ψ is 0 and the
    expected lifetime infinite.

    Parameters
    ----------
    width : float
        b, where the normal distribution is cut on both sides, in its own standard deviations;
        from 1e-6, where it is uniform, to 1e6.
    edge : float
        τ, the thickness of the cut, in the same units, at most 1e6.

    Examples
    --------
    >>> TruncatedNormal(width=2.0).reciprocal_cdf([-2.0, -2.3]).round(1).tolist()
    [57.8, inf]
    """

    kind: ClassVar[str]
    width: float = 3.0
    edge: float = 0.0
    shape: Shape = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_frozen(
            self,
            width=check_number("width", self.width, low=_LEAST, high=_MOST, remedy="it is where the cut is"),
            edge=check_number("edge", self.edge, low=0, high=_MOST, remedy="it is the thickness of the cut"),
        )
        set_frozen(self, shape=_shape(self.width, self.edge))

    @property
    def symmetric(self) -> bool:
        """True."""
        return True

    @property
    def tail(self) -> Number:
        """The sd of the normal piece beyond the cut; 0 if the cut is hard."""
        return self.shape.q / self.shape.sd

    @property
    def tail_centre(self) -> Number:
        """The mean of the normal piece below the lower cut."""
        return -self.shape.centre / self.shape.sd

    @property
    def corners(self) -> tuple[Number, ...]:
        """The two cuts; the upper one at most 9, above which Ψ rounds to 1."""
        cut = self.width / self.shape.sd
        return -cut, jnp.minimum(cut, 9.0)

    @property
    def turns(self) -> tuple[Number, ...]:
        """Points about the lower cut, at multiples of the edge."""
        return tuple((k * self.edge - self.width) / self.shape.sd for k in _TURNS)

    @property
    def lowest(self) -> Number:
        """The lower cut if it is hard; else −∞."""
        return -self.width / self.shape.sd if self.edge == 0 else -math.inf

    @property
    def sub_gaussian_scale(self) -> float:
        """Exactly 1, the standard deviation, whatever width and edge.

        ψ = exp(−V) with V even and V' convex above 0, so the third derivative of ln E exp(se) is at most 0 for
        s ≥ 0 (the GHS inequality [1]_): the second one is largest at s = 0, where it is the variance, 1.

        References
        ----------
        .. [1] R. S. Ellis, J. L. Monroe, C. M. Newman, "The GHS and other correlation inequalities for a
           class of even ferromagnets", Communications in Mathematical Physics 46, 1976.
        """
        return 1.0

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        e = z * self.shape.sd
        over = jnp.maximum(jnp.abs(e) - self.width, 0.0)
        # With an edge of 0 this is infinite beyond the cut, and the density 0.
        over = jnp.where(over > 0.0, over / jnp.maximum(self.edge, 1e-300), 0.0)
        scale = jnp.log(0.5 * self.shape.sd / self.shape.half)
        return -0.5 * (e * e + over * over) - _LOG_SQRT_2PI + scale

    def probability(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        lower = self._lower(-jnp.abs(z))
        return jnp.where(z > 0.0, 1.0 - lower, lower)

    def log_probability(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        lower = self._lower(-jnp.abs(z))
        below = jnp.where(z * self.shape.sd < -self.width, self._log_edge(z), jnp.log(lower))
        return jnp.where(z > 0.0, jnp.log1p(-lower), below)

    @float64
    def overshoot(self, z: ArrayLike) -> jax.Array:
        """Return E[(z − e)⁺] for z ≤ 0 and E[(e − z)⁺] for z > 0: how far a draw lies beyond ``z`` on average."""
        q, centre, beyond, half, sd = self.shape
        e = -jnp.abs(real(z)) * sd
        safe = jnp.maximum(q, 1e-300)
        piece = jnp.exp(_log_of_piece(q, self.width)) * q
        edge = piece * NORMAL.overshoot((jnp.minimum(e, -self.width) + centre) / safe)
        inside = jnp.clip(e, -self.width, 0.0)
        within = (inside + self.width) * beyond + _moment_above(-self.width, inside)
        return (edge + within) / (2.0 * half * sd)

    def _lower(self, z: jax.Array) -> jax.Array:
        """Return Ψ(z) for z ≤ 0, with a small relative error however small it is."""
        e = z * self.shape.sd
        within = (self.shape.beyond + _mass_above(-self.width, e)) / (2.0 * self.shape.half)
        return jnp.where(e < -self.width, jnp.exp(self._log_edge(z)), within)

    def _log_edge(self, z: jax.Array) -> jax.Array:
        """Return ln Ψ(z) below the lower cut; −∞ if the cut is hard."""
        q, centre, *_ = self.shape
        place = (z * self.shape.sd + centre) / jnp.maximum(q, 1e-300)
        return _log_of_piece(q, self.width) + NORMAL.log_cdf(place) - jnp.log(2.0 * self.shape.half)

    @float64
    def quantile(self, probability: jax.Array) -> jax.Array:
        """Return z with Ψ(z) = ``probability``, in (0, 1)."""
        q, centre, beyond, half, sd = self.shape
        mass = 2.0 * half * jnp.minimum(probability, 1.0 - probability)
        within = ndtri(NORMAL.cdf(-self.width) + jnp.maximum(mass - beyond, 0.0))
        piece = jnp.exp(_log_of_piece(q, self.width))
        edge = q * ndtri(jnp.clip(mass / jnp.maximum(piece, 1e-300), 0.0, 0.5)) - centre
        e = jnp.where(mass < beyond, edge, within)
        return jnp.where(probability < 0.5, e, -e) / sd

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds."""
        return self.quantile(source.uniform(Purpose.NOISE, (rounds,), start))


@float64
@compiled
def _shape(b: jax.Array, edge: jax.Array) -> Shape:
    q = edge / jnp.sqrt(1.0 + edge**2)
    centre = (1.0 - q * q) * b
    beyond = jnp.exp(_log_of_piece(q, b)) * NORMAL.cdf(-b * q)
    # Mean and variance of the piece above b, by its hazard there.
    hazard = jnp.exp(NORMAL.log_pdf(b * q) - NORMAL.log_cdf(-b * q))
    mean, variance = centre + q * hazard, q * q * (1.0 + b * q * hazard - hazard**2)
    # With a narrow cut these differences lose all their digits.
    narrow, inside = b < 1.0, 0.5 - NORMAL.cdf(-b)
    mass = jnp.where(narrow, _short_integral(-b, 0.0, 0), inside)
    second = jnp.where(narrow, _short_integral(-b, 0.0, 2), inside - b * NORMAL.pdf(b))
    half = mass + beyond
    return Shape(q, centre, beyond, half, jnp.sqrt((second + beyond * (variance + mean**2)) / half))


def _log_of_piece(q: Number, b: Number) -> jax.Array:
    """Return the logarithm of the mass of the whole normal density of which the part beyond the cut is a piece."""
    return jnp.log(q) - 0.5 * (1.0 - q * q) * b * b


def _mass_above(low: Number, e: jax.Array) -> jax.Array:
    """Return Φ(e) − Φ(low), by quadrature where the difference loses its digits."""
    near = low + jnp.minimum(1.0, -1.0 / low)
    short = _short_integral(low, jnp.clip(e, low, near), 0)
    return jnp.where(e < near, short, NORMAL.cdf(e) - NORMAL.cdf(low))


def _moment_above(low: Number, e: jax.Array) -> jax.Array:
    """Return ∫ (e − t)·φ(t) dt from ``low`` to ``e``, by quadrature where a difference loses its digits."""
    near = low + jnp.minimum(1.0, -1.0 / low)
    inner = jnp.clip(e, low, near)
    half = 0.5 * (inner - low)
    each = (
        w * (1.0 - node) * NORMAL.pdf(low + half * (1.0 + node))
        for node, w in zip(_NODES, _WEIGHTS, strict=True)
    )
    short = half**2 * sum(each)
    whole = e * (NORMAL.cdf(e) - NORMAL.cdf(low)) + NORMAL.pdf(e) - NORMAL.pdf(low)
    return jnp.where(e < near, short, whole)


def _short_integral(low: Number, high: Number, power: int) -> jax.Array:
    """Return ∫ e^power φ(e) de over a short interval."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    places = [middle + half * node for node in _NODES]
    return half * jnp.asarray(
        sum(w * NORMAL.pdf(e) * e**power for w, e in zip(_WEIGHTS, places, strict=True))
    )
