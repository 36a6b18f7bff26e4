r"""Projection of an estimate onto a ball, in the norm of V.

Theorem 2 of the paper [1]_ compares h at two pairs (θ, φ) within the balls ‖θ‖ ≤ 1 and ‖φ‖ ≤ L. Lemma 6 applies it to the
estimates, which may lie outside: in the paper's setting (fixed design on the sphere) θ̂
does with probability .73, .59 and .42, each ± .015, at n = 10, 100 and 1000 (``hrprob theory``).
The point of the ball that is nearest **in the norm of V** can stand for the estimate: the ball is convex and
contains the truth, so the projection is at least as near to the truth in that norm, and every confidence set that holds
for the estimate holds for it. (The nearest point in the Euclidean norm has no such property.)

.. math:: \min_{\lVert z\rVert \le b} \lVert z - \hat\theta\rVert_V \quad\text{is at}\quad
    z = (I + \mu V^{-1})^{-1}\hat\theta, \qquad \lVert z\rVert = b,\ \mu > 0 .

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019, Lemma 6 and Theorem 2.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike

from hrprob._core.precision import float64

__all__ = ["project"]

# Bisections of the interval of ln μ; each halves it, and 60 leave nothing of it in float64.
_STEPS = 60


@float64
def project(point: ArrayLike, inverse: ArrayLike, bound: ArrayLike) -> jax.Array:
    """Return the point of the ball ‖z‖ ≤ ``bound`` that is nearest to ``point`` in the norm of V.

    Parameters
    ----------
    point : array_like, shape (d,)
        An estimate.
    inverse : array_like, shape (d, d)
        V⁻¹.
    bound : array_like, scalar
        The radius of the ball, above 0.

    Examples
    --------
    >>> project([2.0, 0.0], [[1.0, 0.0], [0.0, 0.1]], 1.0).round(12).tolist()
    [1.0, 0.0]
    >>> project([0.5, 0.5], [[1.0, 0.0], [0.0, 0.1]], 1.0).tolist()
    [0.5, 0.5]
    """
    point, inverse = jnp.asarray(point, dtype=float), jnp.asarray(inverse, dtype=float)
    eigenvalues, vectors = jnp.linalg.eigh(inverse)
    along = vectors.T @ point

    def shrunk(log_mu: jax.Array) -> jax.Array:
        return along / (1.0 + jnp.exp(log_mu) * eigenvalues)

    norm = jnp.sqrt(jnp.sum(point**2))
    # ‖z‖ lies between ‖θ̂‖/(1 + μ·max) and ‖θ̂‖/(1 + μ·min), which bounds μ on both sides.
    excess = jnp.maximum(norm / bound - 1.0, 1e-12)
    ends = (jnp.log(excess / eigenvalues[-1]), jnp.log(excess / jnp.maximum(eigenvalues[0], 1e-300)))

    def halve(_: int, interval: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = interval
        middle = 0.5 * (low + high)
        outside = jnp.sum(shrunk(middle) ** 2) > bound**2
        return jnp.where(outside, middle, low), jnp.where(outside, high, middle)

    _, log_mu = lax.fori_loop(0, _STEPS, halve, ends)
    return jnp.where(norm > bound, vectors @ shrunk(log_mu), point)
