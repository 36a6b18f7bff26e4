"""A truth that wanders from one random direction to the next."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.random_numbers import Source
from hrprob._core.records import set_frozen
from hrprob.problem.drift.base import check_turns, check_users, elapsed, random_directions, register

__all__ = ["Wandering"]

# Directions this close to opposite have no shortest arc between them.
_LEAST_SINE = 1e-9


@register("wandering")
class Wandering:
    """θ* and φ* keep their norms and go along great circles to a new random direction every ``leg`` users.

    The first leg begins at the truth of the problem; directions are independent, uniform, and differ
    between trials.

    Parameters
    ----------
    leg : float
        How many users one leg takes, at least 1. The average leg turns by a right angle.

    Examples
    --------
    >>> Wandering(leg=2000.0).leg
    2000.0
    """

    kind: ClassVar[str]
    leg: float = 5000.0

    def __post_init__(self) -> None:
        remedy = "it is the number of users from one direction to the next; leave `drift` out for a truth that stays"
        set_frozen(self, leg=check_users("leg", self.leg, remedy))

    def check(self, dimension: int) -> None:
        """Raise unless there are directions to go to."""
        check_turns(self.kind, dimension)

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Return the leg of each user, the share of it that is done, and the directions at both ends."""
        legs = elapsed(source.users) / self.leg
        number = jnp.floor(legs)
        first, last = (random_directions(source, number + step, dimension) for step in (0.0, 1.0))
        return number, legs - number, first, last

    def truth(
        self, start: jax.Array, drawn: tuple[jax.Array, jax.Array, jax.Array, jax.Array], place: int
    ) -> jax.Array:
        """Return the points on the arcs."""
        number, share, *ends = drawn
        share = share[:, None, None]
        start = start[:, None, None, None] if start.ndim == 1 else start[:, None, None]
        length = jnp.sqrt(jnp.sum(start**2, axis=0))
        first, last = (jnp.moveaxis(end[:, place], 1, 0)[:, :, None] for end in ends)  # (d, users, 1, trials)
        own = start / jnp.where(length > 0.0, length, 1.0)
        first = jnp.where(number[:, None, None] > 0.0, first, own)
        angle = jnp.arccos(jnp.clip(jnp.sum(first * last, axis=0), -1.0, 1.0))
        sine = jnp.maximum(jnp.sin(angle), _LEAST_SINE)
        return length * (jnp.sin((1.0 - share) * angle) * first + jnp.sin(share * angle) * last) / sine
