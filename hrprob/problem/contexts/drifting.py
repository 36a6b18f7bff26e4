"""Contexts about a direction that turns from user to user, so that their distribution drifts."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.random_numbers import WARMUP_USERS, Source
from hrprob._core.records import set_frozen
from hrprob.problem.contexts.base import NormalVectors, register, unit
from hrprob.problem.sequences import position

__all__ = ["Drifting"]

# With a stronger pull all contexts agree to six digits.
_MOST_PULL = 1e6


@register("drifting")
class Drifting(NormalVectors):
    r"""Contexts on the unit sphere about a direction that turns.

    User t has contexts :math:`x \propto g + \text{pull} \cdot m_t`, g a standard normal vector and
    :math:`m_t` the unit vector at the angle 2π(t − 1)/period in the plane of the first two coordinates.

    Parameters
    ----------
    actions : int
        How many actions a user has.
    pull : float
        How close the contexts are to the direction, at most 1e6; with 0 they are uniform.
    period : float
        How many users one full turn takes, at least 1.

    Examples
    --------
    >>> Drifting(actions=5, period=2000.0).actions
    5
    """

    pull: float = 2.0
    period: float = 10000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        pull, period = "0 is no pull at all", "it is the number of users in one turn; with 1 nothing drifts"
        set_frozen(
            self,
            pull=check_number("pull", self.pull, low=0, high=_MOST_PULL, remedy=pull),
            period=check_number("period", self.period, low=1, remedy=period),
        )

    def check_dimension(self, dimension: int) -> None:
        """Raise unless there are two coordinates to turn in."""
        if dimension < 2:
            must = "must not drift in one dimension"
            raise InvalidInput("contexts.kind", must, self.kind, "it turns in the plane of two coordinates")

    def draw_more(self, source: Source) -> jax.Array:
        """Return the angle of each user, which is not random."""
        return position(source.users, WARMUP_USERS).astype(float) * (2.0 * math.pi / self.period)

    def arrange(self, vectors: jax.Array, more: jax.Array) -> jax.Array:
        """Return the vectors, pulled towards the direction and divided by their norms."""
        direction = jnp.zeros((more.shape[0], vectors.shape[2]))
        direction = direction.at[:, 0].set(jnp.cos(more)).at[:, 1].set(jnp.sin(more))
        return unit(vectors + self.pull * direction[:, None, :, None])
