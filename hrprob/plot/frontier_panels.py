"""What inference costs: regret of policies against coverage and width of intervals from their data."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import format_number, percent
from hrprob._core.keywords import nearest_keywords
from hrprob.numerics.shares import share_interval
from hrprob.plot.canvas import new_figure
from hrprob.plot.intervals import mean_interval
from hrprob.plot.labels import label_of
from hrprob.plot.scales import label_plainly
from hrprob.plot.sizes import LINE_HEIGHT, PAGE_WIDTH
from hrprob.plot.style import BAND, GREY, style

__all__ = ["frontier"]

_COLOURS = {"wald": "#D55E00", "posterior": "#0072B2", "anytime": "#009E73"}
_KINDS = {"wald": "Wald (least squares)", "posterior": "posterior", "anytime": "anytime (likelihood ratio)"}
_SYMBOLS = {"theta": "θ", "phi": "φ"}
_MARKERS = ("D", "^", "v", "P", "X", "<", ">", "p", "*", "h", "d")
_DIALS = (("o", "-"), ("s", "--"))
_MARGIN = 0.05
# Kinds stand beside each other, not on one another: factors on the regret.
_BESIDE = {"wald": 0.97, "posterior": 1.0, "anytime": 1.03}


@nearest_keywords
def frontier(result: xarray.Dataset) -> Figure:
    """Draw regret against coverage and width of intervals, for every policy and both parameters.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.frontier`.

    Returns
    -------
    matplotlib.figure.Figure
        Above, the coverage of the coordinate that is covered least, with simultaneous 95 % intervals; below, the median over
        trials of the mean width. Lines join the settings of a dial.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> by = ("policy", "kind", "parameter", "coordinate", "trial")
    >>> result = xarray.Dataset(
    ...     {"regret": (("policy", "trial"), [[10.0, 12.0]]), "covered": (by, np.ones((1, 1, 2, 1, 2), bool)),
    ...      "width": (by, np.ones((1, 1, 2, 1, 2)))},
    ...     {"policy": ["greedy"], "dial": ("policy", [""]), "setting": ("policy", [np.nan]), "kind": ["wald"],
    ...      "parameter": ["theta", "phi"], "coordinate": [1], "trial": [0, 1]}, {"level": 0.9, "users": 100})
    >>> len(hrprob.plot.frontier(result).axes)
    4
    """
    missing = {"regret", "covered", "width"} - set(map(str, result.data_vars))
    if missing:
        remedy = "it draws what hrprob.frontier returns"
        raise InvalidInput(
            "result", f"must have {', '.join(sorted(missing))}", sorted(map(str, result)), remedy
        )
    looks = _looks(result)
    with style():
        legend = _legend(result, looks)
        rows = -(-len(legend) // 3)
        figure = new_figure(4.3 + LINE_HEIGHT * (rows + 1), PAGE_WIDTH)
        panels = figure.subplots(2, result.sizes["parameter"], sharex=True, sharey="row", squeeze=False)
        for column, parameter in enumerate(result.parameter.values):
            one = result.sel(parameter=parameter)
            _draw_coverage(panels[0, column], one, looks)
            _draw_widths(panels[1, column], one, looks)
            panels[0, column].set_title(f"intervals of {_SYMBOLS.get(str(parameter), parameter)}", loc="left")
            panels[1, column].set_xlabel(f"regret after {format_number(result.attrs['users'])} users")
        # Rows share their axes, so they must have room for all columns.
        shares = result.covered.astype(float).mean("trial").min()
        panels[0, 0].set_ylim(min(0.6, float(shares) - 0.08), 1.03)
        widths = result.width.mean("coordinate").median("trial")
        panels[1, 0].set_ylim(float(widths.min()) / 1.3, 1.3 * float(widths.max()))
        panels[0, 0].set_ylabel("coverage of the coordinate\ncovered least")
        panels[1, 0].set_ylabel("width, median over trials")
        figure.legend(handles=legend, loc="outside lower center", ncols=3)
    return figure


def _looks(result: xarray.Dataset) -> dict[str, tuple[str, str]]:
    """Return marker and line of every policy: one of both per dial, a marker of its own for each of the others.

    Where there are more of the others than markers, they are numbered.
    """
    dials = list(_dials(result))
    looks, alone, others = {}, 0, sum(not str(dial) for dial in result.dial.values)
    marks = _MARKERS if others <= len(_MARKERS) else tuple(f"${number + 1}$" for number in range(others))
    for name, dial in zip(result.policy.values, result.dial.values, strict=True):
        if str(dial):
            looks[str(name)] = _DIALS[dials.index(str(dial)) % len(_DIALS)]
        else:
            looks[str(name)] = (marks[alone], "")
            alone += 1
    return looks


def _legend(result: xarray.Dataset, looks: dict[str, tuple[str, str]]) -> list[Line2D]:
    """Return the entries: kinds by colour, dials by line, other policies by marker."""
    entries = [
        Line2D([], [], color=_COLOURS[str(kind)], marker="o", linestyle="none", label=_KINDS[str(kind)])
        for kind in result.kind.values
    ]
    for dial, own in _dials(result).items():
        marker, line = looks[str(result.policy.values[own[0]])]
        label = f"{dial} {', '.join(f'{value:g}' for value in result.setting.values[own])}"
        entries.append(Line2D([], [], color=GREY, marker=marker, linestyle=line, label=label))
    for name, dial in zip(result.policy.values, result.dial.values, strict=True):
        if not str(dial):
            label = label_of(str(name), 40)
            entries.append(
                Line2D([], [], color=GREY, linestyle="none", label=label, **_marked(looks[str(name)][0], 6.0))
            )
    return entries


class _Marked(TypedDict, total=False):
    """What Matplotlib is told of a marker."""

    marker: str
    markersize: float
    markeredgewidth: float


def _marked(marker: str, size: float) -> _Marked:
    """Return how a marker is drawn: a number with a thin edge, or its digits run into each other."""
    if marker.startswith("$"):
        return {"marker": marker, "markersize": size, "markeredgewidth": 0.2}
    return {"marker": marker, "markersize": 0.64 * size}


def _draw_coverage(axes: Axes, result: xarray.Dataset, looks: dict[str, tuple[str, str]]) -> None:
    level, trials = float(result.attrs["level"]), result.sizes["trial"]
    tail = 0.025 / result.sizes["coordinate"]
    axes.axhspan(level - _MARGIN, 1.0, color=BAND, alpha=0.45, linewidth=0, zorder=0)
    axes.axhline(level, color="#000000", linewidth=0.7, zorder=1)
    shares = result.covered.astype(float).mean("trial").min("coordinate")
    for kind in result.kind.values:
        share = shares.sel(kind=kind).values
        ends = np.array([share_interval(round(one * trials), trials, tail) for one in share])
        away = np.abs(ends.T - share)
        _draw(axes, result, str(kind), share, looks, away)
        if kind == "wald":
            _name_settings(axes, result, "wald", share)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.text(
        1.0,
        level,
        f"{percent(level)} ",
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="bottom",
        fontsize=6,
    )


def _draw_widths(axes: Axes, result: xarray.Dataset, looks: dict[str, tuple[str, str]]) -> None:
    widths = result.width.mean("coordinate").median("trial")
    for kind in result.kind.values:
        _draw(axes, result, str(kind), widths.sel(kind=kind).values, looks)
    axes.set_yscale("log")
    label_plainly(axes.yaxis)


def _draw(
    axes: Axes,
    result: xarray.Dataset,
    kind: str,
    values: np.ndarray,
    looks: dict[str, tuple[str, str]],
    away: np.ndarray | None = None,
) -> None:
    """Draw one value per policy against its regret, joined along each dial; without bars of values, with those of regrets."""
    regret, half = mean_interval(result.regret.values, axis=1)
    half = np.nan_to_num(half)
    x, colour = _BESIDE[kind] * regret, _COLOURS[kind]
    for own in _dials(result).values():
        line = looks[str(result.policy.values[own[0]])][1]
        axes.plot(x[own], values[own], color=colour, linestyle=line, linewidth=0.8, alpha=0.7, zorder=2)
    for place, name in enumerate(result.policy.values):
        axes.errorbar(
            x[place],
            values[place],
            xerr=half[place] if away is None else None,
            yerr=None if away is None else away[:, place, None],
            color=colour,
            elinewidth=0.4,
            linestyle="none",
            zorder=3,
            **_marked(looks[str(name)][0], 5.0),
        )
    if regret.min() > 0.0:  # an oracle has none, and no place on a logarithmic axis
        axes.set_xscale("log")
        # Where the interval of a small regret reaches 0, the axis ends at half of that regret.
        low = np.maximum(regret - half, 0.5 * regret)
        axes.set_xlim(0.9 * float(low.min()), 1.1 * float((regret + half).max()))
        label_plainly(axes.xaxis)


def _dials(result: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return the places of the policies on each dial, by their settings."""
    names = dict.fromkeys(str(dial) for dial in result.dial.values if str(dial))
    places = {name: np.flatnonzero(result.dial.values == name) for name in names}
    return {name: own[np.argsort(result.setting.values[own])] for name, own in places.items()}


def _name_settings(axes: Axes, result: xarray.Dataset, kind: str, values: np.ndarray) -> None:
    """Write the settings of a dial beside its markers."""
    regret = _BESIDE[kind] * result.regret.values.mean(axis=1)
    for own in _dials(result).values():
        for place in own if len(own) > 1 else ():
            axes.annotate(
                f"{result.setting.values[place]:g}",
                (regret[place], values[place]),
                xytext=(-3, -2),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=5,
                color=GREY,
            )
