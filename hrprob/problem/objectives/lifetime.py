"""The expected lifetime h, the paper's objective: g = 1."""

from __future__ import annotations

from typing import ClassVar

from hrprob._core.types import Numbers
from hrprob.noise import Noise
from hrprob.problem.objectives.base import register

__all__ = ["Lifetime"]


@register("lifetime")
class Lifetime:
    """The expected lifetime h, the paper's objective.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> Lifetime().earning(0.3, 2.0, NORMAL)
    1.0
    """

    kind: ClassVar[str]
    unit: ClassVar[str] = "rounds"
    counts_rounds: ClassVar[bool] = True

    def earning(self, u: Numbers, w: Numbers, noise: Noise) -> Numbers:
        """Return 1: every round counts as one."""
        return 1.0
