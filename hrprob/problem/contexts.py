"""The contexts that a user arrives with: one vector of norm at most 1 an action.

A kind of contexts says how many actions there are and makes them in two steps:
``draw`` takes the random numbers from a :class:`~hrprob.source.Source`,
``place`` turns them into contexts. The steps are compiled apart, because a compiler
that sees both computes every random number anew for each of its uses.

Shapes are (users, actions, d, trials).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from hrprob.errors import InvalidInput, check_count
from hrprob.problem.files import read_context_sets
from hrprob.record import record, settle
from hrprob.source import Purpose, Source

__all__ = [
    "Ball",
    "Contexts",
    "Finite",
    "Sphere",
    "check_actions",
    "check_contexts",
    "too_long",
    "unit",
]

_TOLERANCE = 1e-9


class Contexts(Protocol):
    """What the engine asks of a kind of contexts."""

    kind: ClassVar[str]

    @property
    def actions(self) -> int:
        """How many actions every user has."""
        ...

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the contexts can have this dimension."""
        ...

    def draw(self, source: Source, dimension: int) -> Any:
        """Return the random numbers behind the contexts."""
        ...

    def place(self, drawn: Any) -> jax.Array:
        """Return the contexts (users, actions, d, trials) made of them."""
        ...


def check_actions(actions: Any) -> int:
    """Return a number of actions, or raise."""
    return check_count("actions", actions, remedy="a user needs at least one action to be served")


def unit(vectors: jax.Array) -> jax.Array:
    """Return vectors (users, actions, d, trials), each divided by its norm."""
    # Sum by components: a reduction over a middle axis would not be vectorised over the trials.
    squares = sum(vectors[:, :, j] ** 2 for j in range(vectors.shape[2]))
    # Kept apart: a root and a division made into one are rounded otherwise for one trial than for several.
    norm = jax.lax.optimization_barrier(jnp.sqrt(jnp.asarray(squares)))
    return vectors * (1.0 / norm)[:, :, None]


@record(static=("actions",))
class Sphere:
    """Contexts uniform on the unit sphere, as in the released program.

    Examples
    --------
    >>> Sphere(actions=20).actions
    20
    """

    kind: ClassVar[str] = "sphere"
    actions: int = 20

    def __post_init__(self) -> None:
        settle(self, actions=check_actions(self.actions))

    def check_dimension(self, dimension: int) -> None:
        """Any dimension will do."""

    def draw(self, source: Source, dimension: int) -> jax.Array:
        """Return Gaussian vectors; a direction does not need their last bits or far tails."""
        return source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension))

    def place(self, drawn: jax.Array) -> jax.Array:
        """Return the vectors, each divided by its norm."""
        return unit(drawn)


@record(static=("actions",))
class Ball:
    """Contexts uniform in the unit ball, as in the text of the paper."""

    kind: ClassVar[str] = "ball"
    actions: int = 20

    def __post_init__(self) -> None:
        settle(self, actions=check_actions(self.actions))

    def check_dimension(self, dimension: int) -> None:
        """Any dimension will do."""

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return Gaussian vectors and uniform numbers for their lengths."""
        directions = source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension))
        return directions, source.uniform(Purpose.RADII, (self.actions,))

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the directions with lengths U^(1/d)."""
        directions, volume = drawn
        return unit(directions) * (volume ** (1.0 / directions.shape[2]))[:, :, None]


@record(static=())
class Finite:
    """One of finitely many context sets, drawn uniformly for every user.

    Parameters
    ----------
    sets : array_like, shape (sets, actions, d), or path
        The sets, or a CSV file with the columns context, action, x1, ..., xd.

    Examples
    --------
    >>> Finite([[[0.9, 0.0], [0.0, 0.9]]]).actions
    2
    """

    kind: ClassVar[str] = "finite"
    sets: Any

    def __post_init__(self) -> None:
        sets = read_context_sets(self.sets) if isinstance(self.sets, str | Path) else self.sets
        settle(self, sets=check_contexts("sets", sets, "set"))

    @property
    def actions(self) -> int:
        """How many actions every user has."""
        return int(self.sets.shape[1])

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the sets have this dimension."""
        if self.sets.shape[2] != dimension:
            raise InvalidInput(
                "contexts.sets",
                f"must hold vectors of {dimension} entries, as many as `theta`",
                self.sets.shape[2],
                "each row has one column x1, ..., xd for each entry of `theta`",
            )

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return the number of each user's set, and the sets."""
        which = jnp.floor(source.uniform(Purpose.CONTEXTS) * self.sets.shape[0]).astype(jnp.int32)
        return which, jnp.asarray(self.sets)

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the sets that were drawn."""
        which, sets = drawn
        return jnp.moveaxis(sets[which], 1, -1)


def check_contexts(field: str, contexts: Any, row: str) -> np.ndarray:
    """Return contexts (sets or users, actions, d) as an array, or raise; a ``row`` is a set or a user."""
    must = f"must be an array ({row}s, actions, d) of numbers"
    remedy = f"give a list of {row}s, each a list of actions, each a list of d numbers"
    try:
        array = np.asarray(contexts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(field, must, contexts, remedy) from None
    if array.ndim != 3 or array.size == 0:
        raise InvalidInput(field, must, array.shape, remedy)
    if not np.all(np.isfinite(array)):
        raise InvalidInput(field, "must hold finite numbers only", "NaN or infinity", remedy)
    if np.any(too_long(array)):
        norms = _norms(array)
        where = tuple(int(i) + 1 for i in np.unravel_index(norms.argmax(), norms.shape))
        raise InvalidInput(
            field,
            "must hold vectors of norm at most 1",
            float(norms.max()),
            f"scale {row} {where[0]}, action {where[1]}; the theory bounds every context by 1",
        )
    return array


def too_long(contexts: np.ndarray) -> np.ndarray:
    """Say which contexts (..., d on the third axis, ...) do not have a norm of at most 1; those with NaN are among them."""
    return ~(_norms(contexts) <= 1.0 + _TOLERANCE)


def _norms(contexts: np.ndarray) -> np.ndarray:
    # What overflows is too long.
    with np.errstate(over="ignore"):
        return np.linalg.norm(contexts, axis=2)
