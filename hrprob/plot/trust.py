"""Can a posterior be trusted? Coverage of its intervals, and reliability of its probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray
from matplotlib.axes import Axes

from hrprob._core.errors import check_choice
from hrprob._core.formatting import format_number
from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import add_legend, drawn_on, legend_height
from hrprob.plot.scales import number_ticks
from hrprob.plot.style import BAND, look_of

if TYPE_CHECKING:
    from hrprob.diagnostics.runner import Diagnosis

__all__ = ["calibration", "reliability"]


@nearest_keywords
def calibration(
    source: Diagnosis | xarray.Dataset,
    ax: Axes | None = None,
    *,
    users: int | None = None,
    legend: bool = True,
) -> Axes:
    """Draw how often intervals for σ²(x) cover it, minus how often they should, with two standard errors.

    Parameters
    ----------
    source : Diagnosis or xarray.Dataset
        The result of :func:`hrprob.diagnostics.diagnose`, or of :func:`hrprob.diagnostics.coverage`: ``coverage`` and
        ``se`` over region, users and level.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    users : int, optional
        The number of users after which the posterior was fitted; by default the largest.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        One marker per level and region of contexts: at 0 intervals are calibrated, below they are too narrow.

    Examples
    --------
    >>> import hrprob, xarray
    >>> axes = ("region", "users", "level")
    >>> table = xarray.Dataset(
    ...     {"coverage": (axes, [[[0.48, 0.93]]]), "se": (axes, [[[0.02, 0.01]]])},
    ...     {"region": ["all"], "users": [300], "level": [0.5, 0.9]})
    >>> hrprob.plot.calibration(table).get_title(loc="left")
    '300 users'
    """
    table = source if isinstance(source, xarray.Dataset) else source.coverage
    cells = table.sel(users=int(table.users.values[-1]) if users is None else users)
    levels = table.level.values
    regions = [str(name) for name in table.region.values]
    with drawn_on(ax, legend=2 + legend_height(regions)) as axes:
        for index, region in enumerate(regions):
            look, one = look_of(index), cells.sel(region=region)
            axes.errorbar(
                np.arange(len(levels)) + (index - (len(regions) - 1) / 2) * 0.12,
                100 * (one.coverage.values - levels),
                yerr=200 * one.se.values,
                color=look.color,
                marker=look.marker,
                linestyle="none",
                elinewidth=0.7,
                markersize=3,
                label=region,
            )
        axes.axhline(0, color="#000000", linewidth=0.7, zorder=1)
        axes.set_xticks(np.arange(len(levels)), [f"{100 * level:g} %" for level in levels])
        number_ticks(axes.yaxis)
        axes.set_title(f"{format_number(cells.users)} users", loc="left")
        axes.set_xlabel("level of the interval")
        if ax is None:
            axes.set_ylabel("coverage − level\n(percentage points)")
        if legend:
            add_legend(axes, below=ax is None, title="contexts; bars are two standard errors")
    return axes


@nearest_keywords
def reliability(
    source: Diagnosis | xarray.Dataset,
    ax: Axes | None = None,
    *,
    predictor: str = "posterior",
    truths: str | None = None,
) -> Axes:
    """Draw the share of users who left at once against its predicted probability.

    Parameters
    ----------
    source : Diagnosis or xarray.Dataset
        The result of :func:`hrprob.diagnostics.diagnose`, or of :func:`hrprob.diagnostics.reliability`: ``predicted``,
        ``observed``, ``se`` and ``count`` over predictor and bin.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    predictor : str, default "posterior"
        Whose predictions.
    truths : str, optional
        Of a diagnosis: which of its tables, by the truths that users were simulated with; by default the first.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. The grey band, two standard errors about the diagonal, is where points lie if probabilities are right.

    Examples
    --------
    >>> import hrprob, xarray
    >>> axes = ("predictor", "bin")
    >>> table = xarray.Dataset(
    ...     {"predicted": (axes, [[0.2, 0.6]]), "observed": (axes, [[0.25, 0.58]]), "se": (axes, [[0.03, 0.04]]),
    ...      "count": (axes, [[200, 200]])}, {"predictor": ["posterior"]})
    >>> hrprob.plot.reliability(table).get_xlabel()
    'predicted probability'
    """
    table, title = _reliability_table(source, predictor, truths)
    check_choice("predictor", predictor, tuple(str(name) for name in table.predictor.values))
    names = [str(name) for name in table.predictor.values]
    one = table.sel(predictor=predictor)
    used = one["count"].values > 0
    look = look_of(names.index(predictor))
    middle, half = one.predicted.values[used], 2 * one.se.values[used]
    with drawn_on(ax, height=2.6) as axes:
        axes.fill_between(middle, middle - half, middle + half, color=BAND, linewidth=0)
        axes.plot([0, 1], [0, 1], color="#000000", linewidth=0.6)
        axes.plot(middle, one.observed.values[used], color=look.color, marker=look.marker)
        axes.set_title(title, loc="left", fontsize=7)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        if ax is None:
            axes.set(xlabel="predicted probability", ylabel="share who left at once")
    return axes


def _reliability_table(
    source: Diagnosis | xarray.Dataset, predictor: str, truths: str | None
) -> tuple[xarray.Dataset, str]:
    if isinstance(source, xarray.Dataset):
        return source, predictor if truths is None else f"{predictor}, {truths}"
    tables: Mapping[str, xarray.Dataset] = source.reliability
    chosen = next(iter(tables)) if truths is None else truths
    check_choice("truths", chosen, tuple(tables))
    return tables[chosen], f"{predictor}, {chosen}"
