"""The number of rounds with an outcome above a threshold: g = P(r > level)."""

from __future__ import annotations

from typing import ClassVar

from hrprob import lifetime
from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Numbers
from hrprob.noise import Noise
from hrprob.problem.objectives.base import register

__all__ = ["Threshold"]


@register("threshold")
class Threshold:
    """The number of rounds in a stay whose outcome exceeds ``level``.

    Parameters
    ----------
    level : float
        The threshold with which outcomes are compared; it has nothing to do with β.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> float(Threshold(level=0.3).earning(0.3, 2.0, NORMAL))
    0.5
    """

    kind: ClassVar[str]
    unit: ClassVar[str] = "rounds above"
    level: float = 1.0

    def __post_init__(self) -> None:
        set_frozen(self, level=check_number("level", self.level, remedy="outcomes are compared with it"))

    def earning(self, u: Numbers, w: Numbers, noise: Noise) -> Numbers:
        """Return the probability that an outcome exceeds the level, accurate however small it is."""
        return lifetime.staying_probability(u, w, self.level, noise)
