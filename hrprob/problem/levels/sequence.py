"""Levels of a file or an array, user after user."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_vector
from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen
from hrprob.problem.files import read_levels
from hrprob.problem.levels.base import SeenLevels, register
from hrprob.problem.sequences import described_sequence, origin, position, repeated

__all__ = ["LevelSequence"]


@register("sequence", static=("sha256", "path"))
class LevelSequence(SeenLevels):
    """The levels of one user after another.

    Parameters
    ----------
    levels : list of numbers, or path
        The levels, or a CSV file with the one column beta; all trials meet the same.
    sha256 : str, optional
        What the file's digest must be, where it must be this file.
    """

    kind: ClassVar[str]
    FILES: ClassVar[tuple[str, ...]] = ("levels",)
    levels: Any
    sha256: Any = None
    path: str | None = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path, digest = origin(self.levels, self.sha256)
        levels = self.levels if path is None else read_levels("levels", path)
        remedy = "give one level a user, or the path of a CSV file with the column beta"
        set_frozen(self, levels=check_vector("levels", levels, remedy=remedy), sha256=digest, path=path)

    def described(self) -> dict[str, Any]:
        """Return it as plain data: the file it came from, if it came from one."""
        return described_sequence("levels", self.levels, self.path, self.sha256)

    def begins_again(self, users: int) -> str | None:
        """Say so if there are fewer than so many levels; None if there are enough."""
        return repeated("satisfaction.levels", self.levels, self.path, users)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return float(self.levels.min()), float(self.levels.max())

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        here = jnp.asarray(self.levels)[position(source.users, self.levels.shape[0])]
        return jnp.broadcast_to(here[:, None], (*source.users.shape, *source.keys[0].shape))
