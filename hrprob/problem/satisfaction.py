"""The satisfaction level β that a user arrives with and shows.

===========  ======================================================
kind         meaning
===========  ======================================================
uniform      β uniform on [low, high], as in the paper's simulation
fixed        every user has the same β
infinite     β = ∞: every user leaves after one round (Remark 7)
===========  ======================================================
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp

from hrprob.errors import InvalidInput, check_number
from hrprob.record import record, settle
from hrprob.source import Purpose, Source

__all__ = ["Fixed", "Infinite", "Satisfaction", "Uniform"]


class Satisfaction(Protocol):
    """What the engine asks of a kind of satisfaction levels."""

    kind: ClassVar[str]

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        ...

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        ...


@record()
class Uniform:
    """Levels uniform on [low, high].

    Examples
    --------
    >>> Uniform(low=-1.0, high=1.0).support
    (-1.0, 1.0)
    """

    kind: ClassVar[str] = "uniform"
    low: Any = -1.0
    high: Any = 1.0

    def __post_init__(self) -> None:
        low = check_number("low", self.low, remedy="it is the least satisfaction level")
        high = check_number("high", self.high, remedy="it is the largest satisfaction level")
        if high < low:
            raise InvalidInput("high", f"must be at least `low` = {low:g}", high, "swap the two")
        settle(self, low=low, high=high)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.low, self.high

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return self.low + (self.high - self.low) * source.uniform(Purpose.SATISFACTION)


@record()
class Fixed:
    """The same level for every user."""

    kind: ClassVar[str] = "fixed"
    level: Any = 0.0

    def __post_init__(self) -> None:
        remedy = 'for β = ∞ take the kind "infinite"'
        settle(self, level=check_number("level", self.level, remedy=remedy))

    @property
    def support(self) -> tuple[float, float]:
        """The level, twice."""
        return self.level, self.level

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return jnp.full(_shape(source), self.level)


@record()
class Infinite:
    """β = ∞: the ordinary contextual bandit, one round a user."""

    kind: ClassVar[str] = "infinite"

    @property
    def support(self) -> tuple[float, float]:
        """Infinity, twice."""
        return math.inf, math.inf

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return jnp.full(_shape(source), jnp.inf)


def _shape(source: Source) -> tuple[int, ...]:
    return (*source.users.shape, *source.keys[0].shape)
