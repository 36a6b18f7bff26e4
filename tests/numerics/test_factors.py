"""Factors equal those of NumPy for any size and batch, and larger matrices are never factored in batches."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.numerics.factors import cholesky, eigh, log_determinant
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin
from tests.helpers import make


def matrices(*shape):
    root = np.random.default_rng(0).normal(size=(*shape, shape[-1]))
    return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])


@pytest.mark.parametrize("shape", [(1,), (4,), (8,), (9,), (20,), (3, 4), (3, 12), (2, 3, 12)])
def test_factors_equal_those_of_numpy(shape):
    given = matrices(*shape)
    with double_precision():
        # Trials lie on the last axis.
        moved = jnp.moveaxis(jnp.asarray(np.stack([given, 2 * given])), 0, -1)
        factor = jax.jit(jax.vmap(cholesky, -1, -1))(moved)[..., 1]
        values, vectors = (leaf[..., 1] for leaf in jax.jit(jax.vmap(eigh, -1, -1))(moved))
        size = jax.jit(jax.vmap(log_determinant, -1, -1))(moved)[..., 1]
    np.testing.assert_allclose(factor, np.linalg.cholesky(2 * given), atol=1e-12)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(2 * given), rtol=1e-11)
    np.testing.assert_allclose(
        np.einsum("...ij,...j,...kj->...ik", vectors, values, vectors), 2 * given, atol=1e-10
    )
    np.testing.assert_allclose(size, np.linalg.slogdet(2 * given)[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("contextual-ids", {}),
        ("greedy-first", {}),
        ("hr-ucb-weighted", {"radius": "theory"}),
        ("thompson-homoscedastic", {}),
        ("variance-thompson", {}),
        pytest.param("thompson", {"engine": "laplace"}, marks=pytest.mark.slow),
        pytest.param("thompson", {"engine": "smc"}, marks=pytest.mark.slow),
    ],
)
def test_no_policy_factors_a_batch_of_larger_matrices(kind, parameters):
    """With a batch of larger matrices, programs that run in parallel could deadlock."""
    d, trials = 12, 3
    problem = hrprob.Problem(theta=np.full(d, 0.1), phi=np.full(d, 0.1), contexts=hrprob.Sphere(4))
    with double_precision():
        policy, keys = make(kind, parameters).bind(problem, 20), trial_keys(0, np.arange(trials))
        arrived = arrivals(problem, keys, np.arange(1, 21, dtype=np.uint32))
        text = advance.lower(problem.rules, policy, keys, begin(policy, keys), arrived).as_text()
    calls = [line for line in text.splitlines() if "lapack_" in line]
    shapes = [re.findall(r"tensor<((?:\d+x)+)f64>", line)[0].rstrip("x").split("x") for line in calls]
    assert all(len(shape) == 2 or int(np.prod([int(n) for n in shape[:-2]])) == 1 for shape in shapes), calls
