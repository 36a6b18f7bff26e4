"""What every kind of satisfaction levels offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.random_numbers import Source
from hrprob._core.registry import Registry
from hrprob.noise import Noise

__all__ = ["LEVELS", "Satisfaction", "SeenLevels", "register", "shape_of"]


class Satisfaction(Protocol):
    """What the engine and the policies ask of a kind of satisfaction levels."""

    kind: ClassVar[str]
    seen: ClassVar[bool]
    """Whether a user's level is seen on arrival."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        ...

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        ...

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the level in some rounds, from round ``start`` on: ``beta`` where it is kept."""
        ...

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the expected lifetime under one action, given what is seen of the level."""
        ...

    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability that a round of this user, whose level is ``beta``, is the last."""
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


class SeenLevels:
    """What levels share that are drawn once, kept, and seen."""

    seen: ClassVar[bool] = True

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return β: it is kept."""
        return beta

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return h."""
        return lifetime.h(u, w, beta, noise)

    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability of an outcome below β."""
        return lifetime.reneging_probability(u, w, beta, noise)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Nothing to check: whoever sees that a user will never leave may count on it."""


def shape_of(source: Source) -> tuple[int, ...]:
    """Return the shape (users, trials) of what is drawn for a source."""
    return (*source.users.shape, *source.keys[0].shape)
