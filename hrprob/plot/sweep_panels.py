"""How regret depends on swept fields: response curves and heat maps."""

from __future__ import annotations

import json

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import format_number
from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import add_legend, drawn_on, legend_height, new_figure
from hrprob.plot.intervals import mean_interval, trials_in_words
from hrprob.plot.labels import label_of, note_above
from hrprob.plot.scales import FAR_APART, number_ticks
from hrprob.plot.sizes import COLUMN_WIDTH, LINE_HEIGHT, PAGE_WIDTH
from hrprob.plot.style import look_of, style

__all__ = ["heat_map", "plot_sweep", "response"]

_HEIGHT = 1.9
_PANELS_ABREAST = 3
# Values on a heat map are readable up to so many cells in a row.
_MOST_NUMBERS = 10


@nearest_keywords
def response(
    result: xarray.Dataset, field: str | None = None, ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw the mean regret of every policy against a swept field, with 95 % intervals.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.sweep`.
    field : str, optional
        The field; it may be left out if one was swept. On a grid of several fields the regrets are averaged over the values of
        the others; choose one of these with ``result.sel({"problem.link.offset": 2.0})`` instead.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        A curve with a band per policy; points with error bars where the values were drawn.

    Examples
    --------
    >>> import hrprob
    >>> fields = {"problem.satisfaction.low": [-1.0, 0.0]}
    >>> result = hrprob.sweep(hrprob.Problem(), [hrprob.Oracle(), hrprob.Random()], fields, users=50, trials=2)
    >>> hrprob.plot.response(result).get_xlabel()
    'problem.satisfaction.low'
    """
    chosen = _chosen(result, field)
    names = [label_of(str(name)) for name in result.policy.values]
    with drawn_on(ax, legend=2 + legend_height(names)) as axes:
        _draw_response(axes, result, chosen)
        if legend:
            add_legend(axes, below=ax is None, title=f"mean of {trials_in_words(result)}")
    return axes


@nearest_keywords
def heat_map(
    result: xarray.Dataset,
    policy: str | None = None,
    fields: tuple[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean regret of a policy over two swept fields of a grid.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.sweep`.
    policy : str, optional
        The policy; it may be left out if there is one.
    fields : tuple of two str, optional
        The fields, upwards and to the right; they may be left out if two were swept. Regrets are averaged over the values of others.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.

    Returns
    -------
    matplotlib.axes.Axes
        A cell per point, with its mean regret.

    Examples
    --------
    >>> import hrprob
    >>> fields = {"problem.satisfaction.low": [-1.0, 0.0], "problem.link.offset": [2.0, 3.0]}
    >>> result = hrprob.sweep(hrprob.Problem(), hrprob.Random(), fields, users=50, trials=2)
    >>> hrprob.plot.heat_map(result).get_xlabel()
    'problem.link.offset'
    """
    axes_of_grid = _grid_axes(result)
    names = [str(name) for name in result.policy.values]
    if policy is None and len(names) == 1:
        policy = names[0]
    if policy not in names:
        raise InvalidInput("policy", "must be a policy of the sweep", policy, f"it has {', '.join(names)}")
    chosen = tuple(axes_of_grid) if fields is None else tuple(fields)
    if len(chosen) != 2 or not set(chosen) <= set(axes_of_grid):
        remedy = f"the axes of the grid are {', '.join(axes_of_grid) or 'none'}; draws have no heat map"
        raise InvalidInput("fields", "must be two fields of a grid", chosen, remedy)
    with drawn_on(ax) as axes:
        _draw_heat_map(axes, result, str(policy), (chosen[0], chosen[1]))
    return axes


def plot_sweep(result: xarray.Dataset) -> Figure:
    """Return the figure of a sweep, as ``hrprob sweep`` writes it.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.sweep`.

    Returns
    -------
    Figure
        :func:`heat_map` of every policy over a grid of two fields; else :func:`response` to every field.

    Examples
    --------
    >>> import hrprob
    >>> fields = {"problem.satisfaction.low": [-1.0, 0.0]}
    >>> result = hrprob.sweep(hrprob.Problem(), [hrprob.Oracle(), hrprob.Random()], fields, users=50, trials=2)
    >>> len(plot_sweep(result).axes)
    1
    """
    grid = [field for field in _grid_axes(result) if result.sizes[field] > 1]
    names = [str(name) for name in result.policy.values]
    # An oracle loses nothing anywhere, and has nothing to show on a map.
    shown = [name for name in names if bool((result.final_regret.sel(policy=name) != 0).any())] or names
    two = len(grid) == 2 and len(_fields(result)) == 2
    count = len(shown) if two else len(_fields(result))
    abreast = min(count, _PANELS_ABREAST)
    rows = -(-count // abreast)
    lines = 0 if two else 2 + legend_height([label_of(name) for name in names], 2 if abreast == 1 else 4)
    with style():
        width = COLUMN_WIDTH if abreast == 1 else PAGE_WIDTH
        figure = new_figure(_HEIGHT * rows + LINE_HEIGHT * lines, width)
        panels = figure.subplots(rows, abreast, squeeze=False).ravel()
        for panel in panels[count:]:
            panel.remove()
        if two:
            for panel, name in zip(panels, shown, strict=False):
                _draw_heat_map(panel, result, name, (grid[0], grid[1]))
        else:
            for panel, field in zip(panels, _fields(result), strict=False):
                _draw_response(panel, result, field)
            title = f"mean of {trials_in_words(result)}"
            add_legend(panels[0], below=True, title=title, columns=2 if abreast == 1 else 4)
    return figure


def _fields(result: xarray.Dataset) -> list[str]:
    """Return the swept fields, but for those that were chosen away."""
    if "fields" not in result.attrs or "final_regret" not in result:
        raise InvalidInput(
            "result", "must be of hrprob.sweep", list(result), "hrprob.plot.regret draws a run"
        )
    fields = [str(field) for field in json.loads(result.attrs["fields"])]
    left = [field for field in fields if field in result.coords and result[field].ndim]
    if not left:
        raise InvalidInput("result", "must have a swept field", fields, "leave one of them as an axis")
    return left


def _grid_axes(result: xarray.Dataset) -> list[str]:
    return [field for field in _fields(result) if field in result.dims]


def _chosen(result: xarray.Dataset, field: str | None) -> str:
    fields = _fields(result)
    if field is None and len(fields) == 1:
        return fields[0]
    if field not in fields:
        remedy = f"the swept fields are {', '.join(fields)}"
        raise InvalidInput("field", "must be a swept field", field, remedy)
    return str(field)


def _draw_response(axes: Axes, result: xarray.Dataset, field: str) -> None:
    drawn = field not in result.dims
    axis = "point" if drawn else field
    regret = result.final_regret
    others = [name for name in regret.dims if name not in (axis, "policy", "trial")]
    # Averaged within each trial, whose users all points share.
    values = regret.mean(others).transpose("policy", "trial", axis).values
    coordinate = np.asarray(result[field].values)
    numeric = coordinate.dtype.kind in "iuf"
    names = list(dict.fromkeys(map(str, coordinate.tolist())))
    x = (
        coordinate.astype(float)
        if numeric
        else np.array([names.index(str(one)) for one in coordinate.tolist()])
    )
    for row, name in enumerate(result.policy.values):
        look = look_of(row)
        mean, half = mean_interval(np.where(np.isfinite(values[row]), values[row], np.nan))
        label = label_of(str(name))
        if drawn or not numeric:
            axes.errorbar(
                x, mean, np.nan_to_num(half), fmt=look.marker, color=look.color, label=label, ms=3, lw=0.8
            )
        else:
            axes.plot(x, mean, **look._asdict(), markeredgewidth=0, label=label, zorder=3)
            axes.fill_between(x, mean - half, mean + half, color=look.color, alpha=0.2, linewidth=0, zorder=2)
    _scale(axes, x, numeric, names)
    axes.set_xlabel(field)
    axes.set_ylabel(f"regret ({result.final_regret.attrs.get('units', 'rounds')})")
    axes.set_ylim(bottom=0)
    number_ticks(axes.yaxis)
    if others:
        note_above(axes, "mean over the values of the other fields")


def _scale(axes: Axes, x: np.ndarray, numeric: bool, names: list[str]) -> None:
    if not numeric:
        axes.set_xticks(range(len(names)), [label_of(name) for name in names])
    elif x.min() > 0 and x.max() > FAR_APART * x.min() and _is_logarithmic(x):
        axes.set_xscale("log")
    elif np.all(x == np.rint(x)):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _is_logarithmic(x: np.ndarray) -> bool:
    """Say whether values are spread evenly in their logarithm: their median is then near the geometric mean of the ends."""
    low, high, middle = x.min(), x.max(), float(np.median(x))
    return bool(abs(middle - np.sqrt(low * high)) < abs(middle - 0.5 * (low + high)))


def _draw_heat_map(axes: Axes, result: xarray.Dataset, policy: str, fields: tuple[str, str]) -> None:
    regret = result.final_regret.sel(policy=policy)
    others = [name for name in regret.dims if name not in fields]
    values = regret.mean(others).transpose(*fields).values
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="cividis_r")
    middle = 0.5 * (np.nanmin(values) + np.nanmax(values))
    if values.shape[1] <= _MOST_NUMBERS:
        for row, column in np.argwhere(np.isfinite(values)):
            color = "#FFFFFF" if values[row, column] > middle else "#000000"
            text = format_number(float(values[row, column]), 0)
            axes.text(column, row, text, ha="center", va="center", fontsize=6, color=color)
    for name, set_ticks, length in (
        (fields[1], axes.set_xticks, values.shape[1]),
        (fields[0], axes.set_yticks, values.shape[0]),
    ):
        every = -(-length // _MOST_NUMBERS)
        labels = [_tick(value) for value in result[name].values.tolist()]
        set_ticks(range(0, length, every), labels[::every])
    axes.set(xlabel=fields[1], ylabel=fields[0])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.colorbar(image, ax=axes, label="regret", pad=0.02)
    note_above(axes, policy)


def _tick(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
