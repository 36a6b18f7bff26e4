"""Adjusted p-values for several tests at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["holm"]


def holm(p_values: ArrayLike) -> np.ndarray:
    """Return Holm's adjusted p-values, in the order given.

    If hypotheses with an adjusted p-value below α are rejected, the probability of any false rejection is at most
    α, however the tests depend on each other [1]_.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
       Statistics 6(2), 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    scaled = p[order] * (p.size - np.arange(p.size))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted
