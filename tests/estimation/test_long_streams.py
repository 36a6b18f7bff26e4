"""Estimates after very many users, compared with sums in higher precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob.estimation import glse


def stream(users, seed=0):
    """Return contexts, rounds, sums and sums of squares of users as the paper's simulation has them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(users, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    rounds = rng.geometric(0.28, size=users).astype(float)
    sd = np.sqrt(x @ [0.5, 0.2, 0.8, 0.9] + 2)
    total = rounds * (x @ [0.6, 0.5, 0.5, 0.3]) + np.sqrt(rounds) * sd * rng.normal(size=users)
    squares = total**2 / rounds + sd**2 * rng.chisquare(np.maximum(rounds - 1, 1e-3))
    return x, rounds, total, squares


@jax.jit
def follow(x, rounds, total, squares):
    """Return statistics and V⁻¹ as policies carry them from user to user, λ = 1."""

    def step(state, row):
        statistics, inverse = state
        return (glse.add(statistics, *row), glse.sherman_morrison(inverse, row[0], row[1])), None

    first = jax.tree.map(jnp.asarray, (glse.empty(4), np.eye(4)))
    return jax.lax.scan(step, first, (x, rounds, total, squares))[0]


def in_higher_precision(x, rounds, total, squares):
    """Return θ̂, φ̂ and V⁻¹ (f(z) = z + 2), from sums in long doubles, 64 bits of them, and solved with their residuals."""
    long = [values.astype(np.longdouble) for values in (x, rounds, total, squares)]
    x, rounds, total, squares = long
    gram = np.einsum("n,ni,nj->ij", rounds, x, x) + np.eye(4, dtype=np.longdouble)
    inverse = np.linalg.inv(gram.astype(float)).astype(np.longdouble)
    for _ in range(3):
        inverse = inverse @ (2 * np.eye(4, dtype=np.longdouble) - gram @ inverse)  # Newton's iteration
    theta = inverse @ (total @ x)
    mean = x @ theta
    residuals = squares - 2 * mean * total + rounds * mean**2 - 2 * rounds
    return theta, inverse @ (residuals @ x), inverse


@pytest.mark.parametrize("users", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_estimates_after_many_users_are_accurate(users):
    rows = stream(users)
    with double_precision():
        statistics, inverse = follow(*map(jnp.asarray, rows))
        estimate = glse.estimate(statistics, inverse, hrprob.Affine())
    theta, phi, exact = in_higher_precision(*rows)
    # Rounding errors of n sums of numbers of one size grow as √n at most, 1e3 · 1e-16, and cancellation costs a digit.
    np.testing.assert_allclose(np.asarray(estimate.theta), theta.astype(float), rtol=1e-10)
    np.testing.assert_allclose(np.asarray(estimate.phi), phi.astype(float), rtol=1e-9)
    size = np.abs(exact).max()
    assert float(np.abs(np.asarray(inverse) - exact).max() / size) < 1e-10
