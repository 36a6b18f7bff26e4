r"""Earlier rows of data, in a state of bounded size.

The log likelihood of n rows is smooth on the scale of the posterior, whose standard deviations shrink as
1/√n. So after many rows their sum is replaced by its expansion to third order in b = (θ, φ) at the mode b₀,

.. math:: \sum_i \ell_i(b) \approx g^\top m + \tfrac12 m^\top H m + \tfrac16 \sum_{jkl} C_{jkl} m_j m_k m_l
    + \text{const}, \qquad m = b - b_0,

and enters every later fit. Within a few standard deviations of b₀ the remainder is of order 1/n in the units of the log
density. A cubic is its own expansion, so later rows are added at later modes without further loss. The third order is what the
mean of a Laplace approximation is corrected by: without it means would be wrong by a tenth of a standard deviation after some
thousand rows, with it by a hundredth.

A row enters through u = θᵀx and v = φᵀx alone. So C consists of four symmetric tensors, sums of the third derivatives by uuu,
uuv, uvv and vvv times x⊗x⊗x, of which the products with j ≤ k ≤ l are kept.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob.numerics.products import contract

__all__ = ["Past", "nothing", "triples"]


class Past(NamedTuple):
    """The log likelihood of earlier rows as a cubic in b = (θ, φ), up to a constant."""

    origin: jax.Array  # (2d,) b₀
    gradient: jax.Array  # (2d,) there
    hessian: jax.Array  # (2d, 2d)
    cubes: jax.Array  # (4, d(d+1)(d+2)/6) third derivatives by uuu, uuv, uvv, vvv
    rows: jax.Array  # () int32, how many rows it stands for

    def derivatives(self, both: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return value, gradient and Hessian at b (2d,)."""
        moved = both - self.origin
        bend = self._along(moved)
        by_hessian, by_cubes = self.hessian @ moved, bend @ moved
        value = contract(moved, self.gradient + 0.5 * by_hessian + by_cubes / 6.0)
        return value, self.gradient + by_hessian + 0.5 * by_cubes, self.hessian + bend

    def traced(self, spread: jax.Array) -> jax.Array:
        """Return Σ_kl C_jkl S_kl for a symmetric matrix S (2d, 2d): the gradient of the trace of S times the Hessian."""
        uuu, uuv, uvv, vvv = self._whole()
        d = uuu.shape[0]
        of_uu, of_uv, of_vv = spread[:d, :d], spread[:d, d:], spread[d:, d:]

        def against(first: jax.Array, second: jax.Array, third: jax.Array) -> jax.Array:
            return jnp.sum(first * of_uu + 2.0 * second * of_uv + third * of_vv, axis=(1, 2))

        return jnp.concatenate([against(uuu, uuv, uvv), against(uuv, uvv, vvv)])

    def _along(self, moved: jax.Array) -> jax.Array:
        """Return Σ_l C_jkl m_l (2d, 2d)."""
        uuu, uuv, uvv, vvv = self._whole()
        d = uuu.shape[0]
        by_theta, by_phi = moved[:d], moved[d:]
        mixed = uuv @ by_theta + uvv @ by_phi
        return jnp.block([[uuu @ by_theta + uuv @ by_phi, mixed], [mixed, uvv @ by_theta + vvv @ by_phi]])

    def _whole(self) -> jax.Array:
        """Return the four symmetric tensors (4, d, d, d)."""
        return self.cubes[:, triples(self.origin.shape[0] // 2)[1]]


@functools.lru_cache(maxsize=16)
def triples(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices j ≤ k ≤ l (3, n) below d, and the number (d, d, d) of the one with the same indices.

    Examples
    --------
    >>> indices, place = triples(2)
    >>> indices.T.tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    >>> place.tolist()
    [[[0, 1], [1, 2]], [[1, 2], [2, 3]]]
    """
    indices = np.array(list(itertools.combinations_with_replacement(range(dimension), 3)))
    place = np.zeros((dimension,) * 3, int)
    for order in itertools.permutations(range(3)):
        place[tuple(indices[:, order].T)] = np.arange(len(indices))
    return indices.T, place


def nothing(dimension: int) -> Past:
    """Return the past before any row, where θ and φ have this dimension.

    Examples
    --------
    >>> nothing(4).cubes.shape
    (4, 20)
    """
    k = 2 * dimension
    cubes = jnp.zeros((4, triples(dimension)[0].shape[1]))
    return Past(jnp.zeros(k), jnp.zeros(k), jnp.zeros((k, k)), cubes, jnp.zeros((), jnp.int32))
