"""Mean regret of every policy along the users."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import add_legend, drawn_on, legend_height, new_figure
from hrprob.plot.intervals import mean_interval, trials_in_words
from hrprob.plot.labels import labels_of, note_above
from hrprob.plot.scales import FAR_APART, number_ticks, share_linear_scale
from hrprob.plot.sizes import COLUMN_WIDTH, LINE_HEIGHT
from hrprob.plot.style import GREY, look_of, style

__all__ = ["growth", "plot_regret", "regret"]

# More points than a column can show would only make files large.
_POINTS = 200
_MARKERS_PER_CURVE = 7
_GUIDES = {1.0: "slope 1: linear", 0.5: "slope ½: √t"}


@nearest_keywords
def regret(result: xarray.Dataset, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw the mean regret of every policy against the number of users served, with 95 % bands.

    Where some policies lose many times more than most, the axis ends above those that can be compared on it, and the
    others are named above the panel; :func:`growth` shows them all.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`: ``regret`` over policy, trial and user.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a curve and a band per policy.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> values = np.sqrt(np.arange(1.0, 101.0)) * [[[1.0], [1.2]], [[2.0], [2.4]]]
    >>> axes = ("policy", "trial", "user")
    >>> result = xarray.Dataset({"regret": (axes, values)}, {"policy": ["greedy", "HR-UCB"], "user": range(1, 101)})
    >>> ax = hrprob.plot.regret(result)
    >>> ax.get_ylabel(), [line.get_label() for line in ax.lines]
    ('regret (rounds)', ['greedy', 'HR-UCB'])
    """
    labels = list(labels_of(result).values())
    with drawn_on(ax, legend=2 + legend_height(labels)) as axes:
        last = result.regret.isel(user=-1).mean("trial").values
        _draw_linear(axes, result, share_linear_scale(last))
        axes.set_xlabel("users")
        if legend:
            add_legend(axes, below=ax is None, title=f"mean of {trials_in_words(result)}")
    return axes


@nearest_keywords
def growth(
    result: xarray.Dataset, ax: Axes | None = None, *, guides: bool = True, legend: bool = True
) -> Axes:
    """Draw the mean regret of every policy on logarithmic axes: its slope is the growth exponent.

    A slope of 1 is linear regret, a slope of ½ grows with the square root of the users, and a flat curve has stopped
    losing. Exploration that dies out lowers the slope of a policy of linear regret too: a slope describes, and
    does not decide (:mod:`hrprob.comparison.growth` tests).

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    guides : bool, default True
        Whether to draw grey lines of slope 1 and ½.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Policies that lose nothing cannot be drawn on them, and are named above.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> values = np.sqrt(np.arange(1.0, 101.0)) * [[[1.0], [1.2]], [[2.0], [2.4]]]
    >>> axes = ("policy", "trial", "user")
    >>> result = xarray.Dataset({"regret": (axes, values)}, {"policy": ["greedy", "HR-UCB"], "user": range(1, 101)})
    >>> hrprob.plot.growth(result).get_yscale()
    'log'
    """
    labels = list(labels_of(result).values())
    with drawn_on(ax, legend=2 + legend_height([*labels, ""] if guides else labels)) as axes:
        _draw_logarithmic(axes, result)
        if guides:
            _draw_guides(axes)
        axes.set_xlabel("users")
        if legend:
            add_legend(axes, below=ax is None, title=f"mean of {trials_in_words(result)}")
    return axes


def plot_regret(dataset: xarray.Dataset, width: float = COLUMN_WIDTH) -> Figure:
    """Return the figure of a run's regret, as ``hrprob run`` writes it: :func:`regret`, and :func:`growth` if needed.

    If the final regrets are far apart, a second panel has two logarithmic axes.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`hrprob.simulate`.
    width : float
        Inches; a wide figure has its panels side by side.

    Returns
    -------
    Figure
        One curve per policy with its band, and a legend below.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> plot_regret(result).axes[0].get_xlabel()
    'users'
    """
    last = dataset.regret.isel(user=-1).mean("trial").values
    positive = last[(last > 0) & np.isfinite(last)]
    far_apart = positive.size > 1 and positive.max() > FAR_APART * positive.min()
    wide = width > 1.5 * COLUMN_WIDTH
    columns = 4 if wide else 2
    rows = 2 if far_apart and not wide else 1
    lines = 2 + legend_height(list(labels_of(dataset).values()), columns)
    with style():
        figure = new_figure((2.2 if wide else 1.75) * rows + LINE_HEIGHT * lines, width)
        axes = figure.subplots(rows, 1 + far_apart if wide else 1, squeeze=False).ravel()
        _draw_linear(axes[0], dataset, share_linear_scale(last))
        if far_apart:
            growth(dataset, axes[1], guides=False, legend=False)
            axes[1].set_xlabel("")
        for lowest in axes if wide else axes[-1:]:
            lowest.set_xlabel("users")
        figure.align_ylabels()
        add_legend(axes[0], below=True, title=f"mean of {trials_in_words(dataset)}", columns=columns)
    return figure


