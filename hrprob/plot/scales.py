"""Which values can share a linear axis, and when a logarithmic one is needed."""

from __future__ import annotations

import numpy as np

__all__ = ["FAR_APART", "share_linear_scale"]

FAR_APART = 8.0
"""Beyond this ratio of values, a linear axis hides the shape of the smaller ones."""

# A policy this many times worse than the next best would squeeze all others together on a linear axis.
_GAP = 5.0


def share_linear_scale(losses: np.ndarray) -> np.ndarray:
    """Say which policies can share a linear axis, given how much each loses compared with the best.

    Policies beyond the last large jump are left out, as long as they are the minority.

    Examples
    --------
    >>> share_linear_scale(np.array([300.0, 0.0, 1800.0, 37000.0])).tolist()
    [True, True, True, False]
    >>> share_linear_scale(np.array([10.0, 300.0, 400.0])).tolist()
    [True, True, True]
    """
    finite = np.isfinite(losses)
    ordered = np.sort(losses[finite & (losses > 0)])
    for gap in np.flatnonzero(ordered[1:] > _GAP * ordered[:-1])[::-1]:
        near = losses <= ordered[gap]
        if 2 * near.sum() > losses.size:
            return near
    return finite
