"""Which policies the figures of a comparison show; :mod:`hrprob.plot` draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hrprob import plot
from hrprob.comparison.records import Comparison
from hrprob.plot.canvas import add_legend, legend_height
from hrprob.plot.intervals import trials_in_words
from hrprob.plot.labels import labels_of
from hrprob.plot.sizes import LINE_HEIGHT

__all__ = ["MOST_CURVES", "best_first", "comparison_figures", "shown_policies"]

MOST_CURVES = 8
"""More curves than this cannot be distinguished in one figure."""

_LEGEND_COLUMNS = 4


def best_first(data: xarray.Dataset, comparison: Comparison) -> xarray.Dataset:
    """Return the data with the best policies first, if there are more than a figure can show.

    A policy's look depends on its index, so those that are shown differ as much as possible.
    """
    if data.sizes["policy"] <= MOST_CURVES:
        return data
    names = [standing.policy for standing in comparison.standings]
    first = [name for name in (comparison.baseline, *comparison.oracles) if name is not None]
    return data.sel(policy=first + [name for name in names if name not in first])


def shown_policies(data: xarray.Dataset) -> xarray.Dataset:
    """Return the policies whose curves are drawn: the first, after :func:`best_first`."""
    return data.isel(policy=slice(None, MOST_CURVES))


def comparison_figures(data: xarray.Dataset, comparison: Comparison) -> dict[str, Figure]:
    """Return the figures of a comparison by their names, each as wide as a page.

    Parameters
    ----------
    data : xarray.Dataset
        The data that were compared, ordered by :func:`best_first`.
    comparison : Comparison
        The result of comparing them.
    """
    shown = shown_policies(data)
    against = comparison.baseline or comparison.leader
    rows = len(comparison.rivals)
    return {
        "regret": plot.plot_regret(shown, plot.PAGE_WIDTH),
        "differences": _curves(partial(plot.differences, against=against), shown),
        "final": _page_wide(partial(plot.final_regret, at=comparison.at), data, 0.8 + 0.24 * rows),
        "lifetimes": plot.plot_lifetime(data, plot.PAGE_WIDTH),
        "optimal": _curves(plot.optimal_actions, shown),
    }


def _page_wide(draw: Callable[..., Axes], data: xarray.Dataset, height: float, **options: object) -> Figure:
    """Return a figure of one panel, as wide as a page."""
    with plot.style():
        figure = plot.new_figure(height, plot.PAGE_WIDTH)
        draw(data, figure.subplots(), **options)
    return figure


def _curves(draw: Callable[..., Axes], data: xarray.Dataset) -> Figure:
    """Return a figure of curves with a legend below."""
    lines = 2 + legend_height(list(labels_of(data).values()), _LEGEND_COLUMNS)
    figure = _page_wide(draw, data, 2.2 + LINE_HEIGHT * lines, legend=False)
    with plot.style():
        title = f"mean of {trials_in_words(data)}"
        add_legend(figure.axes[0], below=True, title=title, columns=_LEGEND_COLUMNS)
    return figure
