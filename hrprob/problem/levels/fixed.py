"""The same level for every user."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_number
from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen
from hrprob.problem.levels.base import SeenLevels, register, users_and_trials

__all__ = ["FixedLevels"]


@register("fixed")
class FixedLevels(SeenLevels):
    """The same level for every user.

    Parameters
    ----------
    level : float
        β, a finite number.

    Examples
    --------
    >>> FixedLevels(0.5).support
    (0.5, 0.5)
    """

    kind: ClassVar[str]
    level: float = 0.0

    def __post_init__(self) -> None:
        remedy = 'for β = ∞ take the kind "infinite"'
        set_frozen(self, level=check_number("level", self.level, remedy=remedy))

    @property
    def support(self) -> tuple[float, float]:
        """The level, twice."""
        return self.level, self.level

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return jnp.full(users_and_trials(source), self.level)
