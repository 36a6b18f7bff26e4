"""The first of the largest values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

__all__ = ["first_largest"]


def first_largest(values: ArrayLike, axis: int = -1) -> jax.Array:
    """Return the place of the largest value along an axis, the first of equal ones, as :func:`jax.numpy.argmax` does.

    ``argmax`` carries value and place together, which is compiled to a scalar loop; the largest value, and then the
    first place that has it, are vector instructions over the other axes. NaN counts as the largest, as it does there.

    Examples
    --------
    >>> first_largest(jnp.asarray([1.0, 3.0, 3.0])).tolist(), first_largest(jnp.asarray([1.0, np.nan, 3.0])).tolist()
    (1, 1)
    """
    values = jnp.asarray(values)
    largest = jnp.max(values, axis=axis, keepdims=True)
    # Where there is a NaN, the largest is NaN and equals nothing.
    is_largest = (values == largest) | (values != values)
    places = lax.broadcasted_iota(np.int32, values.shape, axis % values.ndim)
    return jnp.min(jnp.where(is_largest, places, np.int32(values.shape[axis] - 1)), axis=axis)
