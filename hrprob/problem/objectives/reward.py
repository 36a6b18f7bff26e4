"""The total reward over a stay: g = u."""

from __future__ import annotations

from typing import ClassVar

from hrprob._core.types import Numbers
from hrprob.noise import Noise
from hrprob.problem.objectives.base import register

__all__ = ["Reward"]


@register("reward")
class Reward:
    """The total reward over a stay, ĥ = u·h.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> Reward().earning(0.3, 2.0, NORMAL)
    0.3
    """

    kind: ClassVar[str]
    unit: ClassVar[str] = "reward"

    def earning(self, u: Numbers, w: Numbers, noise: Noise) -> Numbers:
        """Return the mean outcome."""
        return u