def _draw_linear(axes: Axes, dataset: xarray.Dataset, on_scale: np.ndarray) -> None:
    users = dataset.user.values
    tops = _draw_curves(axes, dataset, np.linspace(users[0], users[-1], _POINTS))
    top = max(tops[on_scale], default=0.0)
    axes.set_xlim(0, float(users[-1]))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylim(0, 1.05 * top if top > 0 else 1)
    axes.set_ylabel(_axis_label(dataset))
    number_ticks(axes.xaxis)
    number_ticks(axes.yaxis)
    if not on_scale.all():
        names = ", ".join(str(name) for name in dataset.policy.values[~on_scale])
        note_above(axes, f"linear; off the scale: {names}")


def _draw_logarithmic(axes: Axes, dataset: xarray.Dataset) -> None:
    users = dataset.user.values
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_curves(axes, dataset, np.geomspace(users[0], users[-1], _POINTS))
    means = dataset.regret.mean("trial").values
    positive = means[(means > 0) & np.isfinite(means)]
    axes.set_xlim(float(users[0]), float(users[-1]))
    if positive.size:
        axes.set_ylim(positive.min() / 1.5, positive.max() * 1.5)
    axes.set_ylabel(_axis_label(dataset))
    zero = ", ".join(str(name) for name in dataset.policy.values[~(means > 0).any(axis=1)])
    note_above(axes, f"log–log; zero: {zero}" if zero else "log–log")


def _draw_guides(axes: Axes) -> None:
    """Draw lines of slope 1 and ½ that end in the upper right corner."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    x = np.array([left, right])
    for slope, label in _GUIDES.items():
        line = (0, (4, 2)) if slope == 1.0 else (0, (1, 2))
        axes.plot(x, high * (x / right) ** slope, color=GREY, lw=0.7, linestyle=line, label=label, zorder=1)
    axes.set(xlim=(left, right), ylim=(low, high))


def _axis_label(dataset: xarray.Dataset) -> str:
    return f"regret ({dataset.regret.attrs.get('units', 'rounds')})"


def _draw_curves(axes: Axes, dataset: xarray.Dataset, wanted: np.ndarray) -> np.ndarray:
    """Draw every policy's mean and band near the users ``wanted``; return how high each reaches."""
    users = dataset.user.values
    shown = np.unique(np.searchsorted(users, wanted).clip(max=len(users) - 1))
    every = max(1, len(shown) // _MARKERS_PER_CURVE)
    tops = []
    for index, label in enumerate(labels_of(dataset).values()):
        values = dataset.regret.values[index][:, shown]
        mean, half = mean_interval(np.where(np.isfinite(values), values, np.nan))
        low, high = mean - half, mean + half
        if axes.get_yscale() == "log":
            # This axis has no zero; a band that reaches zero continues below the panel.
            mean = np.where(mean > 0, mean, np.nan)
            low = np.maximum(low, 1e-12 * mean)
        look = look_of(index)
        # Markers of different policies are at different users, so that none hides another.
        start = index * every // dataset.sizes["policy"]
        axes.plot(
            users[shown],
            mean,
            **look._asdict(),
            markevery=(start, every),
            markeredgewidth=0,
            label=label,
            zorder=3,
        )
        axes.fill_between(users[shown], low, high, color=look.color, alpha=0.2, linewidth=0, zorder=2)
        tops.append(max(high[np.isfinite(high)], default=max(mean[np.isfinite(mean)], default=0.0)))
    return np.array(tops)
