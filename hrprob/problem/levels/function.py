"""Levels from a function of one's own, ``function(key, user)``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.problem.functions import (
    TRIED_USERS,
    call_function,
    import_function,
    name_of,
    try_function,
    user_in_words,
)
from hrprob.problem.levels.base import SeenLevels, register

__all__ = ["LevelFunction"]


@register("function", static=("function",))
class LevelFunction(SeenLevels):
    """The level that a function gives to each user.

    Parameters
    ----------
    function : callable or str
        ``function(key, user)`` returns a level: a pure function in JAX's sense. In a
        configuration file, ``"module:name"``.
    low, high : float, optional
        Bounds of the levels, where they are known.

    Examples
    --------
    >>> import jax
    >>> levels = LevelFunction(lambda key, user: jax.random.uniform(key, minval=-1.0), low=-1.0, high=1.0)
    >>> levels.low, levels.high
    (-1.0, 1.0)
    """

    kind: ClassVar[str]
    function: Callable[..., ArrayLike]
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        set_frozen(self, function=import_function(self.function))
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                remedy = "it bounds the levels"
                set_frozen(self, **{name: check_number(name, getattr(self, name), remedy=remedy)})
        low, high = self.support
        if low > high:
            raise InvalidInput("high", f"must be at least `low` = {low:g}", high, "swap the two")
        remedy = "it is called as function(key, user) and must return one level"
        levels = try_function(self.function, remedy)
        if levels.ndim != 1:
            raise InvalidInput("function", "must return a number", levels[0], remedy)
        self.check_arrived(TRIED_USERS, levels[:, None])

    def check_arrived(self, users: np.ndarray, levels: np.ndarray) -> None:
        """Raise unless the levels (users, trials) of these users are finite and within the bounds."""
        low, high = self.support
        unfit = ~(np.isfinite(levels) & (levels >= low) & (levels <= high))
        if np.any(unfit):
            first = np.unravel_index(np.argmax(unfit), unfit.shape)
            remedy = (
                f"so it is for {user_in_words(users[first[0]])}; fix the function, or move `low` and `high`"
            )
            must = f"must return finite levels within [{low:g}, {high:g}]"
            raise InvalidInput("function", must, levels[first], remedy)

    def described(self) -> dict[str, object]:
        """Return it as plain data: the function by its name."""
        return {"function": name_of(self.function), "low": self.low, "high": self.high}

    @property
    def support(self) -> tuple[float, float]:
        """The bounds; infinite where none is known."""
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return call_function(self.function, source, Purpose.SATISFACTION)
