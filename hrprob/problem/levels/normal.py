"""Levels with a normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import numpy as np

from hrprob._core.errors import check_number
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.lifetime import Nodes
from hrprob.problem.levels.base import SeenLevels, register
from hrprob.problem.levels.quadrature import normal_nodes

__all__ = ["NormalLevels"]


@register("normal")
class NormalLevels(SeenLevels):
    """Levels with a normal distribution.

    Parameters
    ----------
    mean, deviation : float
        Its mean, and its standard deviation, above 0.
    """

    kind: ClassVar[str]
    mean: Any = 0.0
    deviation: Any = 0.5

    def __post_init__(self) -> None:
        remedy = 'it is a spread; for one level take { kind = "empirical", levels = [x] }'
        set_frozen(
            self,
            mean=check_number("mean", self.mean, remedy="it is the mean level"),
            deviation=check_number("deviation", self.deviation, low=0, open_low=True, remedy=remedy),
        )

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return -math.inf, math.inf

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        return self.mean + self.deviation * source.normal(Purpose.SATISFACTION, shape, start)

    def nodes(self) -> Nodes:
        """Return the distribution as a weighted sum: the trapezoidal rule in asinh of the standardised level.

        Where long lifetimes make the rare low levels count, their weights underflow and go by
        their logarithms.
        """
        places, log_weights = normal_nodes()
        far = int(np.sum(places < -8.0))
        levels = self.mean + self.deviation * places
        return Nodes(levels[far:], np.exp(log_weights[far:]), levels[:far], log_weights[:far])
