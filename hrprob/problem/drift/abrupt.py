"""A truth that jumps."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen
from hrprob.problem.drift.base import check_turns, check_users, elapsed, random_directions, register

__all__ = ["Abrupt"]


@register("abrupt")
class Abrupt:
    """θ* and φ* keep their norms and jump to independent, uniformly random directions after every ``every`` users.

    The first ``every`` users meet the truth of the problem; jumps differ between trials.

    Parameters
    ----------
    every : float
        How many users meet one truth, at least 1.

    Examples
    --------
    >>> Abrupt(every=5000.0).every
    5000.0
    """

    kind: ClassVar[str]
    every: float = 10000.0

    def __post_init__(self) -> None:
        remedy = "it is the number of users from jump to jump; leave `drift` out for a truth that stays"
        set_frozen(self, every=check_users("every", self.every, remedy))

    def check(self, dimension: int) -> None:
        """Raise unless there are directions to jump to."""
        check_turns(self.kind, dimension)

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return the number of jumps before each user, and the directions after the last."""
        jumps = jnp.floor(elapsed(source.users) / self.every)
        return jumps, random_directions(source, jumps, dimension)

    def truth(self, start: jax.Array, drawn: tuple[jax.Array, jax.Array], place: int) -> jax.Array:
        """Return the start for users before the first jump, and its length in the new direction after it."""
        jumps, directions = drawn
        start = start[:, None, None, None] if start.ndim == 1 else start[:, None, None]
        new = jnp.moveaxis(directions[:, place], 1, 0)[:, :, None]  # (d, users, 1, trials)
        length = jnp.sqrt(jnp.sum(start**2, axis=0))
        return jnp.where(jumps[:, None, None] > 0.0, length * new, start)
