"""What every kind of drift offers: protocol, registry, and the steps that several kinds share."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source
from hrprob._core.registry import Registry
from hrprob._core.types import PyTree
from hrprob.problem.sequences import position

__all__ = ["DRIFTS", "Drift", "check_turns", "check_users", "elapsed", "random_directions", "register"]


class Drift(Protocol):
    """What the engine asks of a drift."""

    kind: ClassVar[str]

    def check(self, dimension: int) -> None:
        """Raise unless a truth of this dimension can drift so."""
        ...

    def draw(self, source: Source, dimension: int) -> PyTree:
        """Return the random numbers from which :meth:`truth` makes the truth of each user."""
        ...

    def truth(self, start: jax.Array, drawn: PyTree, place: int) -> jax.Array:
        """Return the truth of every user, (d, users, 1, trials or 1), from ``start`` (d,) or (d, trials).

        ``place`` is 0 for θ* and 1 for φ*.
        """
        ...


C = TypeVar("C", bound=type)

DRIFTS: Registry[Drift] = Registry(
    "drifts", field="drift", package="hrprob.problem.drift", requires=("check", "draw", "truth")
)
"""All kinds of drift."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a kind of drift, as :meth:`hrprob._core.registry.Registry.register` does."""
    return DRIFTS.register(kind, static=static)


def check_users(field: str, value: float, remedy: str) -> float:
    """Return a number of users, at least 1, or raise."""
    return check_number(field, value, low=1, remedy=remedy)


def check_turns(kind: str, dimension: int) -> None:
    """Raise unless there are two coordinates to turn in."""
    if dimension < 2:
        must = "must be a truth of at least two dimensions"
        raise InvalidInput("drift.kind", must, kind, "in one dimension nothing can turn")


def elapsed(users: jax.Array) -> jax.Array:
    """Return how many users came before each, as floats; a warm-up user meets the truth of the same place."""
    return position(users, WARMUP_USERS).astype(float)


def random_directions(source: Source, legs: jax.Array, dimension: int) -> jax.Array:
    """Return unit vectors (users, 2, d, trials) for θ* and φ*: one pair for each number in ``legs`` (users,) and trial."""
    of_leg = Source(source.keys, jnp.asarray(legs, jnp.uint32))
    vectors = of_leg.normal(Purpose.DRIFT, (2, dimension))
    return vectors / jnp.sqrt(jnp.sum(vectors**2, axis=2, keepdims=True))
