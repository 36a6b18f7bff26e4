"""Contexts whose last coordinates are 0 for a while, so that nothing can be learned about them."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.random_numbers import WARMUP_USERS, Source
from hrprob._core.records import set_frozen
from hrprob.problem.contexts.base import NormalVectors, register, unit
from hrprob.problem.sequences import position

__all__ = ["Withholding"]


@register("withholding", static=("coordinates",))
class Withholding(NormalVectors):
    """Contexts on the unit sphere that withhold the last coordinates for a while.

    The contexts of the first ``users`` users have 0 as their last ``coordinates`` entries: whatever is
    served, nothing is learned about these. Later contexts are uniform on the whole sphere.

    Parameters
    ----------
    actions : int
        How many actions a user has.
    users : int
        For how many users it lasts.
    coordinates : int
        How many entries are withheld, fewer than d.

    Examples
    --------
    >>> Withholding(actions=5, users=1000, coordinates=1).coordinates
    1
    """

    users: int = 5000
    coordinates: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(
            self,
            users=check_count(
                "users", self.users, low=0, remedy="it is a number of users, from the first on"
            ),
            coordinates=check_count("coordinates", self.coordinates, remedy="something must be withheld"),
        )

    def check_dimension(self, dimension: int) -> None:
        """Raise unless some coordinate is not withheld."""
        if self.coordinates >= dimension:
            must = f"must be below {dimension}, the number of entries of `theta`"
            raise InvalidInput(
                "contexts.coordinates", must, self.coordinates, "some coordinate must not be withheld"
            )

    def draw_more(self, source: Source) -> jax.Array:
        """Return whether each user is an early one (warm-up users are)."""
        return position(source.users, WARMUP_USERS) < self.users

    def arrange(self, vectors: jax.Array, more: jax.Array) -> jax.Array:
        """Return the vectors without the withheld entries, divided by their norms."""
        shown = jnp.arange(vectors.shape[2]) < vectors.shape[2] - self.coordinates
        keep = jnp.where(more[:, None], shown, True)
        return unit(vectors * keep[:, None, :, None])
