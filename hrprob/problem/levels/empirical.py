"""Levels drawn uniformly from a list or a file: their empirical distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import check_vector
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import AsWritten
from hrprob.lifetime import Nodes
from hrprob.problem.files import read_levels
from hrprob.problem.levels.base import register
from hrprob.problem.levels.distribution import LevelDistribution

__all__ = ["EmpiricalLevels"]


@register("empirical")
class EmpiricalLevels(LevelDistribution):
    """Levels drawn uniformly from a list, or from a file of one column.

    Parameters
    ----------
    levels : list of numbers, or path
        The levels; one that occurs twice is twice as likely. A file is a CSV with the one column
        beta.

    Examples
    --------
    >>> EmpiricalLevels([0.5, -1.0, 0.5]).support
    (-1.0, 0.5)
    """

    kind: ClassVar[str]
    FILES: ClassVar[tuple[str, ...]] = ("levels",)
    levels: Annotated[AsWritten, "ArrayLike | str | Path"]

    def __post_init__(self) -> None:
        remedy = "give some levels, or the path of a CSV file with the column beta"
        from_file = isinstance(self.levels, str | Path)
        levels = read_levels("levels", self.levels) if from_file else self.levels
        set_frozen(self, levels=check_vector("levels", levels, remedy=remedy))

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return float(self.levels.min()), float(self.levels.max())

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        count = self.levels.shape[0]
        which = jnp.floor(source.uniform(Purpose.SATISFACTION, shape, start) * count).astype(jnp.int32)
        return jnp.asarray(self.levels)[which]

    def nodes(self) -> Nodes:
        """Return the levels themselves, each with weight 1/n."""
        count = self.levels.shape[0]
        return Nodes(self.levels, np.full(count, 1.0 / count), np.zeros(0), np.zeros(0))
