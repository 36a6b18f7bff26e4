"""What every kind of satisfaction levels offers: protocol, registry, and the base of those that are seen.

A new kind of levels is one file: a class decorated with :func:`register`, on the base

- :class:`SeenLevels` if a user's level is drawn once, kept and seen on arrival: it adds ``draw`` and ``support``;
- :class:`~hrprob.problem.levels.distribution.LevelDistribution` if the levels are also i.i.d. draws from a
  distribution that can be averaged over, so that they may be hidden or redrawn: it adds ``nodes`` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.random_numbers import Source
from hrprob._core.registry import Registry
from hrprob.noise import Noise

__all__ = ["LEVELS", "Satisfaction", "SeenLevels", "longest_stay", "register", "users_and_trials"]


class Satisfaction(Protocol):
    """What the engine and the policies ask of a kind of satisfaction levels.

    A kind under which no stay is longer than some number of rounds says so by ``longest_stay``; see :func:`longest_stay`.
    """

    kind: ClassVar[str]
    seen: ClassVar[bool]
    """Whether a user's level is kept and seen on arrival; :meth:`rounds` is then h at that level."""
    value_is_mean: ClassVar[bool]
    """Whether :meth:`rounds` is a mean over levels although each user keeps one: it then says nothing of the single user."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        ...

    def draw(self, source: Source) -> jax.Array:
        """Return the levels on arrival, of shape (users, trials)."""
        ...

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the level in each of ``rounds`` rounds from round ``start`` on, or ``beta`` itself if it is kept."""
        ...

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the expected lifetime under one action, given what is seen of the level."""
        ...

    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that a round is the last of a user whose level is ``beta``."""
        ...

    def predicted_reneging(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that the first round is the last one, given what is seen of the level."""
        ...

    def evaluations(self, noise: Noise) -> int:
        """Return how often Ψ is evaluated for the value of one action, which decides how long a run takes."""
        ...

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise unless :meth:`rounds` is finite for actions of these means and variances."""
        ...


C = TypeVar("C", bound=type)

LEVELS: Registry[Satisfaction] = Registry(
    "levels",
    field="satisfaction",
    package="hrprob.problem.levels",
    requires=("seen", "draw", "reneging_probability"),
)
"""All kinds of satisfaction levels."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a kind of levels, as :meth:`hrprob._core.registry.Registry.register` does."""
    return LEVELS.register(kind, static=static)


def longest_stay(levels: Satisfaction) -> float:
    """Return a number of rounds that no stay exceeds; infinity, if the levels name none.

    Examples
    --------
    >>> from hrprob.problem.levels import InfiniteLevels, UniformLevels
    >>> longest_stay(InfiniteLevels()), longest_stay(UniformLevels())
    (1.0, inf)
    """
    return float(getattr(levels, "longest_stay", math.inf))


class SeenLevels:
    """Base of levels that are drawn once, kept, and seen on arrival."""

    seen: ClassVar[bool] = True
    value_is_mean: ClassVar[bool] = False

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return β: it is kept."""
        return beta

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return h_β(u, w)."""
        return lifetime.h(u, w, beta, noise)

    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability of an outcome below β."""
        return lifetime.reneging_probability(u, w, beta, noise)

    def predicted_reneging(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that a round is the last one, given what is seen of the level."""
        return self.reneging_probability(u, w, beta, noise)

    def evaluations(self, noise: Noise) -> int:
        """Return how often Ψ is evaluated for the value of one action: once."""
        return 1

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Accept all: an infinite lifetime does no harm where the policy sees that the user will never leave."""


def users_and_trials(source: Source) -> tuple[int, ...]:
    """Return the shape (users, trials) of what is drawn once per user."""
    return (*source.users.shape, *source.keys[0].shape)
