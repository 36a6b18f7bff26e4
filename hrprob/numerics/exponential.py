r"""The exponential of negative numbers, written out so that it becomes vector instructions.

With n the integer nearest to :math:`x / \ln 2` and :math:`r = x - n \ln 2`, so that :math:`|r| \le 0.35`,

.. math:: e^x = 2^n \sum_{k \le 12} \frac{r^k}{k!} .

XLA's own takes longer than the rest of :math:`1/\Phi`.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["LEAST", "exp_of_negative"]

LEAST = -708.0
"""Below this point eˣ leaves the range of normal numbers in double precision."""

# The next term is below 2e-16.
_COEFFICIENTS = [1.0 / math.factorial(k) for k in range(13)]
# ln 2 in two parts; the first has 32 bits, so its multiples are exact.
_LN2, _LN2_REST = 0.6931471803691238, 1.9082149292705877e-10
# An integer that is added to this number stands in the last bits of the sum.
_SHIFT = 1.5 * 2.0**52


def exp_of_negative(x: jax.Array) -> jax.Array:
    """Return eˣ for x ≤ 0 to a unit or two of its last digit; below :data:`LEAST` it stays what it is there.

    Examples
    --------
    >>> from hrprob._core.precision import double_precision
    >>> with double_precision():
    ...     print([f"{value:.12e}" for value in exp_of_negative(jnp.asarray([0.0, -1.0, -700.0]))])
    ['1.000000000000e+00', '3.678794411714e-01', '9.859676543760e-305']
    """
    if x.dtype != jnp.float64:
        return jnp.exp(x)
    x = jnp.maximum(x, LEAST)
    # Not as (… + _SHIFT) − _SHIFT, which XLA simplifies.
    n = lax.round(x * (1.0 / math.log(2.0)), lax.RoundingMethod.TO_NEAREST_EVEN)
    r = (x - n * _LN2) - n * _LN2_REST
    series = jnp.full_like(r, _COEFFICIENTS[-1])
    for coefficient in _COEFFICIENTS[-2::-1]:
        series = series * r + coefficient
    # n is added to the exponent's bits, which begin at bit 52.
    power = lax.bitcast_convert_type(n + _SHIFT, jnp.uint64) << 52
    return lax.bitcast_convert_type(lax.bitcast_convert_type(series, jnp.uint64) + power, jnp.float64)
