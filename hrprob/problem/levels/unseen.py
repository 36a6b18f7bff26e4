"""What levels share that no policy sees."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import Source
from hrprob._core.records import record
from hrprob.noise import Noise
from hrprob.problem.levels.base import LEVELS
from hrprob.problem.levels.uniform import UniformLevels

__all__ = ["UnseenLevels", "highest_floor", "lowest_outcome"]

# More levels than these make a sum too long to take for every action of every user.
_MOST_LEVELS = 1000


def _check_distribution(of: Any) -> None:
    if isinstance(of, type) or not hasattr(of, "nodes"):
        remedy = (
            "levels are averaged over: uniform, normal or empirical ones; "
            'for one level take { kind = "empirical", levels = [x] }'
        )
        raise InvalidInput("of", "must be a distribution of levels", of, remedy)
    count = len(of.levels) if hasattr(of, "levels") else 0
    if count > _MOST_LEVELS:
        remedy = "every action of every user is averaged over all of them; thin them out, or bin them"
        raise InvalidInput("of", f"must have at most {_MOST_LEVELS} levels", count, remedy)


@record()
class UnseenLevels:
    """Levels that no policy sees; what it knows is how they are distributed."""

    seen: ClassVar[bool] = False
    PARTS: ClassVar[dict[str, Any]] = {"of": LEVELS}
    of: Any = UniformLevels()

    def __post_init__(self) -> None:
        _check_distribution(self.of)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.of.support

    def draw(self, source: Source) -> jax.Array:
        """Return the levels on arrival, shape (users, trials)."""
        return self.of.draw(source)


def lowest_outcome(noise: Noise, u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return what no outcome of mean ``u`` and variance ``w`` falls below."""
    spread = np.sqrt(w)
    return u + np.where(spread > 0, float(noise.lowest) * np.where(spread > 0, spread, 1.0), 0.0)


def highest_floor(noise: Noise, u: np.ndarray, w: np.ndarray) -> float:
    """Return the largest level that no outcome of some action falls below."""
    return float(np.max(lowest_outcome(noise, u, w)))
