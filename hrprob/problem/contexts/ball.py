"""Contexts uniform in the unit ball: a uniform direction times U^(1/d), U uniform."""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.problem.contexts.base import check_actions, register, unit

__all__ = ["Ball"]


@register("ball", static=("actions",))
class Ball:
    """Contexts uniform in the unit ball, as in the text of the paper.

    Parameters
    ----------
    actions : int
        How many actions a user has.

    Examples
    --------
    >>> Ball(actions=20).actions
    20
    """

    kind: ClassVar[str]
    actions: int = 20

    def __post_init__(self) -> None:
        set_frozen(self, actions=check_actions(self.actions))

    def check_dimension(self, dimension: int) -> None:
        """Accept any dimension."""

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return Gaussian vectors and uniform numbers for their lengths."""
        directions = source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension))
        return directions, source.uniform(Purpose.RADII, (self.actions,))

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the directions with lengths U^(1/d)."""
        directions, volume = drawn
        return unit(directions) * (volume ** (1.0 / directions.shape[2]))[:, :, None]
