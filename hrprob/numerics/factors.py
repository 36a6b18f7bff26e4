"""Factorisations of small symmetric matrices, inside compiled programs with many trials in parallel.

JAX up to 0.10 factors a batch of matrices on the same thread pool that runs the program itself, and waits for the
result: two such calls at the same time can deadlock. Matrices up to 8 × 8, and single matrices, are factored on the
calling thread; larger ones are therefore factored one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

__all__ = ["cholesky", "eigh", "inverse_of", "log_determinant", "one_at_a_time"]

R = TypeVar("R")

# Larger matrices are factored one at a time, and by LAPACK instead of written-out formulas.
_SMALL = 8


def one_at_a_time(function: Callable[[jax.Array], R]) -> Callable[[jax.Array], R]:
    """Return ``function`` for a batch (..., d, d), called for one matrix after another unless d is small.

    Examples
    --------
    >>> one_at_a_time(jnp.linalg.inv)(2.0 * jnp.tile(jnp.eye(9), (3, 1, 1))).shape
    (3, 9, 9)
    """
    alone = jax.custom_batching.sequential_vmap(function)

    def call(matrix: jax.Array) -> R:
        if matrix.shape[-1] <= _SMALL:
            return function(matrix)
        each: Callable[[jax.Array], R] = alone
        for _ in range(matrix.ndim - 2):
            each = jax.vmap(each)
        return each(matrix)

    return call


_cholesky = one_at_a_time(jnp.linalg.cholesky)
_eigh = one_at_a_time(lambda matrix: tuple(jnp.linalg.eigh(matrix)))


def cholesky(matrix: jax.Array) -> jax.Array:
    """Return the lower Cholesky factor (..., d, d); a small one is written out, so that it vectorises over trials.

    Examples
    --------
    >>> cholesky(jnp.asarray([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    d = matrix.shape[-1]
    if d > _SMALL:
        return jnp.asarray(_cholesky(matrix))
    rows: list[list[jax.Array]] = []
    for i in range(d):
        row: list[jax.Array] = []
        for j in range(i):
            rest = matrix[..., i, j] - sum(row[k] * rows[j][k] for k in range(j))
            row.append(rest / rows[j][j])
        rest = matrix[..., i, i] - sum(entry * entry for entry in row)
        row.append(jnp.sqrt(jnp.maximum(rest, 1e-300)))
        rows.append(row)
    zero = jnp.zeros_like(matrix[..., 0, 0])
    return jnp.stack([jnp.stack([*row, *[zero] * (d - len(row))], axis=-1) for row in rows], axis=-2)


def inverse_of(factor: jax.Array) -> jax.Array:
    """Return (L Lᵀ)⁻¹ for lower factors L (..., d, d), by forward substitution.

    Examples
    --------
    >>> inverse_of(jnp.asarray([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, -0.5], [-0.5, 1.0]]
    """
    d = factor.shape[-1]
    rows: list[jax.Array] = []
    for i in range(d):
        unit = jnp.zeros(d).at[i].set(1.0)
        rest = unit - sum((factor[..., i, k, None] * rows[k] for k in range(i)), jnp.zeros(d))
        rows.append(rest / factor[..., i, i, None])
    inverse = jnp.stack(rows, axis=-2)  # L⁻¹
    return jnp.sum(inverse[..., :, :, None] * inverse[..., :, None, :], axis=-3)


def eigh(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return eigenvalues (..., d), in ascending order, and eigenvectors (..., d, d).

    Examples
    --------
    >>> eigh(jnp.asarray([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    values, vectors = _eigh(matrix)
    return values, vectors


def log_determinant(matrix: jax.Array) -> jax.Array:
    """Return the logarithm of the determinant of a positive definite matrix (..., d, d).

    Examples
    --------
    >>> f"{log_determinant(jnp.asarray([[4.0, 2.0], [2.0, 5.0]])):.4f}"  # ln 16
    '2.7726'
    """
    diagonal = jnp.diagonal(cholesky(matrix), axis1=-2, axis2=-1)
    return 2.0 * jnp.sum(jnp.log(diagonal), axis=-1)
