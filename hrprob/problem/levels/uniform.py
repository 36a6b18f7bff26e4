"""Levels uniform on an interval, as in the paper."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.lifetime import Nodes
from hrprob.problem.levels.base import SeenLevels, register
from hrprob.problem.levels.quadrature import double_exponential

__all__ = ["UniformLevels"]


@register("uniform")
class UniformLevels(SeenLevels):
    """Levels uniform on [low, high].

    Examples
    --------
    >>> UniformLevels(low=-1.0, high=1.0).support
    (-1.0, 1.0)
    """

    kind: ClassVar[str]
    low: Any = -1.0
    high: Any = 1.0

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

        Its nodes crowd at the ends: that is where lifetimes are long, and within a few
        thousandths of the range where the variance is small.
        """
        places, weights = double_exponential()
        return Nodes(self.low + (self.high - self.low) * places, weights, np.zeros(0), np.zeros(0))
