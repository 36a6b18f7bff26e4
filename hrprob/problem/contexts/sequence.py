"""Contexts of an array or a file, one set per user, in their order."""

from __future__ import annotations

from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen, set_later
from hrprob._core.types import AsWritten
from hrprob.problem.contexts.base import check_contexts, register
from hrprob.problem.files import read_contexts
from hrprob.problem.sequences import describe_sequence, path_and_digest, position, repetition_note

__all__ = ["ContextSequence"]


@register("sequence", static=("sha256", "path"))
class ContextSequence:
    """Contexts that are given, one set per user in their order; a short sequence begins again.

    Parameters
    ----------
    users : array_like, shape (users, actions, d), or path
        The contexts, or a CSV file with the columns user, action, x1, ..., xd, users and
        actions numbered from 1. They are the same in all trials; noise and levels differ.
    sha256 : str, optional
        The file's SHA-256 digest, to make sure that it is this file.

    Examples
    --------
    >>> ContextSequence([[[0.9, 0.0], [0.0, 0.9]], [[0.5, 0.5], [0.1, 0.2]]]).actions
    2
    """

    kind: ClassVar[str]
    FILES: ClassVar[tuple[str, ...]] = ("users",)
    users: Annotated[AsWritten, "ArrayLike | str | Path"]
    sha256: str | None = None
    path: str | None = set_later()

    def __post_init__(self) -> None:
        path, digest = path_and_digest(self.users, self.sha256)
        users = self.users if path is None else read_contexts("users", path, "user")
        set_frozen(self, users=check_contexts("users", users, "user"), sha256=digest, path=path)

    def described(self) -> dict[str, object]:
        """Return the contexts as plain data: by their file, if they come from one."""
        return describe_sequence("users", self.users, self.path, self.sha256)

    @property
    def actions(self) -> int:
        """How many actions every user has."""
        return int(self.users.shape[1])

    @property
    def sets(self) -> np.ndarray:
        """All contexts, one set per user."""
        return self.users

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the contexts have this dimension."""
        if self.users.shape[2] != dimension:
            remedy = "each row has one column x1, ..., xd for each entry of `theta`"
            must = f"must hold vectors of {dimension} entries, as many as `theta`"
            raise InvalidInput("contexts.users", must, self.users.shape[2], remedy)

    def begins_again(self, users: int) -> str | None:
        """Return a note if there are contexts for fewer than ``users`` users, so that they repeat; else None."""
        return repetition_note("contexts.users", self.users, self.path, users)

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return the index of each user's contexts, and the contexts."""
        index = position(source.users, self.users.shape[0])[:, None]
        return jnp.broadcast_to(index, (*source.users.shape, *source.keys[0].shape)), jnp.asarray(self.users)

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the contexts at these indices."""
        which, users = drawn
        return jnp.moveaxis(users[which], 1, -1)
