"""A truth that turns at a constant rate."""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen
from hrprob.problem.drift.base import check_turns, check_users, elapsed, register

__all__ = ["Rotating"]


@register("rotating")
class Rotating:
    r"""θ* and φ* turn in the planes of coordinates 1 and 2, 3 and 4, and so on, by the angle 2π(t − 1)/period.

    With an odd number of coordinates the last one stays.

    Parameters
    ----------
    period : float
        How many users one full turn takes, at least 1.

    Examples
    --------
    >>> Rotating(period=5000.0).period
    5000.0
    """

    kind: ClassVar[str]
    period: float = 20000.0

    def __post_init__(self) -> None:
        remedy = "it is the number of users in one turn; leave `drift` out for a truth that stays"
        set_frozen(self, period=check_users("period", self.period, remedy))

    def check(self, dimension: int) -> None:
        """Raise unless there are two coordinates to turn in."""
        check_turns(self.kind, dimension)

    def draw(self, source: Source, dimension: int) -> jax.Array:
        """Return the angle (users,) of each user; nothing is random."""
        return elapsed(source.users) * (2.0 * math.pi / self.period)

    def truth(self, start: jax.Array, drawn: jax.Array, place: int) -> jax.Array:
        """Return the turned vectors."""
        cos, sin = jnp.cos(drawn)[:, None, None], jnp.sin(drawn)[:, None, None]
        d, rows = start.shape[0], []
        for j in range(0, d - 1, 2):
            one, two = start[j], start[j + 1]
            rows += [cos * one - sin * two, sin * one + cos * two]
        if d % 2:
            rows.append(start[d - 1] * jnp.ones_like(rows[0]))
        return jnp.stack(rows)
