"""Base of levels that no policy sees: policies know only their distribution (Remark 6 of the paper).

==========  ========================  =====================================================
kind        a user's level            value of an action that earns g per round
==========  ========================  =====================================================
hidden      drawn once and kept       g · E_β[h_β(u, w)]
redrawn     drawn every round         g / E_β[Ψ((β − u)/√w)]
==========  ========================  =====================================================

The two differ much: a user who never leaves makes E_β[h_β] infinite, but lowers E_β[Ψ] only by that user's share.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import Source
from hrprob._core.records import record
from hrprob.noise import Noise
from hrprob.problem.levels.base import LEVELS
from hrprob.problem.levels.distribution import LevelDistribution
from hrprob.problem.levels.uniform import UniformLevels

__all__ = ["UnseenLevels", "highest_floor", "lowest_outcome"]

# A sum over more levels takes too long, for it is computed for every action of every user.
_MOST_LEVELS = 1000


@record()
class UnseenLevels:
    """Levels that no policy sees; policies know how they are distributed."""

    seen: ClassVar[bool] = False
    value_is_mean: ClassVar[bool] = False
    PARTS: ClassVar[dict[str, object]] = {"of": LEVELS}
    of: LevelDistribution = UniformLevels()

    def __post_init__(self) -> None:
        _check_distribution(self.of)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.of.support

    def evaluations(self, noise: Noise) -> int:
        """Return how often Ψ is evaluated for the value of one action: once, where the average has a closed form."""
        return 1

    def predicted_reneging(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that the first round is the last one, on average over levels; ``beta`` is not used."""
        return self.of.mean_reneging_probability(u, w, noise)

    def draw(self, source: Source) -> jax.Array:
        """Return the levels on arrival, of shape (users, trials)."""
        return self.of.draw(source)


def lowest_outcome(noise: Noise, u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the least possible outcome of mean ``u`` and variance ``w``; −∞ if outcomes are unbounded."""
    sd = np.sqrt(w)
    return u + np.where(sd > 0, float(noise.lowest) * np.where(sd > 0, sd, 1.0), 0.0)


def highest_floor(noise: Noise, u: np.ndarray, w: np.ndarray) -> float:
    """Return the largest of the lowest outcomes of several actions: a user with a level below it may never leave."""
    return float(np.max(lowest_outcome(noise, u, w)))


def _check_distribution(of: object) -> None:
    if not isinstance(of, LevelDistribution):
        remedy = (
            "values are averaged over it: take uniform, normal or empirical levels; "
            'for one level take { kind = "empirical", levels = [x] }'
        )
        raise InvalidInput("of", "must be a distribution of levels", of, remedy)
    count = len(of.nodes().levels)
    if count > _MOST_LEVELS:
        remedy = (
            "the value of every action of every user is a mean over all of them; thin them out, or bin them"
        )
        raise InvalidInput("of", f"must have at most {_MOST_LEVELS} levels", count, remedy)
