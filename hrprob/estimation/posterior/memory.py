"""What a long run keeps of its data: a summary of most rows, and some rows as they are.

The expansion of :mod:`.past` holds where the posterior is narrow on the scale on which a row's likelihood changes. Random contexts
are soon like that in all directions. An action that was served a few dozen times is not, however many users came: its rows would be
summarised at a mode that later data move by a standard deviation. So when rows are summarised, the 512 whose mean and variance are
least certain are kept as they are, until others are less certain.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from hrprob._core.records import with_fields
from hrprob._core.types import PyTree
from hrprob.estimation.posterior import past
from hrprob.estimation.posterior.past import Past
from hrprob.estimation.posterior.target import Target
from hrprob.observations import Data, Stays

__all__ = ["KEPT", "Memory", "add", "nothing"]

KEPT = 2**9
"""Rows that are kept as they are."""


class Memory(NamedTuple):
    """Earlier rows."""

    past: Past  # of those that are summarised
    kept: Data  # (KEPT,) the others
    used: jax.Array  # () int32, how many of these places are in use: none at first, then all


def nothing(rows: Data) -> Memory:
    """Return the memory before any row, where data have the columns of ``rows``."""
    kept: Data = jax.tree.map(lambda column: jnp.zeros((KEPT, *column.shape[1:]), column.dtype), rows)
    return Memory(past.nothing(rows.x.shape[1]), kept, jnp.zeros((), jnp.int32))


def add(target: Target, memory: Memory, rows: Data, z: jax.Array, covariance: jax.Array) -> Memory:
    """Return the memory with all of ``rows``, where z (2d,) and ``covariance`` are mode and covariance given them too."""
    pool = jax.tree.map(lambda *columns: jnp.concatenate(columns), memory.kept, rows)
    size = pool.x.shape[0]
    # Empty rows come last.
    uncertainty = jnp.where(_rounds(pool) > 0, target.uncertainty(pool, z, covariance), -1.0)
    places = lax.top_k(uncertainty, KEPT)[1]
    gone = jnp.zeros(size, bool).at[places].set(True)
    others = [(_without(memory.kept, gone[:KEPT]), KEPT), (_without(rows, gone[KEPT:]), size - KEPT)]
    summary = with_fields(target, past=memory.past).fold(others, z)
    # Places that were not in use yet, and rows that stay, are no rows of the summary.
    summary = summary._replace(rows=memory.past.rows + memory.used + size - 2 * KEPT)
    return Memory(summary, jax.tree.map(lambda column: column[places], pool), jnp.asarray(KEPT, jnp.int32))


def _rounds(data: Data) -> jax.Array:
    """Return the number of rounds in each row."""
    return data.rounds if isinstance(data, Stays) else jnp.sum(data.weight, axis=1)


def _without(data: Data, gone: jax.Array) -> PyTree:
    """Return the data with some of the rows empty."""
    if isinstance(data, Stays):
        return Stays(data.x, *(jnp.where(gone, 0.0, column) for column in data[1:]))
    return data._replace(weight=jnp.where(gone[:, None], 0.0, data.weight))
