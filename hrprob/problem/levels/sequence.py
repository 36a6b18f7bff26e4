"""Levels of a list or a file, one per user, in their order."""

from __future__ import annotations

from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_vector
from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen, set_later
from hrprob._core.types import AsWritten
from hrprob.problem.files import read_levels
from hrprob.problem.levels.base import SeenLevels, register, users_and_trials
from hrprob.problem.sequences import describe_sequence, path_and_digest, position, repetition_note

__all__ = ["LevelSequence"]


@register("sequence", static=("sha256", "path"))
class LevelSequence(SeenLevels):
    """Levels that are given, one per user in their order; a short list begins again.

    Parameters
    ----------
    levels : list of numbers, or path
        The levels, or a CSV file with the one column beta; they are the same in all trials.
    sha256 : str, optional
        The file's SHA-256 digest, to make sure that it is this file.

    Examples
    --------
    >>> LevelSequence([-0.5, 0.1, 0.3]).levels.tolist()
    [-0.5, 0.1, 0.3]
    """

    kind: ClassVar[str]
    FILES: ClassVar[tuple[str, ...]] = ("levels",)
    levels: Annotated[AsWritten, "ArrayLike | str | Path"]
    sha256: str | None = None
    path: str | None = set_later()

    def __post_init__(self) -> None:
        path, digest = path_and_digest(self.levels, self.sha256)
        levels = self.levels if path is None else read_levels("levels", path)
        remedy = "give one level per user, or the path of a CSV file with the column beta"
        set_frozen(self, levels=check_vector("levels", levels, remedy=remedy), sha256=digest, path=path)

    def described(self) -> dict[str, object]:
        """Return the levels as plain data: by their file, if they come from one."""
        return describe_sequence("levels", self.levels, self.path, self.sha256)

    def begins_again(self, users: int) -> str | None:
        """Return a note if there are fewer than ``users`` levels, so that they repeat; else None."""
        return repetition_note("satisfaction.levels", self.levels, self.path, users)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return float(self.levels.min()), float(self.levels.max())

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        here = jnp.asarray(self.levels)[position(source.users, self.levels.shape[0])]
        return jnp.broadcast_to(here[:, None], users_and_trials(source))
