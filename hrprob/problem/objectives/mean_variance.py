"""The total reward minus a price of risk: g = u − ρ·w."""

from __future__ import annotations

from typing import ClassVar

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Numbers
from hrprob.noise import Noise
from hrprob.problem.objectives.base import register

__all__ = ["MeanVariance"]


@register("mean-variance")
class MeanVariance:
    """The total reward over a stay, minus ``aversion`` per round and unit of variance.

    Parameters
    ----------
    aversion : float
        ρ ≥ 0, the price of a unit of variance; with 0 the value is the total reward.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> MeanVariance(aversion=0.1).earning(0.5, 2.0, NORMAL)
    0.3
    """

    kind: ClassVar[str]
    unit: ClassVar[str] = "reward minus risk"
    aversion: float = 0.1

    def __post_init__(self) -> None:
        remedy = "it is the price of a unit of variance"
        set_frozen(self, aversion=check_number("aversion", self.aversion, low=0, remedy=remedy))

    def earning(self, u: Numbers, w: Numbers, noise: Noise) -> Numbers:
        """Return u − ρ·w."""
        return u - self.aversion * w
