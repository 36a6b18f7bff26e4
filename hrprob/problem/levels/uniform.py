r"""Levels uniform on an interval, as in the paper's simulation.

With S(z) the noise's ``overshoot`` (the mean by which a draw lies beyond z, away from 0), the probability of
reneging has the integral

.. math:: \int_{-\infty}^z \Psi = z^+ + S(z),

which keeps its digits in either tail. The integral of 1/Ψ is known for normal noise only
(``mean_reciprocal_cdf``). What a noise does not offer is integrated numerically.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.lifetime import Nodes
from hrprob.noise import Noise
from hrprob.problem.levels.base import register
from hrprob.problem.levels.distribution import LevelDistribution
from hrprob.problem.levels.quadrature import (
    double_exponential,
    evaluations_over_pieces,
    mean_and_sd,
    mean_over_pieces,
)

__all__ = ["UniformLevels"]


@register("uniform")
class UniformLevels(LevelDistribution):
    """Levels uniform on [low, high].

    Parameters
    ----------
    low, high : float
        The least and the largest level; they may be equal.

    Examples
    --------
    >>> UniformLevels(low=-1.0, high=1.0).support
    (-1.0, 1.0)
    """

    kind: ClassVar[str]
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low = check_number("low", self.low, remedy="it is the least satisfaction level")
        high = check_number("high", self.high, remedy="it is the largest satisfaction level")
        if high < low:
            raise InvalidInput("high", f"must be at least `low` = {low:g}", high, "swap the two")
        set_frozen(self, low=low, high=high)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.low, self.high

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        return self.low + (self.high - self.low) * source.uniform(Purpose.SATISFACTION, shape, start)

    def nodes(self) -> Nodes:
        """Return the distribution as a weighted sum, by the double exponential rule.

        Its nodes crowd at the ends: the lowest levels have the longest lifetimes, and where the variance is small
        these come from a few thousandths of the range.
        """
        places, weights = double_exponential()
        return Nodes(self.low + (self.high - self.low) * places, weights, np.zeros(0), np.zeros(0))

    def mean_lifetime(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[h], by the integral of 1/Ψ where the noise has it."""
        if hasattr(noise, "mean_reciprocal_cdf"):
            return self._lifetime_by_integral(u, w, noise.mean_reciprocal_cdf)
        turns = getattr(noise, "sharp_turns", ())
        return mean_over_pieces(
            lambda level: lifetime.h(u, w, level, noise), self.low, self.high, u, w, noise, turns=turns
        )

    def lifetime_evaluations(self, noise: Noise) -> int:
        """Return 1 where the noise has the integral of 1/Ψ, else the number of nodes in all pieces."""
        if hasattr(noise, "mean_reciprocal_cdf"):
            return 1
        return evaluations_over_pieces(noise, getattr(noise, "sharp_turns", ()))

    def mean_reneging_probability(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[Ψ], by the integral of Ψ where the noise has it."""
        if hasattr(noise, "overshoot"):
            return self._probability_by_integral(u, w, noise, noise.overshoot)
        return mean_over_pieces(
            lambda level: lifetime.reneging_probability(u, w, level, noise), self.low, self.high, u, w, noise
        )

    def _lifetime_by_integral(
        self, u: ArrayLike, w: ArrayLike, mean_reciprocal_cdf: Callable[[jax.Array, jax.Array], jax.Array]
    ) -> jax.Array:
        mean, sd = mean_and_sd(u, w)
        low, high = self.low - mean, self.high - mean
        safe = jnp.where(sd > 0.0, sd, 1.0)
        # Without a variance, users with a level below u stay for ever.
        certain = jnp.where(low < 0.0, jnp.inf, 1.0)
        return jnp.where(sd > 0.0, mean_reciprocal_cdf(low / safe, high / safe), certain)

    def _probability_by_integral(
        self, u: ArrayLike, w: ArrayLike, noise: Noise, overshoot: Callable[[jax.Array], jax.Array]
    ) -> jax.Array:
        mean, sd = mean_and_sd(u, w)
        low, high = self.low - mean, self.high - mean
        safe = jnp.where(sd > 0.0, sd, 1.0)

        def beyond(gap: jax.Array) -> jax.Array:
            return sd * overshoot(gap / safe)

        width = self.high - self.low
        integral = jnp.maximum(high, 0.0) - jnp.maximum(low, 0.0) + beyond(high) - beyond(low)
        # The difference over a very short range has hardly any correct digits; two Gauss nodes are then exact.
        short = width <= 1e-7 * jnp.maximum(sd, -low)
        two = self.low + width * (0.5 + np.array([-0.5, 0.5]) / math.sqrt(3.0))
        few = lifetime.mean_reneging_probability(
            u, w, Nodes(two, np.full(2, 0.5), np.zeros(0), np.zeros(0)), noise
        )
        return jnp.where(short, few, integral / jnp.where(width > 0.0, width, 1.0))
