"""Conditionals under vmap: which members of a batch run, and what they return."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob.numerics.control_flow import once, one_by_one


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("picked", [[], [1], [0, 2], [0, 1, 2]])
def test_one_by_one_runs_only_for_members_whose_condition_holds(axis, picked):
    ran = []

    def double(value, given):
        note = jax.pure_callback(lambda own: ran.append(float(own)) or own, value[0], value[0])
        return given * value + 0 * note

    condition = np.isin(np.arange(3), picked)
    value = np.arange(6.0).reshape(3, 2) + 1
    run = jax.vmap(lambda condition, value: one_by_one(condition, double, value, jnp.asarray(2.0)), (0, axis))
    result = jax.jit(run)(condition, value if axis == 0 else value.T)
    np.testing.assert_array_equal(result, np.where(condition[:, None], 2 * value, value))
    assert ran == [value[member, 0] for member in picked]


def test_one_by_one_in_nested_batches():
    condition = np.asarray([[True, False], [False, False], [True, True]])
    run = lambda condition, value: one_by_one(condition, jnp.add, value, jnp.asarray(1.0))  # noqa: E731
    result = jax.vmap(jax.vmap(run))(condition, np.zeros((3, 2)))
    np.testing.assert_array_equal(result, condition.astype(float))
    assert float(run(True, jnp.asarray(0.5))) == 1.5


@pytest.mark.parametrize("shared", [False, True])
def test_one_by_one_reads_the_rows_of_its_own_member(shared):
    tables = np.arange(24.0).reshape(4, 2, 3)  # rows, columns, members

    def add(value, given, table):
        return value + given * table.read(1, 2).sum(axis=0)

    run = lambda value, table: one_by_one(True, add, value, jnp.asarray(10.0), [table])  # noqa: E731
    given = tables[..., 0] if shared else tables
    result = jax.jit(jax.vmap(run, (-1, None if shared else -1), -1))(np.zeros((2, 3)), given)
    expected = np.broadcast_to(tables[..., :1], tables.shape) if shared else tables
    np.testing.assert_array_equal(result, 10 * expected[1:3].sum(axis=0))


@pytest.mark.parametrize("axis", [0, -1])
def test_once_equals_a_plain_choice(axis):
    condition, value = np.asarray([True, False, True]), np.arange(6.0).reshape(3, 2)
    run = jax.vmap(lambda condition, value: once(condition, lambda own: 2 * own + 1, value), (0, axis))
    result = jax.jit(run)(condition, value if axis == 0 else value.T)
    np.testing.assert_array_equal(result, np.where(condition[:, None], 2 * value + 1, value))
