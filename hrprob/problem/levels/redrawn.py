r"""Levels that are drawn independently in every round, and that no policy sees.

Every round then ends the stay with the same probability :math:`\mathbb{E}_\beta[\Psi((\beta - u)/\sqrt w)]`,
and the expected lifetime is one over it.
"""

from __future__ import annotations

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob._core.records import describe
from hrprob.noise import Noise
from hrprob.noise.base import compiled
from hrprob.problem.levels.base import register
from hrprob.problem.levels.unseen import UnseenLevels, highest_floor

__all__ = ["RedrawnLevels"]


@register("redrawn")
class RedrawnLevels(UnseenLevels):
    """Levels that are drawn independently in every round, and that no policy sees.

    Parameters
    ----------
    of : LevelDistribution
        Their distribution, which policies know: UniformLevels, NormalLevels or EmpiricalLevels.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> from hrprob.problem import UniformLevels
    >>> f"{RedrawnLevels(UniformLevels(-1.0, 1.0)).rounds(0.5, 2.0, 0.0, NORMAL):.4f}"
    '2.6872'
    """

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the levels of some rounds (..., rounds, ...), from round ``start`` on."""
        return self.of.draw(source, (rounds,), start)

    @float64
    @compiled
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return one over the probability that a round is the last; ``beta`` is not used."""
        return self.of.redrawn_lifetime(u, w, noise)

    @float64
    @compiled
    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that a round is the last; ``beta`` is not used."""
        return self.of.mean_reneging_probability(u, w, noise)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise if some action has outcomes above all levels."""
        floor = highest_floor(noise, u, w)
        if floor >= self.of.support[1]:
            remedy = "some action's outcomes are above all levels, so nobody would ever leave; raise the levels, or take wider noise"
            raise InvalidInput("of", f"must have some level above {floor:.4g}", describe(self.of), remedy)
