"""Inner products over a short last axis, written out so that the compiler vectorises over the other axes.

Inside a scan over users the trials are on the last axis of every batched array. A reduction over a short axis is
compiled to a scalar loop; the same sum written out becomes vector instructions over the trials, three times as fast
for the dimensions of a bandit.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

__all__ = ["contract", "quadratic_form"]

# With more terms the written-out sum costs more to compile than it saves.
_WRITTEN_OUT = 16


def contract(a: ArrayLike, b: ArrayLike) -> jax.Array:
    """Return Σ_j a[..., j]·b[..., j], broadcasting over the axes before the last.

    Examples
    --------
    >>> contract(jnp.ones((2, 3)), jnp.arange(3.0)).tolist()
    [3.0, 3.0]
    """
    a, b = jnp.asarray(a), jnp.asarray(b)
    terms = a.shape[-1]
    if terms > _WRITTEN_OUT:
        return jnp.sum(a * b, axis=-1)
    # By terms, not from an array of all products, which would be written to memory and read again.
    total = a[..., 0] * b[..., 0]
    for j in range(1, terms):
        total = total + a[..., j] * b[..., j]
    return total


def quadratic_form(matrix: jax.Array, vectors: jax.Array) -> jax.Array:
    """Return xᵀMx for every vector x (..., d).

    Examples
    --------
    >>> quadratic_form(2.0 * jnp.eye(2), jnp.asarray([[1.0, 2.0]])).tolist()
    [10.0]
    """
    return contract(contract(matrix, vectors[..., None, :]), vectors)
