"""What stands in place of an engine where draws were made by another program."""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob._core.errors import InvalidInput
from hrprob._core.records import record
from hrprob._core.types import PyTree
from hrprob.estimation.posterior.base import BatchEngine
from hrprob.estimation.posterior.target import Target
from hrprob.observations import Data

__all__ = ["ForeignDraws"]


@record()
class ForeignDraws(BatchEngine):
    """Draws that no engine of hrprob made: they are summarised as chains are, and nothing is fitted again."""

    kind: ClassVar[str] = "foreign"
    refits: ClassVar[bool] = False
    library: ClassVar[str] = "unknown"

    def fit(self, target: Target, data: Data, key: jax.Array, start: PyTree = None) -> PyTree:
        """Refuse: what made the draws is not known."""
        remedy = "the draws come from elsewhere; fit with one of hrprob's engines"
        raise InvalidInput("engine", "must be able to fit", self.kind, remedy)
