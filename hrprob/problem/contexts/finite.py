"""One of finitely many context sets, drawn uniformly for every user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import AsWritten
from hrprob.problem.contexts.base import check_contexts, register
from hrprob.problem.files import read_context_sets

__all__ = ["Finite"]


@register("finite")
class Finite:
    """One of finitely many context sets, drawn uniformly for every user.

    Parameters
    ----------
    sets : array_like, shape (sets, actions, d), or path
        The sets, or a CSV file with the columns context, action, x1, ..., xd.

    Examples
    --------
    >>> Finite([[[0.9, 0.0], [0.0, 0.9]]]).actions
    2
    """

    kind: ClassVar[str]
    FILES: ClassVar[tuple[str, ...]] = ("sets",)
    sets: Annotated[AsWritten, "ArrayLike | str | Path"]

    def __post_init__(self) -> None:
        sets = read_context_sets(self.sets) if isinstance(self.sets, str | Path) else self.sets
        set_frozen(self, sets=check_contexts("sets", sets, "set"))

    @property
    def finite_sets(self) -> np.ndarray:
        """The sets: every user has one of them."""
        sets: np.ndarray = self.sets
        return sets

    @property
    def actions(self) -> int:
        """How many actions every user has."""
        return int(self.sets.shape[1])

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the sets have this dimension."""
        if self.sets.shape[2] != dimension:
            raise InvalidInput(
                "contexts.sets",
                f"must hold vectors of {dimension} entries, as many as `theta`",
                self.sets.shape[2],
                "each row has one column x1, ..., xd for each entry of `theta`",
            )

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return the index of each user's set, and the sets."""
        which = jnp.floor(source.uniform(Purpose.CONTEXTS) * self.sets.shape[0]).astype(jnp.int32)
        return which, jnp.asarray(self.sets)

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the sets that were drawn."""
        which, sets = drawn
        return jnp.moveaxis(sets[which], 1, -1)
