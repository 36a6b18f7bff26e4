r"""The integral of 1/Φ − 1 above a point, for averages of lifetimes over uniform levels with normal noise.

.. math:: K(z) = \int_z^\infty \Big(\frac{1}{\Phi(t)} - 1\Big)\,dt

is the expected number of rounds beyond the first, integrated over all levels above z. It has no closed form, but
K·Φ is a smooth function below 0.5, which falls like 1/|z| for z → −∞ and like a normal density for z → ∞. It is
computed by Chebyshev polynomials in asinh(z/2), fitted once to Gauss-Legendre sums, with an error below 1e-14.
"""

from __future__ import annotations

import functools
import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import chebyshev

__all__ = ["excess_share"]

# Below _LOW, 1/Φ is infinite; above _HIGH, Φ rounds to 1 and K is 0.
_LOW, _HIGH = -39.0, 9.0
_PIECES, _TERMS = 6, 24

# The sums: nodes per panel, panels, and for z < −1 the range of the short panels in lengths 1/|z|, over which 1/Φ falls.
_NODES, _PANELS, _LENGTHS = 20, 40, 45.0


def excess_share(z: jax.Array) -> jax.Array:
    """Return K(z)·Φ(z).

    Examples
    --------
    >>> from hrprob._core.precision import double_precision
    >>> with double_precision():
    ...     excess_share(jnp.asarray([-30.0, 0.0, 3.0])).round(4).tolist()
    [0.0333, 0.2929, 0.0004]
    """
    ends, coefficients = _pieces()
    place = jnp.arcsinh(0.5 * jnp.clip(z, _LOW, _HIGH))
    # All pieces are computed and one is selected: vector operations, where a look-up table would be scalar code.
    share = _series(coefficients[0], ends[0], ends[1], place)
    for low, high, row in zip(ends[1:-1], ends[2:], coefficients[1:], strict=True):
        share = jnp.where(place > low, _series(row, low, high, place), share)
    return share


def _series(coefficients: np.ndarray, low: float, high: float, place: jax.Array) -> jax.Array:
    """Return Σ c_k T_k by Clenshaw's recurrence, T_k on [low, high]."""
    y = (2.0 * place - (low + high)) / (high - low)
    one, two = jnp.zeros_like(place), jnp.zeros_like(place)
    for c in coefficients[:0:-1].tolist():
        one, two = 2.0 * y * one - two + c, one
    return y * one - two + float(coefficients[0])


@functools.cache
def _pieces() -> tuple[list[float], np.ndarray]:
    """Return the ends of the pieces in asinh(z/2), and the Chebyshev coefficients of each."""
    ends = np.linspace(math.asinh(_LOW / 2), math.asinh(_HIGH / 2), _PIECES + 1)
    return ends.tolist(), np.array([_fitted(low, high) for low, high in pairwise(ends)])


def _fitted(low: float, high: float) -> np.ndarray:
    def share(y: np.ndarray) -> np.ndarray:
        return np.array([_summed(2.0 * math.sinh(v)) for v in (low + high + (high - low) * y) / 2])

    return chebyshev.chebinterpolate(share, _TERMS - 1)


def _summed(z: float) -> float:
    """Return ∫ Φ(z)·(1/Φ(t) − 1) dt over t above z, by panels that are short where 1/Φ falls quickly."""
    # Loaded here: most runs need none of it, and it takes a tenth of a second.
    from scipy.special import log_ndtr, ndtr

    steep = z + min(-z, -_LENGTHS / z) if z < -1.0 else z
    far = max(z, 0.0) + 12.0
    edges = np.unique([*np.linspace(z, steep, _PANELS), *np.linspace(steep, far, 2 * _PANELS)])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, None] / 2
    t = edges[:-1, None] + half * (1.0 + nodes)
    return float(np.sum(half * weights * np.exp(log_ndtr(z) - log_ndtr(t)) * ndtr(-t)))
