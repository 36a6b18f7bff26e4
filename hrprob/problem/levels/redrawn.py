"""Levels that are drawn anew in every round, and that no policy sees."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob._core.records import describe
from hrprob.noise import Mixture, Noise, Normal
from hrprob.noise.base import compiled
from hrprob.problem.levels.averages import (
    over_pieces,
    probability_over_normal,
    probability_over_range,
)
from hrprob.problem.levels.base import register
from hrprob.problem.levels.normal import NormalLevels
from hrprob.problem.levels.uniform import UniformLevels
from hrprob.problem.levels.unseen import UnseenLevels, highest_floor

__all__ = ["RedrawnLevels"]


@register("redrawn")
class RedrawnLevels(UnseenLevels):
    """Levels that are drawn anew in every round, and that no policy sees.

    Parameters
    ----------
    of : UniformLevels, NormalLevels or EmpiricalLevels
        How they are distributed, which policies know.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> f"{RedrawnLevels(UniformLevels(-1.0, 1.0)).rounds(0.5, 2.0, 0.0, NORMAL):.4f}"
    '2.6872'
    """

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the levels of some rounds (..., rounds, ...), from round ``start`` on."""
        return self.of.draw(source, (rounds,), start)

    @float64
    @compiled
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return one over the probability that a round is the last; ``beta`` is not looked at."""
        if self._is_normal(noise):
            return lifetime.h(u, w + self.of.deviation**2, self.of.mean, noise)
        return 1.0 / self.reneging_probability(u, w, beta, noise)

    @float64
    @compiled
    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that a round is the last."""
        if self._is_normal(noise):
            return lifetime.reneging_probability(u, w + self.of.deviation**2, self.of.mean, noise)
        if isinstance(self.of, NormalLevels) and isinstance(noise, Mixture):
            # Of each component, outcome and level are both normal.
            return sum(
                p
                * lifetime.reneging_probability(
                    u + jnp.sqrt(w) * m, w * s**2 + self.of.deviation**2, self.of.mean
                )
                for p, m, s in zip((noise.weight, 1.0 - noise.weight), *noise.components(), strict=True)
            )
        if isinstance(self.of, UniformLevels) and hasattr(noise, "overshoot"):
            return probability_over_range(self.of, u, w, noise)
        if isinstance(self.of, UniformLevels):
            return over_pieces(
                lambda level: lifetime.reneging_probability(u, w, level, noise), *self.of.support, u, w, noise
            )
        if isinstance(self.of, NormalLevels):
            return probability_over_normal(self.of, u, w, noise)
        return lifetime.mean_reneging_probability(u, w, self.of.nodes(), noise)

    def _is_normal(self, noise: Noise) -> bool:
        """Say whether outcome and level are both normal, and so is their difference."""
        return isinstance(self.of, NormalLevels) and isinstance(noise, Normal)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise if no level can make anybody leave some action."""
        floor = highest_floor(noise, u, w)
        if floor >= self.of.support[1]:
            remedy = "some action's outcomes are above all levels, so nobody would ever leave; raise the levels, or take wider noise"
            raise InvalidInput("of", f"must have some level above {floor:.4g}", describe(self.of), remedy)
