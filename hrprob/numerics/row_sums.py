"""Sums over the rows of a table, in blocks, as many blocks as have rows in use.

Data in a buffer of fixed length then cost as much as the rows in it, inside a compiled program too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from hrprob._core.types import Integer, PyTree
from hrprob.numerics.buffers import MemberRows, read_rows

__all__ = ["BLOCK", "capacity_for", "sum_over_rows"]

Sums = TypeVar("Sums")

BLOCK = 256
"""Rows per block: enough to keep vector units busy, few enough to stay in the cache."""

# Buffers of few rows have a multiple of this many.
_SMALL_BLOCK = 32


class Rows(Protocol):
    """A table whose columns have one row per observation; ``x`` is one of them."""

    @property
    def x(self) -> jax.Array:
        """The contexts (rows, d)."""
        ...


def sum_over_rows(
    function: Callable[..., Sums],
    data: Rows | MemberRows,
    rows: Integer,
    arguments: tuple[PyTree, ...],
    like: Sums,
    size: int = BLOCK,
) -> Sums:
    """Return the sum of ``function(block, *arguments)`` over blocks of the first ``rows`` rows of ``data``.

    ``like`` has the shapes of the sum. A buffer longer than a block has whole blocks
    (:func:`capacity_for`).
    """
    capacity = jax.tree.leaves(data)[0].shape[0]
    nothing = jax.tree.map(jnp.zeros_like, like)
    if capacity == 0:
        return nothing
    read = data.read if isinstance(data, MemberRows) else functools.partial(_read, data)
    if capacity <= size:
        return function(read(0, capacity), *arguments)
    if capacity % size:
        raise ValueError(f"a buffer of {capacity} rows is no multiple of {size}: see `capacity_for`")

    def step(number: jax.Array, total: Sums) -> Sums:
        return jax.tree.map(jnp.add, total, function(read(number * size, size), *arguments))

    steps = (jnp.asarray(rows, jnp.int32) + (size - 1)) // size
    return lax.fori_loop(0, steps, step, nothing)


def _read(data: Rows, first: Integer, rows: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf if rows == leaf.shape[0] else read_rows(leaf, first, rows), data)


def capacity_for(rows: int) -> int:
    """Return the least number of rows at least ``rows`` that a buffer may have.

    Examples
    --------
    >>> capacity_for(20), capacity_for(100), capacity_for(300)
    (20, 128, 512)
    """
    unit = 1 if rows <= _SMALL_BLOCK else _SMALL_BLOCK if rows <= BLOCK else BLOCK
    return -(-rows // unit) * unit
