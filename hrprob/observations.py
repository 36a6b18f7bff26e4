"""The data that models are conditioned on: users' stays, or single rounds.

Both have one row per context and may be padded with empty rows, which have no rounds or
weight 0. Growing data that are padded to a power of two keep their shapes, and with them
the compiled programs, until they outgrow the padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import is_traced
from hrprob._core.types import Integer

__all__ = [
    "Data",
    "Rounds",
    "Stays",
    "as_array",
    "as_numbers",
    "check_rounds",
    "features",
    "first_rows",
    "pad",
    "rounds",
    "stays",
    "too_large",
    "too_large_at",
]


class Stays(NamedTuple):
    """Stays of users under one action each: sufficient statistics of normal outcomes."""

    x: jax.Array  # (n, d)
    rounds: jax.Array  # (n,) m
    total: jax.Array  # (n,) Σ r
    squares: jax.Array  # (n,) Σ r²


class Rounds(NamedTuple):
    """Single outcomes, k per context, for outcomes of any other distribution."""

    x: jax.Array  # (n, d)
    r: jax.Array  # (n, k)
    weight: jax.Array  # (n, k) 1, or 0 where there is no outcome
    columns: Mapping[
        str, jax.Array
    ] = {}  # (n,) each: further columns that a model's program uses; users by number


Data = Stays | Rounds
"""What a posterior is conditioned on: sums per stay, or single outcomes."""
Tables: TypeAlias = "Sequence[tuple[Data, jax.Array | int]]"
"""Data in buffers of fixed length, each with the number of its rows in use."""
D = TypeVar("D", bound=Stays | Rounds)


def stays(x: ArrayLike, r: ArrayLike, user: ArrayLike | None = None) -> Stays:
    """Return the stays in a table of rounds: contexts x (n, d), outcomes r (n,), and labels of the users (n,).

    All rounds of one user under one context become one row. Without labels every round is
    a stay of its own.

    Examples
    --------
    >>> data = stays([[1.0], [1.0], [0.5]], [1.0, 3.0, 2.0], user=[7, 7, 8])
    >>> data.rounds.tolist(), data.total.tolist(), data.squares.tolist()
    ([2.0, 1.0], [4.0, 2.0], [10.0, 4.0])
    """
    contexts, outcomes = check_rounds(x, r)
    if user is None:
        return Stays(contexts, np.ones(len(outcomes)), outcomes, outcomes**2)  # type: ignore[arg-type]
    labels = np.asarray(user)
    if labels.shape != outcomes.shape:
        raise InvalidInput("user", f"must have {len(outcomes)} entries", labels.shape, "one label per round")
    _, number = np.unique(labels, return_inverse=True)
    rows, first, place = np.unique(
        np.column_stack([number, contexts]), axis=0, return_index=True, return_inverse=True
    )
    # In the order of their first rounds, not of their labels.
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = rank[place.reshape(-1)]
    sums = [np.bincount(place, weights, len(rows)) for weights in (None, outcomes, outcomes**2)]
    return Stays(contexts[first[order]], *(column.astype(float) for column in sums))  # type: ignore[arg-type]


def rounds(x: ArrayLike, r: ArrayLike, columns: Mapping[str, ArrayLike] | None = None) -> Rounds:
    """Return single rounds: contexts x (n, d), outcomes r (n,), and further ``columns`` (n,) by name.

    Examples
    --------
    >>> rounds([[1.0], [0.5]], [1.0, 3.0]).r.shape
    (2, 1)
    """
    contexts, outcomes = check_rounds(x, r)
    named = {name: np.asarray(column) for name, column in (columns or {}).items()}
    return Rounds(contexts, outcomes[:, None], np.ones((len(outcomes), 1)), named)  # type: ignore[arg-type]


def pad(data: D, rows: int | None = None) -> D:
    """Return the data with empty rows added, up to ``rows`` or to the next power of two.

    Examples
    --------
    >>> pad(rounds([[1.0]] * 5, [0.0] * 5)).x.shape
    (8, 1)
    """
    n = data.x.shape[0]
    missing = (rows if rows is not None else 1 << max(n - 1, 0).bit_length()) - n
    if missing < 0:
        raise InvalidInput("rows", f"must be at least {n}", rows, "padding only adds rows")
    # Zeros are an empty row of either kind. NumPy, unlike JAX, compiles nothing for data of a new length.
    add = jnp.pad if is_traced(data) else np.pad
    return jax.tree.map(lambda leaf: add(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1)), data)


def first_rows(data: D, rows: Integer) -> D:
    """Return the data in the same shapes, with the rows beyond the first ``rows`` empty.

    Examples
    --------
    >>> first_rows(rounds([[1.0]] * 3, [0.5] * 3), 2).weight.tolist()
    [[1.0], [1.0], [0.0]]
    """
    here = jnp.arange(data.x.shape[0]) < rows
    return jax.tree.map(
        lambda leaf: jnp.where(here.reshape((-1,) + (1,) * (leaf.ndim - 1)), leaf, jnp.zeros_like(leaf)), data
    )


def check_rounds(x: ArrayLike, r: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts (n, d) and outcomes (n,) as float64, or raise with the row that is wrong.

    Examples
    --------
    >>> check_rounds([[1.0], [float("nan")]], [0.3, 0.2])
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `x1` must be a finite number, got nan: in row 2; drop or impute such rounds
    """
    contexts, outcomes = as_numbers("x", x), as_numbers("r", r)
    if contexts.ndim != 2 or outcomes.shape != contexts.shape[:1] or contexts.shape[1] == 0:
        shapes = (contexts.shape, outcomes.shape)
        raise InvalidInput(
            "x, r", "must have shapes (n, d) and (n,)", shapes, "one row and one outcome per round"
        )
    columns = np.column_stack([contexts, outcomes])
    for row, column in np.argwhere(~np.isfinite(columns))[:1]:
        name = "r" if column == contexts.shape[1] else f"x{column + 1}"
        remedy = f"in row {row + 1}; drop or impute such rounds"
        raise InvalidInput(name, "must be a finite number", columns[row, column], remedy)
    for row in too_large(outcomes)[:1]:
        raise too_large_at(outcomes[row], f"in row {row + 1}")
    return contexts, outcomes


def too_large(outcomes: np.ndarray) -> np.ndarray:
    """Return the rows of outcomes (n,) at which the running sum of squares is not finite.

    Examples
    --------
    >>> too_large(np.asarray([1.0, 1e200, 3.0])).tolist()
    [1, 2]
    """
    with np.errstate(over="ignore"):
        return np.flatnonzero(~np.isfinite(np.cumsum(np.square(outcomes))))


def too_large_at(outcome: float, where: str) -> InvalidInput:
    """Return the error for an outcome that is too large."""
    remedy = f"{where}; give outcomes in larger units"
    return InvalidInput("r", "must have squares that add up to a finite number", float(outcome), remedy)


def as_numbers(name: str, values: ArrayLike, remedy: str = "one row per round") -> np.ndarray:
    """Return values as an array of float64, or raise where they are masked, complex or not numbers."""
    array = as_array(name, values)
    try:
        if array.dtype.kind != "c":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        pass
    raise InvalidInput(name, "must hold numbers only", values, remedy)


def as_array(name: str, values: ArrayLike) -> np.ndarray:
    """Return values as an array, or raise where entries are masked or rows differ in length."""
    if np.ma.is_masked(values):
        remedy = "drop or impute such rounds, then give its `data`"
        raise InvalidInput(
            name, "must have no masked entries", f"{np.ma.count_masked(values)} of them", remedy
        )
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInput(name, "must have rows of one length", values, "one row per round") from None


def features(dimension: int) -> dict[str, list[str]]:
    """Return the names of the entries of θ and φ, as ArviZ's coordinates.

    Examples
    --------
    >>> features(2)
    {'feature': ['x1', 'x2']}
    """
    return {"feature": [f"x{j + 1}" for j in range(dimension)]}
