"""Rows of a buffer, read and written on any batch axis, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob.numerics.buffers import read_rows, write_rows

BUFFER = np.arange(24.0).reshape(3, 4, 2)  # (batch, rows, columns)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("first", [1, np.array([0, 1, 2])], ids=["one place", "a place per member"])
def test_rows_are_read(axis, first):
    batched = None if np.ndim(first) == 0 else 0
    read = jax.jit(jax.vmap(lambda buffer, first: read_rows(buffer, first, 2), (axis, batched)))
    rows = read(np.moveaxis(BUFFER, 0, axis), first)
    for member, start in enumerate(np.broadcast_to(first, 3)):
        np.testing.assert_array_equal(rows[member], BUFFER[member, start : start + 2])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("place", [2, np.array([0, 1, 2])], ids=["one place", "a place per member"])
@pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared rows"])
def test_rows_are_written(axis, place, shared):
    rows = -np.arange(12.0).reshape(3, 2, 2)
    batched = None if np.ndim(place) == 0 else 0
    write = jax.jit(jax.vmap(write_rows, (axis, None if shared else 0, batched)))
    after = write(np.moveaxis(BUFFER, 0, axis), rows[0] if shared else rows, place)
    for member, start in enumerate(np.broadcast_to(place, 3)):
        wanted = BUFFER[member].copy()
        wanted[start : start + 2] = rows[0 if shared else member]
        np.testing.assert_array_equal(after[member], wanted)


def test_a_shared_buffer_gets_one_copy_per_member():
    rows = np.arange(6.0).reshape(3, 1, 2)
    after = jax.vmap(lambda row: write_rows(jnp.zeros((4, 2)), row, 1))(rows)
    np.testing.assert_array_equal(after[:, 1], rows[:, 0])
    assert not np.any(np.delete(np.asarray(after), 1, axis=1))
