"""Contexts of any length, divided so that their norm is at most 1.

The theory and the link need ‖x‖ ≤ 1. A scale is one divisor per feature: the posterior keeps it, and divides the
contexts of later questions by it too. θ and φ are those of the divided contexts.
"""

from __future__ import annotations

import numpy as np

from hrprob._core.errors import InvalidInput

__all__ = ["find_scale"]


def find_scale(how: object, x: np.ndarray) -> np.ndarray | None:
    """Return the divisors (d,) of contexts x (n, d), or None where contexts stay as they are.

    Parameters
    ----------
    how : bool or "columns"
        False leaves contexts as they are. True divides all by the largest norm, if that is above 1.
        "columns" divides each column by its largest absolute value, and all by √d, so that features in
        different units count alike.
    x : ndarray, shape (n, d)
        The contexts.

    Examples
    --------
    >>> x = np.array([[3.0, 4.0], [1.0, 0.0]])
    >>> find_scale(True, x).tolist()
    [5.0, 5.0]
    >>> (x / find_scale("columns", x)).round(3).tolist()
    [[0.707, 0.707], [0.236, 0.0]]
    """
    if not isinstance(how, bool) and how != "columns":
        remedy = 'true divides all contexts by the largest norm, "columns" each column by its largest value'
        raise InvalidInput("scale", 'must be true, false or "columns"', how, remedy)
    d = x.shape[1]
    if how is False:
        return None
    if how is True:
        largest = float(np.linalg.norm(x, axis=1).max(initial=0.0))
        return np.full(d, largest) if largest > 1.0 else None
    largest_by_column = np.abs(x).max(axis=0, initial=0.0)
    return np.where(largest_by_column > 0.0, largest_by_column, 1.0) * np.sqrt(d)
