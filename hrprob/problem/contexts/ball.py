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

    def draw_more(self, source: Source) -> jax.Array:
        """Return uniform numbers for the lengths."""
        return source.uniform(Purpose.RADII, (self.actions,))

    def arrange(self, vectors: jax.Array, more: jax.Array) -> jax.Array:
        """Return the directions with lengths U^(1/d)."""
        return unit(vectors) * (more ** (1.0 / vectors.shape[2]))[:, :, None]
