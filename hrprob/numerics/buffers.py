"""Read and write rows of a buffer in place, whichever axis ``vmap`` uses for the batch.

JAX turns ``dynamic_slice`` and ``dynamic_update_slice`` under ``vmap`` into gathers and
scatters and moves the batch to the first axis for them: inside a scan this copies the
whole buffer at every step. Where the row index is the same for the whole batch, as
the number of a user is for all trials, nothing needs to move. The two primitives here are
those operations with a batching rule for that case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from hrprob._core.types import Integer, PyTree

__all__ = ["MemberRows", "read_rows", "write_rows"]


class MemberRows(NamedTuple):
    """The rows of one member of a batch, in the buffers of all members.

    They are read in blocks as they are needed: a copy of all rows would cost more than most uses of them.
    """

    columns: PyTree  # each (rows, ..., members), or one member where it is the same for all
    member: jax.Array  # ()

    def read(self, first: Integer, rows: int) -> PyTree:
        """Return rows ``first`` to ``first + rows`` of this member, without the axis of members.

        Examples
        --------
        >>> MemberRows(jnp.arange(6.0).reshape(3, 2), jnp.asarray(1)).read(1, 2).tolist()
        [3.0, 5.0]
        """

        def of_column(column: jax.Array) -> jax.Array:
            # An index beyond the last is the last.
            starts = [jnp.asarray(at, jnp.int32) for at in (first, *[0] * (column.ndim - 2), self.member)]
            return lax.dynamic_slice(column, starts, (rows, *column.shape[1:-1], 1))[..., 0]

        return jax.tree.map(of_column, self.columns)


def read_rows(buffer: jax.Array, first: Integer, rows: int) -> jax.Array:
    """Return rows ``first`` to ``first + rows`` of the leading axis.

    Examples
    --------
    >>> read_rows(jnp.arange(6.0), 2, 3).tolist()
    [2.0, 3.0, 4.0]
    """
    return _read_p.bind(buffer, jnp.asarray(first, jnp.int32), rows=rows, axis=0)


def write_rows(buffer: jax.Array, rows: jax.Array, place: Integer) -> jax.Array:
    """Return the buffer with ``rows`` from ``place`` of the leading axis on.

    Examples
    --------
    >>> write_rows(jnp.zeros(3), jnp.asarray([2.0]), 1).tolist()
    [0.0, 2.0, 0.0]
    """
    return _write_p.bind(buffer, jnp.asarray(rows), jnp.asarray(place, jnp.int32), axis=0)


def _read(buffer: jax.Array, first: jax.Array, *, rows: int, axis: int) -> jax.Array:
    return lax.dynamic_slice_in_dim(buffer, first, rows, axis)


def _write(buffer: jax.Array, row: jax.Array, place: jax.Array, *, axis: int) -> jax.Array:
    return lax.dynamic_update_slice_in_dim(buffer, row, place, axis)


def _past(axis: int, batch: int) -> int:
    """Return the index of ``axis`` after a batch axis has been inserted."""
    return axis + 1 if batch <= axis else axis


def _read_batched(
    args: Sequence[jax.Array], dims: Sequence[int | None], *, rows: int, axis: int
) -> tuple[jax.Array, int]:
    (buffer, first), (batch, of_first) = args, dims
    if of_first is None:
        assert batch is not None  # one of the two has a batch axis
        return _read_p.bind(buffer, first, rows=rows, axis=_past(axis, batch)), batch
    each = jax.vmap(lambda buffer, first: _read(buffer, first, rows=rows, axis=axis), dims)
    return each(buffer, first), 0


def _write_batched(
    args: Sequence[jax.Array], dims: Sequence[int | None], *, axis: int
) -> tuple[jax.Array, int]:
    (buffer, row, place), (batch, of_row, of_place) = args, dims
    if of_place is not None:
        each = jax.vmap(lambda buffer, row, place: _write(buffer, row, place, axis=axis), dims)
        return each(buffer, row, place), 0
    if batch is None:
        assert of_row is not None  # one of the three has a batch axis
        batch = buffer.ndim
        buffer = jnp.broadcast_to(buffer[..., None], (*buffer.shape, row.shape[of_row]))
    size = buffer.shape[batch]
    if of_row is None:
        row = jnp.broadcast_to(jnp.expand_dims(row, batch), (*row.shape[:batch], size, *row.shape[batch:]))
    else:
        row = jnp.moveaxis(row, of_row, batch)
    return _write_p.bind(buffer, row, place, axis=_past(axis, batch)), batch


def _primitive(
    name: str, function: Callable[..., jax.Array], batched: Callable[..., tuple[jax.Array, int]]
) -> Primitive:
    made = Primitive(name)
    made.def_impl(lambda *args, **parameters: function(*args, **parameters))
    made.def_abstract_eval(lambda *args, **parameters: _shape(function, args, parameters))
    batching.primitive_batchers[made] = batched
    mlir.register_lowering(made, mlir.lower_fun(function, multiple_results=False))
    return made


def _shape(
    function: Callable[..., jax.Array], args: Sequence[PyTree], parameters: Mapping[str, int]
) -> jax.core.ShapedArray:
    out = jax.eval_shape(lambda *args: function(*args, **parameters), *args)
    return jax.core.ShapedArray(out.shape, out.dtype)


_read_p = _primitive("hrprob_read_rows", _read, _read_batched)
_write_p = _primitive("hrprob_write_rows", _write, _write_batched)
