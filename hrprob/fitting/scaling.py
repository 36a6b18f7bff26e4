"""Contexts of any length, divided so that their norm is at most 1.

The theory and the link need ‖x‖ ≤ 1. A scale is one divisor per feature, after a centre was subtracted where there is one:
the posterior keeps both, and treats the contexts of later questions in the same way. θ and φ are those of the divided
contexts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput

__all__ = ["Scaling", "find_scale", "find_scaling"]


def find_scale(how: object, x: np.ndarray) -> np.ndarray | None:
    """Return the divisors (d,) of contexts x (n, d), or None where contexts stay as they are.

    Parameters
    ----------
    how : bool, "columns" or "standardise"
        False leaves contexts as they are. True divides all by the largest norm, if that is above 1.
        "columns" divides each column by its largest absolute value, and all by √d, so that features in
        different units count alike. "standardise", for contexts that are centred, divides each column by its standard
        deviation, and all by the largest norm that is left.
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
    if not isinstance(how, bool) and how not in ("columns", "standardise"):
        remedy = (
            'true divides all contexts by the largest norm, "columns" each column by its largest value, "standardise" '
            "centres each column and divides it by its standard deviation"
        )
        raise InvalidInput("scale", 'must be true, false, "columns" or "standardise"', how, remedy)
    d = x.shape[1]
    if how is False:
        return None
    if how is True:
        largest = float(np.linalg.norm(x, axis=1).max(initial=0.0))
        return np.full(d, largest) if largest > 1.0 else None
    if how == "standardise":
        sd = x.std(axis=0)
        sd = np.where(sd > 0.0, sd, 1.0)
        largest = float(np.linalg.norm(x / sd, axis=1).max(initial=0.0))
        return sd * (largest or 1.0)
    largest_by_column = np.abs(x).max(axis=0, initial=0.0)
    return np.where(largest_by_column > 0.0, largest_by_column, 1.0) * np.sqrt(d)


class Scaling(NamedTuple):
    """What was done to contexts: a centre subtracted, then a division; None where nothing was."""

    centre: np.ndarray | None
    divisors: np.ndarray | None

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return contexts (n, d) as a model sees them."""
        centred = x if self.centre is None else x - self.centre
        return centred if self.divisors is None else centred / self.divisors


def find_scaling(how: object, x: np.ndarray) -> Scaling:
    """Return centre and divisors of contexts x (n, d); only "standardise" has a centre, the mean of each column.

    Examples
    --------
    >>> x = np.array([[10.0, 1.0], [14.0, 3.0], [12.0, 2.0]])
    >>> find_scaling("standardise", x).apply(x).round(3).tolist()
    [[-0.707, -0.707], [0.707, 0.707], [0.0, 0.0]]
    """
    centre = x.mean(axis=0) if isinstance(how, str) and how == "standardise" and len(x) else None
    return Scaling(centre, find_scale(how, x if centre is None else x - centre))
