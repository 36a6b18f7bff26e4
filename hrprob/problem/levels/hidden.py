r"""Levels that are drawn once per user and kept, and that no policy sees.

The expected lifetime under one action is the average :math:`\mathbb{E}_\beta[h_\beta(u, w)]`. It is infinite

- if outcomes are bounded and some level lies below all of them: such a user never leaves;
- if β is normal and its variance reaches w times that of the normal density which the noise falls like below
  (:attr:`~hrprob.noise.base.Noise.tail`): 1/Ψ then grows like exp(z²/2) in units of that density, and the normal
  density of z = (β − u)/√w falls no faster.

A problem in which this can happen is refused. What a policy *estimates* may be infinite.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob._core.records import describe
from hrprob.noise import Noise
from hrprob.noise.base import compiled
from hrprob.problem.levels.base import register
from hrprob.problem.levels.unseen import UnseenLevels, highest_floor

__all__ = ["HiddenLevels"]


@register("hidden")
class HiddenLevels(UnseenLevels):
    """Levels that are drawn once per user and kept, and that no policy sees.

    Parameters
    ----------
    of : LevelDistribution
        Their distribution, which policies know: UniformLevels, NormalLevels or EmpiricalLevels.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> from hrprob.problem import UniformLevels
    >>> f"{HiddenLevels(UniformLevels(-1.0, 1.0)).rounds(0.5, 2.0, math.nan, NORMAL):.4f}"
    '3.2223'
    """

    value_is_mean: ClassVar[bool] = True

    def evaluations(self, noise: Noise) -> int:
        """Return how often Ψ is evaluated for the value of one action: for every node of the average over β."""
        return self.of.lifetime_evaluations(noise)

    @property
    def needs_tail(self) -> bool:
        """Whether the average depends on how the noise falls far below; see ``tail`` of a noise."""
        return self.of.needs_tail

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return β: it is kept."""
        return beta

    @float64
    @compiled
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[h_β(u, w)]; ``beta`` is not used."""
        return self.of.mean_lifetime(u, w, noise)

    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability of an outcome below the user's own β."""
        return lifetime.reneging_probability(u, w, beta, noise)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise if E_β[h_β(u, w)] is infinite for any of these."""
        floor = highest_floor(noise, u, w)
        if math.isfinite(floor) and floor >= self.of.support[0]:
            remedy = (
                "some action's outcomes never fall below that, so some users would never leave and the expected "
                "lifetime would be infinite; raise the levels, take wider noise, or `redrawn`"
            )
            raise InvalidInput("of", f"must have all levels above {floor:.4g}", describe(self.of), remedy)
        self.of.check_mean_lifetime(noise, float(w.min()))
