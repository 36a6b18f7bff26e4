"""What every kind of contexts offers: protocol, registry, and the checks and steps that several kinds share."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import record, set_frozen
from hrprob._core.registry import Registry
from hrprob._core.types import PyTree

__all__ = [
    "CONTEXTS",
    "Contexts",
    "NormalVectors",
    "check_actions",
    "check_contexts",
    "register",
    "too_long",
    "unit",
]


class Contexts(Protocol):
    """What the engine asks of a kind of contexts.

    Two further attributes may be left out: ``drawn_by_action``, whether actions are drawn one by one, so that a single
    action has the same distribution as any; and ``finite_sets`` (sets, actions, d), where each user has one of finitely
    many context sets, drawn at random.
    """

    kind: ClassVar[str]

    @property
    def actions(self) -> int:
        """How many actions every user has."""
        ...

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the contexts can have this dimension."""
        ...

    def draw(self, source: Source, dimension: int) -> PyTree:
        """Return the random numbers from which :meth:`place` makes the contexts."""
        ...

    def place(self, drawn: PyTree) -> jax.Array:
        """Return the contexts (users, actions, d, trials) that follow from the random numbers."""
        ...


@record(static=("actions",))
class NormalVectors:
    """Base of kinds that make contexts from standard normal vectors, one per action.

    A kind has ``arrange``, and ``draw_more`` if it needs other random numbers as well. The engine makes the vectors
    in bulk (:class:`~hrprob._core.random_numbers.Addresses`), the same as those of :meth:`draw`.
    """

    kind: ClassVar[str]
    drawn_by_action: ClassVar[bool] = True
    actions: int = 20

    def __post_init__(self) -> None:
        set_frozen(self, actions=check_actions(self.actions))

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the contexts can have this dimension; by default any."""

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, PyTree]:
        """Return standard normal vectors, and other random numbers."""
        # A direction needs neither their last bits nor their far tails.
        return source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension)), self.draw_more(source)

    def draw_more(self, source: Source) -> PyTree:
        """Return random numbers beside the vectors; by default none."""
        return None

    def place(self, drawn: tuple[jax.Array, PyTree]) -> jax.Array:
        """Return the contexts that follow from the vectors and the other numbers."""
        return self.arrange(*drawn)

    def arrange(self, vectors: jax.Array, more: PyTree) -> jax.Array:
        """Return the contexts that follow from standard normal vectors (users, actions, d, trials) and the other numbers."""
        raise NotImplementedError


# A norm may exceed 1 by rounding.
_TOLERANCE = 1e-9

C = TypeVar("C", bound=type)

CONTEXTS: Registry[Contexts] = Registry(
    "contexts", field="contexts", package="hrprob.problem.contexts", requires=("actions", "draw", "place")
)
"""All kinds of contexts."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a kind of contexts, as :meth:`hrprob._core.registry.Registry.register` does."""
    return CONTEXTS.register(kind, static=static)


def check_actions(actions: object) -> int:
    """Return a number of actions, or raise."""
    return check_count("actions", actions, remedy="a user needs at least one action to be served")


def unit(vectors: jax.Array) -> jax.Array:
    """Return vectors (users, actions, d, trials), each divided by its norm."""
    # Sum by components: a reduction over a middle axis would not be vectorised over the trials.
    squares = sum(vectors[:, :, j] ** 2 for j in range(vectors.shape[2]))
    # Kept separate: a root and a division that are fused round differently for one trial than for several.
    norm = jax.lax.optimization_barrier(jnp.sqrt(jnp.asarray(squares)))
    return vectors * (1.0 / norm)[:, :, None]


def check_contexts(field: str, contexts: object, row: str) -> np.ndarray:
    """Return contexts (sets or users, actions, d) as an array, or raise; messages call an entry of the first axis ``row``: a set or a user."""
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
    """Return which contexts (the third axis is d) have a norm above 1, or NaN among their entries."""
    return ~(_norms(contexts) <= 1.0 + _TOLERANCE)


def _norms(contexts: np.ndarray) -> np.ndarray:
    # A norm that overflows is infinite, and too long.
    with np.errstate(over="ignore"):
        return np.linalg.norm(contexts, axis=2)
