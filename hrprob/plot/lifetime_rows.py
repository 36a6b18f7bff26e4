"""One row per policy: mean realised lifetimes, and the distribution of final regrets over trials."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hrprob._core.formatting import format_number
from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import drawn_on, new_figure
from hrprob.plot.intervals import mean_interval, trials_in_words
from hrprob.plot.labels import label_of, labels_of, note_above
from hrprob.plot.scales import FAR_APART, number_ticks, share_linear_scale
from hrprob.plot.sizes import COLUMN_WIDTH, LINE_HEIGHT
from hrprob.plot.style import GREY, look_of, style
from hrprob.simulation.reading import oracles_of

__all__ = ["final_regret", "lifetimes", "plot_lifetime"]


@nearest_keywords
def lifetimes(result: xarray.Dataset, ax: Axes | None = None, *, against: str | None = None) -> Axes:
    """Draw the mean realised lifetime of every policy, or its difference from that of another.

    All policies meet the same users and the same noise, so differences, which are paired by trial, are
    estimated far more precisely than the lifetimes themselves.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`: ``mean_lifetime`` over policy and trial.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    against : str, optional
        The policy whose lifetime is subtracted, trial by trial.

    Returns
    -------
    matplotlib.axes.Axes
        One row per policy: the mean with its 95 % interval, and a stroke per trial below. For a policy far off
        the scale of the others the mean is written as a number; a mean that is not finite is called so.

    Examples
    --------
    >>> import hrprob, xarray
    >>> values = [[3.1, 3.2, 3.0], [3.3, 3.5, 3.2]]
    >>> result = xarray.Dataset({"mean_lifetime": (("policy", "trial"), values)}, {"policy": ["greedy", "oracle"]})
    >>> ax = hrprob.plot.lifetimes(result, against="oracle")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['greedy', 'oracle']
    """
    labels = list(labels_of(result).values())
    with drawn_on(ax, height=0.7 + 1.5 * LINE_HEIGHT * _heights(labels).sum()) as axes:
        values, finite = _finite_lifetimes(result)
        on_scale = _shares_scale(values, finite)
        if against is not None:
            values = values - values[[str(name) for name in result.policy.values].index(against)]
        _draw_rows(axes, labels, values, on_scale)
        axes.set_xlabel(
            "mean lifetime (rounds)"
            if against is None
            else f"difference from\n{label_of(f'{against} (rounds)')}"
        )
        if ax is None:
            note_above(axes, f"mean of {trials_in_words(result)}")
    return axes


@nearest_keywords
def final_regret(result: xarray.Dataset, ax: Axes | None = None, *, at: int | None = None) -> Axes:
    """Draw the distribution over trials of every policy's regret: a mean can hide a heavy tail.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    at : int, optional
        The user at which the regrets are taken; by default the last.

    Returns
    -------
    matplotlib.axes.Axes
        One row per policy, smallest mean first: a dot per trial, a bar over the middle half, a marker at the
        median. Oracles are left out. The axis is logarithmic where medians are far apart.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> values = np.array([5.0, 6.0, 7.0, 2.0, 3.0, 2.5]).reshape(2, 3, 1)
    >>> axes = ("policy", "trial", "user")
    >>> result = xarray.Dataset({"regret": (axes, values)}, {"policy": ["HR-UCB", "greedy"], "user": [100]})
    >>> [label.get_text() for label in hrprob.plot.final_regret(result).get_yticklabels()]
    ['greedy', 'HR-UCB']
    """
    regret = result.regret.isel(user=-1) if at is None else result.regret.sel(user=at)
    indices = {str(name): index for index, name in enumerate(result.policy.values)}
    ordered = regret.mean("trial").sortby(regret.mean("trial")).policy.values
    names = [name for name in map(str, ordered) if name not in oracles_of(result)]
    labels = [labels_of(result)[name] for name in names]
    heights = _heights(labels)
    rows = heights.cumsum() - heights / 2
    with drawn_on(ax, height=0.8 + 1.6 * LINE_HEIGHT * heights.sum()) as axes:
        for row, name in zip(rows, names, strict=True):
            values, look = regret.sel(policy=name).values, look_of(indices[name])
            jitter = np.random.default_rng(0).uniform(-0.22, 0.22, values.size)
            axes.plot(values, row + jitter, ".", color=look.color, alpha=0.45, ms=3, mew=0)
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
            axes.plot([low, high], [row, row], color=look.color, lw=2.2, solid_capstyle="butt")
            axes.plot(middle, row, marker=look.marker, color="#FFFFFF", mec=look.color, mew=1.0, ms=5)
        _label_rows(axes, rows, labels, heights)
        medians = regret.sel(policy=names).median("trial").values
        if (medians > 0).all() and medians.max() > FAR_APART * medians.min():
            axes.set_xscale("log")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(5))
        number_ticks(axes.xaxis)
        unit = result.regret.attrs.get("units", "rounds")
        axes.set_xlabel(f"regret at user {format_number(regret.user)} ({unit})")
        note_above(axes, "dots: trials; bar: middle half; marker: median")
    return axes


def plot_lifetime(dataset: xarray.Dataset, width: float = COLUMN_WIDTH) -> Figure:
    """Return the figure of a run's lifetimes, as ``hrprob run`` writes it.

    :func:`lifetimes` of all policies, and beside it the differences from the longest finite one.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`hrprob.simulate`.
    width : float
        Inches.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> [label.get_text() for label in plot_lifetime(result).axes[0].get_yticklabels()]
    ['oracle']
    """
    labels = list(labels_of(dataset).values())
    values, finite = _finite_lifetimes(dataset)
    panels = 2 if len(labels) > 1 else 1
    with style():
        figure = new_figure(0.9 + 1.5 * LINE_HEIGHT * _heights(labels).sum(), width)
        axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
        lifetimes(dataset, axes[0])
        if panels == 2:
            axes[0].set_xlabel("mean lifetime\n(rounds)")
            longest = str(dataset.policy.values[_longest(values, finite)])
            lifetimes(dataset, axes[1], against=longest)
        figure.suptitle(f"mean of {trials_in_words(dataset)}", fontsize=7, color=GREY)
    return figure


def _finite_lifetimes(result: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean lifetimes (policies, trials), NaN for policies with one that is not finite, and which have none."""
    values = result.mean_lifetime.values
    finite = np.isfinite(values).all(axis=1)
    # NaN passes through all that follows; a difference of infinities would raise a warning.
    return np.where(finite[:, None], values, np.nan), finite


def _longest(values: np.ndarray, finite: np.ndarray) -> int:
    return int(np.argmax(np.where(finite, values.mean(axis=1), -np.inf)))


def _shares_scale(values: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Say which policies can share an axis."""
    # A loss smaller than its scatter over trials counts as large as the scatter.
    loss = values[_longest(values, finite)] - values
    return share_linear_scale(np.maximum(loss.mean(axis=1), loss.std(axis=1)))


def _heights(labels: list[str]) -> np.ndarray:
    """Return the height of every row, by the number of lines of its label; one line has height 1."""
    return np.array([1 + 0.7 * label.count("\n") for label in labels])


def _label_rows(axes: Axes, rows: np.ndarray, labels: list[str], heights: np.ndarray) -> None:
    axes.set_yticks(rows, labels)
    axes.set_ylim(heights.sum(), 0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _draw_rows(axes: Axes, labels: list[str], values: np.ndarray, on_scale: np.ndarray) -> None:
    """Draw ``values`` (policies, trials), one policy per row."""
    heights = _heights(labels)
    rows = heights.cumsum() - heights / 2
    means, halves = mean_interval(values, axis=1)
    for index, (row, mean) in enumerate(zip(rows, means, strict=True)):
        look = look_of(index)
        if not on_scale[index]:
            edge = axes.get_yaxis_transform()
            text = f"← {format_number(mean)}" if np.isfinite(mean) else "not finite"
            axes.text(0.04, row, text, color=look.color, fontsize=7, va="center", transform=edge)
            continue
        strokes = np.full(values.shape[1], row + 0.27)
        axes.plot(values[index], strokes, "|", color=look.color, markersize=3, markeredgewidth=0.4)
        axes.errorbar(
            mean,
            row,
            xerr=halves[index],
            color=look.color,
            marker=look.marker,
            markeredgewidth=0,
            capsize=2,
            zorder=3,
        )
    figure = axes.get_figure(root=True)
    narrow = figure is not None and figure.get_figwidth() / len(figure.axes) < 0.6 * COLUMN_WIDTH
    axes.xaxis.set_major_locator(MaxNLocator(2 if narrow else 4))
    number_ticks(axes.xaxis)
    _label_rows(axes, rows, labels, heights)
