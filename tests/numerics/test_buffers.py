"""Rows of buffers, read and written in place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob.numerics.buffers import read_rows, write_rows


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_under_vmap_are_those_of_a_loop(axis):
    rng = np.random.default_rng(0)
    buffer, row = rng.normal(size=(5, 7, 3)), rng.normal(size=(5, 3))
    moved = jnp.asarray(np.moveaxis(buffer, 0, axis))
    read = jax.vmap(lambda b: read_rows(b, 2, 3), in_axes=axis)(moved)
    np.testing.assert_array_equal(read, jnp.asarray(buffer[:, 2:5]))
    wanted = buffer.copy()
    wanted[:, 4] = row
    wrote = jax.vmap(lambda b, r: write_rows(b, r[None], 4), in_axes=(axis, 0))(moved, jnp.asarray(row))
    np.testing.assert_array_equal(wrote, jnp.asarray(wanted))


def test_rows_with_a_place_of_their_own_each():
    buffer = jnp.arange(12.0).reshape(2, 6)
    place = jnp.asarray([1, 3])
    assert jax.vmap(lambda b, p: read_rows(b, p, 2))(buffer, place).tolist() == [[1, 2], [9, 10]]
    wrote = jax.vmap(lambda b, p: write_rows(b, jnp.asarray([-1.0]), p))(buffer, place)
    assert wrote[0, 1] == wrote[1, 3] == -1
    shared = jax.vmap(lambda r: write_rows(jnp.zeros(3), r[None], 1))(jnp.asarray([5.0, 6.0]))
    assert shared.tolist() == [[0, 5, 0], [0, 6, 0]]
    same = jax.vmap(lambda b: write_rows(b, jnp.asarray([7.0]), 0), in_axes=1)(buffer)
    assert same.shape == (6, 2)
    assert same[:, 0].tolist() == [7.0] * 6


def test_nothing_moves_in_a_scan():
    def step(buffers, place):
        return jax.vmap(lambda b: write_rows(b, jnp.ones((1, 2)), place), in_axes=-1, out_axes=-1)(
            buffers
        ), None

    program = jax.jit(lambda b: jax.lax.scan(step, b, jnp.arange(8))[0])
    text = program.lower(jnp.zeros((8, 2, 3))).as_text()
    assert "dynamic_update_slice" in text
    assert "scatter" not in text
