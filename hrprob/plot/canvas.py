"""Axes to draw on: those that are given, or new ones in hrprob's style, and legends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hrprob.plot.sizes import COLUMN_WIDTH, LINE_HEIGHT
from hrprob.plot.style import SETTINGS, style

__all__ = ["add_legend", "drawn_on", "legend_height", "new_figure"]


@contextlib.contextmanager
def drawn_on(
    ax: Axes | None, *, height: float = 2.3, width: float = COLUMN_WIDTH, legend: int = 0
) -> Iterator[Axes]:
    """Yield the axes to draw on.

    Parameters
    ----------
    ax : Axes or None
        Given axes are drawn on as they are. None makes a figure in hrprob's style, which a notebook shows.
    height, width : float
        Inches of a new figure, without its legend.
    legend : int
        Lines of text for which a new figure has room below.

    Examples
    --------
    >>> with drawn_on(None) as axes:
    ...     lines = axes.plot([0, 1], [0, 1])
    >>> float(axes.get_figure().get_figwidth())
    3.3
    """
    if ax is not None:
        yield ax
        return
    # Only figures that pyplot knows are shown by notebooks and by pyplot.show().
    from matplotlib import pyplot

    with style():
        figure = pyplot.figure(figsize=(width, height + LINE_HEIGHT * legend), layout="constrained")
        axes = figure.subplots()
        _pin_style(axes)
        yield axes


def new_figure(height: float, width: float = COLUMN_WIDTH) -> Figure:
    """Return an empty figure that no backend knows, for a file; make it within :func:`~hrprob.plot.style`."""
    return Figure(figsize=(width, height), layout="constrained")


def _pin_style(axes: Axes) -> None:
    """Fix what Matplotlib would otherwise look up when it draws, which is after the style has ended."""
    axes.tick_params(
        which="major", labelsize=SETTINGS["xtick.labelsize"], width=SETTINGS["xtick.major.width"]
    )
    axes.tick_params(which="minor", width=SETTINGS["xtick.minor.width"])
    axes.grid(visible=True, color=SETTINGS["grid.color"], linewidth=SETTINGS["grid.linewidth"])


def legend_height(labels: list[str], columns: int = 2) -> int:
    r"""Return how many lines of text a legend with ``columns`` columns has.

    Examples
    --------
    >>> legend_height(["a", "b with\na second line", "c"])
    3
    """
    lines = [1 + label.count("\n") for label in labels]
    rows = -(-len(lines) // columns)
    return max((sum(lines[start : start + rows]) for start in range(0, len(lines), rows)), default=0)


def add_legend(axes: Axes, *, below: bool, title: str = "", columns: int = 2) -> None:
    """Add a legend: below the figure if that is hrprob's own, else within the axes."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    if not below:
        axes.legend()
        return
    figure = axes.get_figure(root=True)
    assert figure is not None
    columns = min(columns, len(handles))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, title=title or None, title_fontsize=7
    )
