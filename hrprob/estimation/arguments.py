"""Checks of the arguments n and δ, which leave traced values unchecked."""

from __future__ import annotations

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import arrays_for, is_traced

__all__ = ["check_at_least_one", "check_delta"]


def check_at_least_one(
    value: ArrayLike, field: str = "n", remedy: str = "it is a number of samples"
) -> jax.Array:
    """Return ``value`` as an array, or raise if an entry is below 1."""
    if not is_traced(value) and not np.all(np.asarray(value) >= 1):
        raise InvalidInput(field, "must be at least 1", value, remedy)
    array: jax.Array = arrays_for(value).asarray(value, dtype=float)
    return array


def check_delta(value: ArrayLike) -> jax.Array:
    """Return δ as an array, or raise if an entry is not in (0, 1)."""
    if not is_traced(value):
        plain = np.asarray(value)
        if not np.all((plain > 0) & (plain < 1)):
            remedy = "it is the probability that the confidence set misses the truth"
            raise InvalidInput("delta", "must lie in (0, 1)", value, remedy)
    array: jax.Array = arrays_for(value).asarray(value, dtype=float)
    return array
