"""Conditionals under vmap, and functions that run for some members of a batch only."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob.numerics.control_flow import once, one_by_one


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("picked", [[], [1], [0, 2], [0, 1, 2]])
def test_one_by_one_runs_for_those_members_alone_for_which_the_condition_holds(axis, picked):
    ran = []

    def double(value, given):
        note = jax.pure_callback(lambda own: ran.append(float(own)) or own, value[0], value[0])
        return given * value + 0 * note

    condition = np.isin(np.arange(3), picked)
    value = np.arange(6.0).reshape(3, 2) + 1
    run = jax.vmap(lambda condition, value: one_by_one(condition, double, value, jnp.asarray(2.0)), (0, axis))
    found = jax.jit(run)(condition, value if axis == 0 else value.T)
    np.testing.assert_array_equal(found, np.where(condition[:, None], 2 * value, value))
    assert ran == [value[member, 0] for member in picked]


def test_one_by_one_in_a_batch_of_batches():
    condition = np.asarray([[True, False], [False, False], [True, True]])
    run = lambda condition, value: one_by_one(condition, jnp.add, value, jnp.asarray(1.0))  # noqa: E731
    found = jax.vmap(jax.vmap(run))(condition, np.zeros((3, 2)))
    np.testing.assert_array_equal(found, condition.astype(float))
    assert float(run(True, jnp.asarray(0.5))) == 1.5


def test_once_is_a_conditional():
    values = jnp.asarray([1.0, 2.0])
    assert once(jnp.asarray(False), lambda v: 2 * v, values).tolist() == [1.0, 2.0]
    each = jax.vmap(lambda c, v: once(c, lambda v: 2 * v, v))(jnp.asarray([True, False]), values)
    assert each.tolist() == [2.0, 2.0]
