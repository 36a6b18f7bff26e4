"""Which values can share a linear axis, when a logarithmic one is needed, and how axes write numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from hrprob._core.formatting import format_number

__all__ = ["FAR_APART", "label_plainly", "number_ticks", "share_linear_scale"]

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


def number_ticks(axis: Axis) -> None:
    """Write the numbers of a linear axis as all other numbers are written: thousands apart, with a minus sign."""
    # A function with a name: figures that another process saves are pickled.
    axis.set_major_formatter(_tick)


def _tick(value: float, place: float = 0.0) -> str:
    return format_number(value)


def label_plainly(axis: Axis, at: Iterable[int] | None = None) -> None:
    """Label a logarithmic axis with numbers in full, at those given or at 1, 3, 10, 30, ..."""
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)) if at is None else FixedLocator(list(at)))
    number_ticks(axis)
    axis.set_minor_locator(NullLocator())
