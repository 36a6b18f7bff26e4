"""Contexts uniform in the unit ball: a uniform direction times U^(1/d), U uniform."""

from __future__ import annotations

import jax

from hrprob._core.random_numbers import Purpose, Source
from hrprob.problem.contexts.base import NormalVectors, register, unit

__all__ = ["Ball"]


@register("ball")
class Ball(NormalVectors):
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

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return Gaussian vectors and uniform numbers for their lengths."""
        return self.vectors(source, dimension), source.uniform(Purpose.RADII, (self.actions,))

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the directions with lengths U^(1/d)."""
        directions, volume = drawn
        return unit(directions) * (volume ** (1.0 / directions.shape[2]))[:, :, None]
