"""The batch on the last axis: the same numbers as :func:`jax.vmap` gives, and no array with the batch elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hrprob
from hrprob._core.precision import double_precision
from hrprob.numerics.control_flow import one_by_one
from hrprob.numerics.last_axis import vmap_last

SIZE = 3
X = np.arange(1.0, 1.0 + 4 * 2 * SIZE).reshape(4, 2, SIZE) / 10.0  # (4, 2) for each member
Y = np.array([[0.5, -0.2, 0.1], [1.5, 0.7, -0.4]])  # (2,)
Z = np.array([0.3, -1.2, 2.0])  # ()
SHARED = np.array([0.25, -2.0])  # (2,), the same for all


def shapes(x: Any, y: Any, z: Any, shared: Any) -> Any:
    joined = jnp.concatenate([x, jnp.broadcast_to(shared, (1, 2)), x[1:3] * z])
    return joined.T[:, ::2].reshape(2, 2, -1), jnp.stack([y, shared]), x[:, None, :] - y


def mixed_ranks(x: Any, y: Any, z: Any, shared: Any) -> Any:
    chosen = jnp.where(z > 0, x, shared)
    return jnp.clip(chosen * z + y, -1.0, z + 2.0), 2.0 - z, jnp.where(x > 0.5, 1.0, z)


def reductions(x: Any, y: Any, z: Any, shared: Any) -> Any:
    return x.sum(axis=0), (x - shared).max(), jnp.argmax(x * y, axis=1), jnp.cumsum(x, axis=0), (x > 1).any()


def places(x: Any, y: Any, z: Any, shared: Any) -> Any:
    place = jnp.floor(jnp.abs(z)).astype(int)
    return x[place], x.at[place].add(y), lax.dynamic_slice(x, (place, 0), (2, 1)), shared[place % 2]


def products(x: Any, y: Any, z: Any, shared: Any) -> Any:
    gram = x.T @ x + jnp.eye(2)
    return jnp.linalg.cholesky(gram), gram @ y, jnp.linalg.solve(gram, shared), jnp.sort(y)


def own_number_of_rounds(x: Any, y: Any, z: Any, shared: Any) -> Any:
    return lax.while_loop(
        lambda now: now[1] < 3.0, lambda now: (now[0] * 1.5 + y, now[1] + z**2), (shared, z)
    )


def same_number_of_rounds(x: Any, y: Any, z: Any, shared: Any) -> Any:
    # The sum is batched only after the first round; the counter never is.
    return lax.fori_loop(0, 3, lambda i, now: (now[1], now[0] + x[i, 0]), (shared[0], shared[1]))


def nested_loops(x: Any, y: Any, z: Any, shared: Any) -> Any:
    def outer(now: Any) -> Any:
        inner = lax.fori_loop(0, 2, lambda i, value: value + shared[i] * z, now[0])
        return inner, now[1] + 1.0

    return lax.while_loop(lambda now: (now[1] < 4.0) & (now[0] < 5.0), outer, (z, jnp.zeros(())))


def scans(x: Any, y: Any, z: Any, shared: Any) -> Any:
    rows = lax.scan(lambda total, row: (total + row * y, (total, row.sum(), 1.0)), shared, x)
    return rows, lax.scan(lambda total, row: (total + row, total), 0.0, shared, reverse=True)


def conditionals(x: Any, y: Any, z: Any, shared: Any) -> Any:
    by_member = lax.cond(z > 0, lambda value: value + 1.0, lambda value: value * y, x)
    return by_member, lax.switch(1, [lambda value: value, lambda value: value + shared], y)


def random_numbers(x: Any, y: Any, z: Any, shared: Any) -> Any:
    key = jax.random.fold_in(jax.random.key(0), jnp.abs(z * 10).astype(jnp.uint32))
    return jax.random.normal(key, (2,)), jax.random.uniform(jax.random.split(key)[0])


def derivatives(x: Any, y: Any, z: Any, shared: Any) -> Any:
    return jax.grad(lambda value: hrprob.h(value, jnp.abs(y[0]) + 0.1, 0.2).sum())(z), hrprob.h(x, 0.3, z)


def constants(x: Any, y: Any, z: Any, shared: Any) -> Any:
    return shared * 2.0, 3.0, x


def alone(x: Any, y: Any, z: Any, shared: Any) -> Any:
    return one_by_one(z > 0, lambda value, given: value * given.sum(), y, x)


FUNCTIONS: list[Callable[..., Any]] = [
    shapes,
    mixed_ranks,
    reductions,
    places,
    products,
    own_number_of_rounds,
    same_number_of_rounds,
    nested_loops,
    scans,
    conditionals,
    random_numbers,
    derivatives,
    constants,
    alone,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_it_is_vmap(function: Callable[..., Any]) -> None:
    last, usual = (
        vmap_last(function, (True, True, True, False), SIZE),
        jax.vmap(function, (-1, -1, -1, None), -1),
    )
    with double_precision():
        # In one program: what is compiled is not what is tested.
        found, expected = jax.jit(lambda *args: (last(*args), usual(*args)))(X, Y, Z, SHARED)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_arguments_are_trees_of_which_parts_are_batched() -> None:
    def one(pair: dict[str, Any], scale: Any) -> Any:
        return {"sum": pair["x"] + pair["y"] * scale[0], "none": None}

    found = vmap_last(one, ({"x": True, "y": False}, False), SIZE)({"x": Z, "y": 2.0}, (3.0, 4.0))
    np.testing.assert_allclose(found["sum"], Z + 6.0, rtol=1e-6)
    assert found["none"] is None


def test_arithmetic_has_the_batch_last() -> None:
    """In the program of HR-UCB's choice, every array of more than one axis ends with the batch."""
    policy = hrprob.HRUCB().bind(hrprob.Problem(contexts=hrprob.Sphere(5)), 100)
    with double_precision():
        state = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[..., None], (*leaf.shape, 7)), policy.init())
        select = vmap_last(
            lambda state, contexts, beta: policy.select(state, jax.random.key(0), contexts, beta),
            (True,) * 3,
            7,
        )
        jaxpr = jax.make_jaxpr(select)(state, np.ones((5, 4, 7)), np.ones(7))
    batched = [
        out.aval.shape for equation in jaxpr.jaxpr.eqns for out in equation.outvars if 7 in out.aval.shape
    ]
    assert batched
    assert {shape[-1] for shape in batched} == {7}
