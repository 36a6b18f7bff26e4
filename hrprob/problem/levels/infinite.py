"""β = ∞: every user leaves after one round, as in the ordinary contextual bandit (Remark 7 of the paper)."""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob.noise import Noise
from hrprob.problem.levels.base import SeenLevels, register, users_and_trials

__all__ = ["InfiniteLevels"]


@register("infinite")
class InfiniteLevels(SeenLevels):
    """β = ∞: the ordinary contextual bandit, one round per user.

    Examples
    --------
    Every user leaves after one round, and another objective decides:

    >>> import hrprob
    >>> hrprob.Problem(objective=hrprob.Reward(), satisfaction=InfiniteLevels()).satisfaction
    InfiniteLevels()
    """

    longest_stay: ClassVar[int] = 1

    @property
    def support(self) -> tuple[float, float]:
        """Infinity, twice."""
        return math.inf, math.inf

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return jnp.full(users_and_trials(source), jnp.inf)

    @float64
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return 1; ``beta`` is not used."""
        return jnp.ones(jnp.broadcast_shapes(jnp.shape(u), jnp.shape(w)))
