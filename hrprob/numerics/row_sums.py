"""Sums over the rows of a table, in blocks, as many blocks as have rows in use.

Data in a buffer of fixed length then cost as much as the rows in it, inside a compiled program too.
"""

from __future__ import annotations

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

# Rows that are copied at a time from the buffers of many members.
_COPIED = 2048
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
    if capacity > size and capacity % size:
        raise ValueError(f"a buffer of {capacity} rows is no multiple of {size}: see `capacity_for`")
    if isinstance(data, MemberRows):
        return _sum_over_copies(function, data, rows, arguments, nothing, size)
    if capacity <= size:
        return function(data, *arguments)

    def step(number: jax.Array, total: Sums) -> Sums:
        return jax.tree.map(jnp.add, total, function(_read(data, number * size, size), *arguments))

    steps = (jnp.asarray(rows, jnp.int32) + (size - 1)) // size
    return lax.fori_loop(0, steps, step, nothing)


def _sum_over_copies(
    function: Callable[..., Sums],
    data: MemberRows,
    rows: Integer,
    arguments: tuple[PyTree, ...],
    nothing: Sums,
    size: int,
) -> Sums:
    """Return the sum over the rows of one member, copied some thousand at a time.

    A loop that refers to the long buffers of all members is not compiled to one kernel; one over a copy is.
    """
    capacity = jax.tree.leaves(data.columns)[0].shape[0]
    most = min(capacity, max(size, _COPIED // size * size))
    used = jnp.asarray(rows, jnp.int32)

    def step(number: jax.Array, total: Sums) -> Sums:
        # The last copy ends with the buffer, and its first blocks belong to the copy before.
        start = jnp.minimum(number * most, capacity - most)
        copy = data.read(start, most)
        if most <= size:
            return jax.tree.map(jnp.add, total, function(copy, *arguments))
        low = (number * most - start) // size
        high = jnp.minimum((used - start + (size - 1)) // size, most // size)

        def add(block: jax.Array, total: Sums) -> Sums:
            return jax.tree.map(jnp.add, total, function(_read(copy, block * size, size), *arguments))

        return lax.fori_loop(low, high, add, total)

    return lax.fori_loop(0, (used + (most - 1)) // most, step, nothing)


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
