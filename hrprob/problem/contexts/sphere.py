"""Contexts uniform on the unit sphere: standard normal vectors, divided by their norms."""

from __future__ import annotations

import jax

from hrprob._core.types import PyTree
from hrprob.problem.contexts.base import NormalVectors, register, unit

__all__ = ["Sphere"]


@register("sphere")
class Sphere(NormalVectors):
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

    def arrange(self, vectors: jax.Array, more: PyTree) -> jax.Array:
        """Return the vectors, each divided by its norm."""
        return unit(vectors)
