"""Mean regret of every policy along the users."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hrprob.plot.intervals import mean_interval, trials_in_words
from hrprob.plot.labels import label_of, note_above
from hrprob.plot.scales import FAR_APART, share_linear_scale
from hrprob.plot.sizes import COLUMN_WIDTH, LINE_HEIGHT
from hrprob.plot.style import look_of, style

__all__ = ["plot_regret"]

# More points than a column can show would only make files large.
_POINTS = 200
_MARKERS_PER_CURVE = 7


def plot_regret(dataset: xarray.Dataset) -> Figure:
    """Draw the mean regret of every policy against the number of users served.

    If the final regrets are far apart, a second panel has two logarithmic axes: a slope of 1 is linear
    regret there, and a slope of 1/2 the square root of the users. The linear panel then ends above the
    policies that can be compared on it, and names the policies that exceed it.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.

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
    with style():
        panels = 2 if far_apart else 1
        height = 1.75 * panels + LINE_HEIGHT * (2 + _legend_lines(dataset))
        figure = Figure(figsize=(COLUMN_WIDTH, height), layout="constrained")
        axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
        _draw_linear(axes[0], dataset, share_linear_scale(last))
        if far_apart:
            _draw_logarithmic(axes[1], dataset)
        axes[-1].set_xlabel("users")
        figure.align_ylabels()
        _add_legend(figure, axes[0], f"mean of {trials_in_words(dataset)}")
    return figure


def _draw_linear(axes: Axes, dataset: xarray.Dataset, on_scale: np.ndarray) -> None:
    users = dataset.user.values
    tops = _draw_curves(axes, dataset, np.linspace(users[0], users[-1], _POINTS))
    top = max(tops[on_scale], default=0.0)
    axes.set_xlim(0, float(users[-1]))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_ylim(0, 1.05 * top if top > 0 else 1)
    axes.set_ylabel(_axis_label(dataset))
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
    axes.set_ylim(positive.min() / 1.5, positive.max() * 1.5)
    axes.set_ylabel(_axis_label(dataset))
    zero = ", ".join(str(name) for name in dataset.policy.values[~(means > 0).any(axis=1)])
    note_above(axes, f"log–log; zero: {zero}" if zero else "log–log")


def _axis_label(dataset: xarray.Dataset) -> str:
    return f"regret ({dataset.regret.attrs.get('units', 'rounds')})"


def _draw_curves(axes: Axes, dataset: xarray.Dataset, wanted: np.ndarray) -> np.ndarray:
    """Draw every policy's mean and band near the users ``wanted``; return how high each reaches."""
    users = dataset.user.values
    shown = np.unique(np.searchsorted(users, wanted).clip(max=len(users) - 1))
    every = max(1, len(shown) // _MARKERS_PER_CURVE)
    tops = []
    for index, name in enumerate(dataset.policy.values):
        regret = dataset.regret.values[index][:, shown]
        mean, half = mean_interval(np.where(np.isfinite(regret), regret, np.nan))
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
            label=label_of(str(name)),
            zorder=3,
        )
        axes.fill_between(users[shown], low, high, color=look.color, alpha=0.2, linewidth=0, zorder=2)
        tops.append(max(high[np.isfinite(high)], default=max(mean[np.isfinite(mean)], default=0.0)))
    return np.array(tops)


def _legend_lines(dataset: xarray.Dataset) -> int:
    lines = [1 + label_of(str(name)).count("\n") for name in dataset.policy.values]
    half = -(-len(lines) // 2)
    return max(sum(lines[:half]), sum(lines[half:]))


def _add_legend(figure: Figure, axes: Axes, title: str) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 2 if len(handles) > 1 else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=title, title_fontsize=7)
