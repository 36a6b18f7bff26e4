r"""Noise from two normal components: skewed, or with two peaks.

The standardised noise is N(m₁, s₁²) with probability p and N(m₂, s₂²) otherwise, where

.. math:: m_1 = -(1-p)\Delta,\quad m_2 = p\Delta,\quad s_1 = \rho s_2,\quad
    p s_1^2 + (1-p) s_2^2 = 1 - p(1-p)\Delta^2,

so that its mean is 0 and its variance 1 for every p, Δ and ρ.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import Number
from hrprob.noise.base import Tailed, real, register
from hrprob.noise.normal import NORMAL
from hrprob.noise.sub_gaussian import excess_exponential, largest_scale

__all__ = ["Mixture"]

# Beyond these ratios the narrower component is a point.
_LEAST_RATIO, _MOST_RATIO = 1e-6, 1e6
# How many standard deviations below a component its lower tail is overtaken by the other's: integrals are split there.
_TURNS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)


@register("mixture")
class Mixture(Tailed):
    """Two normal components, standardised.

    Parameters
    ----------
    weight : float
        p, the probability of the lower component, in (0, 1).
    gap : float
        Δ ≥ 0, from the lower mean to the upper, in standard deviations of the whole.
    ratio : float
        ρ, the lower component's standard deviation over the upper's, from 1e-6 to 1e6.

    Examples
    --------
    A rare component far below the rest: long stays end in one bad round.

    >>> noise = Mixture(weight=0.1, gap=2.5)
    >>> f"{noise.reciprocal_cdf(-2.0):.2f}, {NORMAL.reciprocal_cdf(-2.0):.2f}"
    '15.38, 43.96'
    """

    kind: ClassVar[str]
    weight: float = 0.3
    gap: float = 1.6
    ratio: float = 1.0

    def __post_init__(self) -> None:
        probability, distance, quotient = (
            "it is the probability of a component",
            "it is a distance",
            "it is a ratio of standard deviations",
        )
        set_frozen(
            self,
            weight=check_number(
                "weight", self.weight, low=0, high=1, open_low=True, open_high=True, remedy=probability
            ),
            gap=check_number("gap", self.gap, low=0, remedy=distance),
            ratio=check_number("ratio", self.ratio, low=_LEAST_RATIO, high=_MOST_RATIO, remedy=quotient),
        )
        most = (self.weight * (1.0 - self.weight)) ** -0.5
        if self.gap >= most:
            remedy = "at that gap the two means alone make a variance of 1"
            raise InvalidInput("gap", f"must be below {most:.4g}", self.gap, remedy)

    @property
    def tail(self) -> Number:
        """The standard deviation of the wider component."""
        return _wider(self)[0]

    @property
    def tail_centre(self) -> Number:
        """The mean of the wider component; the lower mean where both are equally wide."""
        return _wider(self)[1]

    @property
    def corners(self) -> tuple[Number, ...]:
        """The two means: Ψ has a step at a narrow component."""
        return self.components()[0]

    @property
    def turns(self) -> tuple[Number, ...]:
        """Points below each component, where the other component may take over."""
        return tuple(m - k * s for m, s in zip(*self.components(), strict=True) for k in _TURNS)

    @property
    def sharp_turns(self) -> tuple[Number, ...]:
        """All turns: one component takes over from the other within a few of its standard deviations."""
        return self.turns

    @property
    def sub_gaussian_scale(self) -> float:
        r"""The least R with E exp(se) ≤ exp(R²s²/2) for every s, from ln M in closed form.

        .. math:: M(s) = p\,e^{m_1 s + s_1^2 s^2/2} + (1-p)\,e^{m_2 s + s_2^2 s^2/2}

        Its square is at least that of the wider component's sd, the limit as s → ±∞.
        """
        weights, means, sds = (
            np.array(part, dtype=float) for part in zip(*self.normal_components(), strict=True)
        )
        within = float(np.sum(weights * sds**2))

        def log_mgf(s: np.ndarray) -> np.ndarray:
            exponent = means * s[:, None] + 0.5 * (sds * s[:, None]) ** 2
            top = np.max(exponent, axis=1)
            near = np.minimum(exponent, 1.0)
            # The means cancel exactly in Σ p·m, and what is left is a sum of positive terms.
            small = np.log1p(np.sum(weights * excess_exponential(near), axis=1) + 0.5 * within * s**2)
            large = top + np.log(np.sum(weights * np.exp(exponent - top[:, None]), axis=1))
            return np.where(top < 1.0, small, large)

        return largest_scale(log_mgf, limit=float(np.max(sds)) ** 2, most=1e4)

    @float64
    def components(self) -> tuple[tuple[Number, Number], tuple[Number, Number]]:
        """Return (m₁, m₂) and (s₁, s₂)."""
        p, gap = self.weight, self.gap
        within = 1.0 - p * (1.0 - p) * gap**2
        upper = jnp.sqrt(within / (p * self.ratio**2 + 1.0 - p))
        return (-(1.0 - p) * gap, p * gap), (self.ratio * upper, upper)

    def normal_components(self) -> tuple[tuple[Number, Number, Number], ...]:
        """Return weight, mean and sd of each component."""
        return tuple(zip((self.weight, 1.0 - self.weight), *self.components(), strict=True))

    def _standardised(self, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        (lower, upper), (narrow, wide) = self.components()
        return (z - lower) / narrow, (z - upper) / wide

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        sds = self.components()[1]
        probabilities = (self.weight, 1.0 - self.weight)
        each = (
            jnp.log(p / s) + NORMAL.log_pdf(e)
            for p, s, e in zip(probabilities, sds, self._standardised(z), strict=True)
        )
        return jnp.logaddexp(*each)

    def probability(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        first, second = self._standardised(z)
        return self.weight * NORMAL.cdf(first) + (1.0 - self.weight) * NORMAL.cdf(second)

    def log_probability(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        first, second = self._standardised(z)
        p = self.weight
        below = jnp.logaddexp(jnp.log(p) + NORMAL.log_cdf(first), jnp.log1p(-p) + NORMAL.log_cdf(second))
        # Where Ψ rounds to 1 its logarithm follows from the probability above.
        return jnp.where(z > 0.0, jnp.log1p(-self.survival(z)), below)

    @float64
    def survival(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw above ``z``, from the upper tails of the components."""
        first, second = self._standardised(real(z))
        return self.weight * NORMAL.cdf(-first) + (1.0 - self.weight) * NORMAL.cdf(-second)

    @float64
    def overshoot(self, z: ArrayLike) -> jax.Array:
        """Return E[(z − e)⁺] for z ≤ 0 and E[(e − z)⁺] for z > 0: how far a draw lies beyond ``z`` on average."""
        z, probabilities = real(z), (self.weight, 1.0 - self.weight)
        total = jnp.zeros_like(z)
        for p, m, s in zip(probabilities, *self.components(), strict=True):
            # A component's overshoot is measured away from its own mean, that of the whole away from 0.
            between = jnp.where(z > 0.0, jnp.maximum(m - z, 0.0), jnp.maximum(z - m, 0.0))
            total += p * (s * NORMAL.overshoot((z - m) / s) + between)
        return total

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds: which component, and a normal number in it."""
        (lower, upper), (narrow, wide) = self.components()
        normal = source.normal(Purpose.NOISE, (rounds,), start)
        first = source.uniform(Purpose.NOISE_AUXILIARY, (rounds,), start) < self.weight
        return jnp.where(first, lower + narrow * normal, upper + wide * normal)


@float64
def _wider(noise: Mixture) -> tuple[jax.Array, jax.Array]:
    """Return sd and mean of the wider component."""
    (lower, upper), (first, second) = noise.components()
    return jnp.maximum(first, second), jnp.where(second > first, upper, lower)
