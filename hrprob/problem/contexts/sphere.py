"""Contexts uniform on the unit sphere: standard normal vectors, divided by their norms."""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.problem.contexts.base import check_actions, register, unit

__all__ = ["Sphere"]


@register("sphere", static=("actions",))
class Sphere:
    """Contexts uniform on the unit sphere, as in the released program.

    Parameters
    ----------
    actions : int
        How many actions a user has.

    Examples
    --------
    >>> Sphere(actions=20).actions
    20
    """

    kind: ClassVar[str]
    actions: int = 20

    def __post_init__(self) -> None:
        set_frozen(self, actions=check_actions(self.actions))

    def check_dimension(self, dimension: int) -> None:
        """Accept any dimension."""

    def draw(self, source: Source, dimension: int) -> jax.Array:
        """Return standard normal vectors; a direction needs neither their last bits nor their far tails."""
        return source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension))

    def place(self, drawn: jax.Array) -> jax.Array:
        """Return the vectors, each divided by its norm."""
        return unit(drawn)
