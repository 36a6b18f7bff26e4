"""Drawing tools that figures of several diagnostics share.

PIT-ECDF plots are drawn with the same band that the tests use (:mod:`hrprob.numerics.uniformity`),
corrected for the number of curves: a curve leaves its band, and is orange, exactly where its
quantity fails. ArviZ has such a band in some of its versions only.

Matplotlib is imported by the functions that draw, so that diagnostics can be computed without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from hrprob import plot
from hrprob.numerics.multiple_testing import holm
from hrprob.numerics.uniformity import simultaneous_band, uniformity_p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MOST_FEATURES",
    "MOST_QUANTITIES",
    "SYMBOLS",
    "indices_of_smallest",
    "pass_colour",
    "plot_pit",
    "uniformity_p_values",
]

SYMBOLS = {"phi": "φ", "theta": "θ"}
# Features and quantities that are drawn at most: as many as fit side by side on a page.
MOST_FEATURES, MOST_QUANTITIES = 4, 12


def pass_colour(fails: bool) -> str:
    """Return the colour of a curve or a bar: orange if its quantity fails."""
    return plot.look_of(1 if fails else 0).color


def uniformity_p_values(samples: Iterable[np.ndarray]) -> np.ndarray:
    """Return the p-value of uniformity of each sample."""
    return np.array([uniformity_p_value(numbers) for numbers in samples])


def indices_of_smallest(values: np.ndarray, most: int) -> np.ndarray:
    """Return the indices of the ``most`` smallest values, in rising order.

    Examples
    --------
    >>> indices_of_smallest(np.array([3.0, 1.0, 2.0]), 2).tolist()
    [1, 2]
    """
    return np.sort(np.argsort(values, kind="stable")[:most])


def plot_pit(
    pit: Mapping[str, np.ndarray], error_rate: float, columns: int = 6, most: int = MOST_QUANTITIES
) -> Figure:
    """Draw empirical distribution functions of PIT values minus the diagonal, with simultaneous bands.

    Parameters
    ----------
    pit : mapping of str to ndarray
        Numbers that should be uniform, by the name of their quantity.
    error_rate : float
        Probability at most that any curve leaves its band if all numbers are uniform.
    columns, most : int
        Panels per row, and in all: of more quantities, those with the smallest p-values are drawn.
    """
    from matplotlib.figure import Figure

    names = list(pit)
    p_values = uniformity_p_values(pit.values())
    fails = holm(p_values) < error_rate
    # Where Holm's procedure stops: quantities that fail have p-values below this level, the others do not.
    level = error_rate / max(1, int(np.sum(~fails)))
    shown = indices_of_smallest(p_values, most)
    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    with plot.style():
        figure = Figure(figsize=(plot.PAGE_WIDTH, 0.5 + 1.15 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in panels.flat[len(shown) :]:
            axes.set_visible(False)
        for axes, index in zip(panels.flat, shown, strict=False):
            _draw_pit(axes, np.asarray(pit[names[index]]).ravel(), level, fails[index])
            axes.set_title(names[index], loc="left", fontsize=7)
        for row in panels:
            row[0].set_ylabel("ECDF − z")
        for axes in panels.flat[len(shown) - columns : len(shown)]:  # the lowest of each column
            axes.set_xlabel("PIT z")
            axes.tick_params(labelbottom=True)
    return figure


def _draw_pit(axes: Axes, numbers: np.ndarray, error_rate: float, fails: bool) -> None:
    z, low, high = simultaneous_band(numbers.size, error_rate)
    axes.fill_between(z, low - z, high - z, step="mid", color=plot.BAND, linewidth=0)
    share = np.searchsorted(np.sort(numbers), z, side="right") / numbers.size
    axes.plot(z, share - z, color=pass_colour(fails))
    axes.axhline(0, color="#000000", linewidth=0.5)
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
