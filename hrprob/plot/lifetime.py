"""Mean realised lifetime of every policy."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hrprob.plot.intervals import mean_interval, trials_in_words
from hrprob.plot.labels import format_number, label_of
from hrprob.plot.scales import share_linear_scale
from hrprob.plot.sizes import COLUMN_WIDTH, LINE_HEIGHT
from hrprob.plot.style import GREY, look_of, style

__all__ = ["plot_lifetime"]


def plot_lifetime(dataset: xarray.Dataset) -> Figure:
    """Draw the mean realised lifetime of every policy, and its difference from the longest finite one.

    All policies meet the same users and the same noise, so differences are estimated far more precisely
    than the lifetimes themselves: the second panel shows the differences, paired by trial.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.

    Returns
    -------
    Figure
        One row per policy: the mean with its interval, and a stroke per trial below. For a policy far off
        the scale of the others the mean is written as a number; a mean that is not finite is called so.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> [label.get_text() for label in plot_lifetime(result).axes[0].get_yticklabels()]
    ['oracle']
    """
    lifetimes = dataset.mean_lifetime.values
    finite = np.isfinite(lifetimes).all(axis=1)
    # NaN passes through all that follows; a difference of infinities would raise a warning.
    lifetimes = np.where(finite[:, None], lifetimes, np.nan)
    labels = [label_of(str(name)) for name in dataset.policy.values]
    best = int(np.argmax(np.where(finite, lifetimes.mean(axis=1), -np.inf)))
    # A loss smaller than its scatter over trials counts as large as the scatter.
    loss = lifetimes[best] - lifetimes
    on_scale = share_linear_scale(np.maximum(loss.mean(axis=1), loss.std(axis=1)))
    panels = 2 if len(labels) > 1 else 1
    with style():
        # The height of a row follows the number of lines of its label; one line has height 1.
        heights = np.array([1 + 0.7 * label.count("\n") for label in labels])
        rows = heights.cumsum() - heights / 2
        figure = Figure(figsize=(COLUMN_WIDTH, 0.9 + 1.5 * LINE_HEIGHT * heights.sum()), layout="constrained")
        axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
        _draw_rows(axes[0], rows, lifetimes, on_scale)
        axes[0].set_xlabel("mean lifetime (rounds)" if panels == 1 else "mean lifetime\n(rounds)")
        if panels == 2:
            _draw_rows(axes[1], rows, lifetimes - lifetimes[best], on_scale)
            axes[1].set_xlabel(f"difference from\n{label_of(f'{dataset.policy.values[best]} (rounds)')}")
        axes[0].set_yticks(rows, labels)
        axes[0].set_ylim(heights.sum(), 0)
        figure.suptitle(f"mean of {trials_in_words(dataset)}", fontsize=7, color=GREY)
    return figure


def _draw_rows(axes: Axes, rows: np.ndarray, values: np.ndarray, on_scale: np.ndarray) -> None:
    """Draw ``values`` (policies, trials), one policy at each of these heights."""
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
    axes.xaxis.set_major_locator(MaxNLocator(2))
    axes.xaxis.set_major_formatter(lambda value, _: format_number(value))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
