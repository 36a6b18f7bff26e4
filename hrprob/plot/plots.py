"""Figures of a simulation, made to be printed in one column of a paper.

A figure is a :class:`matplotlib.figure.Figure` that belongs to nobody else: there is
no ``pyplot``, no current figure and no backend to choose. Colours are those of Okabe
and Ito [1]_, which remain apart for colour-blind readers; markers and line styles tell
the same apart in black and white. Bands and bars are 95 % intervals of the mean over
trials, by Student's t.

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy import special

__all__ = [
    "COLUMN_WIDTH",
    "DOTS_PER_INCH",
    "Look",
    "interval",
    "label_of",
    "look_of",
    "number",
    "plot_lifetime",
    "plot_regret",
    "save",
    "saving_aside",
    "style",
]

COLUMN_WIDTH = 3.3
"""Inches: one column of a two-column paper."""

DOTS_PER_INCH = 300
"""Of saved figures."""

LEVEL = 0.95

# Grey stands in for their yellow, which is hard to see on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")

_STYLE = {
    "figure.dpi": 100,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "savefig.dpi": DOTS_PER_INCH,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 6),
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    # The same figure is the same file, and its text stays text.
    "svg.hashsalt": "hrprob",
    "svg.fonttype": "none",
}

# More points than a column can show only make files large.
_POINTS = 200
_MARKERS_ON_A_CURVE = 7
# A policy this many times worse than the next best would press all others together on a linear scale.
_GAP = 5.0
# Beyond this ratio of final regrets a linear scale hides the smaller ones' shape, gap or not.
_FAR_APART = 8.0


_QUIET = "#555555"
# Inches from one line of small text to the next.
_LINE = 0.14


class Look(NamedTuple):
    """How one policy is drawn, in every figure alike."""

    color: str
    linestyle: Any
    marker: str


def style() -> AbstractContextManager[None]:
    """Return a context within which figures have the style of the house.

    Examples
    --------
    >>> with style():
    ...     float(matplotlib.rcParams["font.size"])
    8.0
    """
    return matplotlib.rc_context(_STYLE)


def look_of(place: int) -> Look:
    """Return the look of the policy at this place, counted from 0; the first 440 differ.

    Examples
    --------
    >>> look_of(0)
    Look(color='#0072B2', linestyle='-', marker='o')
    """
    return Look(_COLOURS[place % len(_COLOURS)], _LINES[place % len(_LINES)], _MARKERS[place % len(_MARKERS)])


def interval(samples: np.ndarray, axis: int = 0, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over trials and the half width of its t interval; NaN with one trial.

    Examples
    --------
    >>> mean, half = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(float(mean), 3), round(float(half), 3)
    (2.0, 2.484)
    """
    count = samples.shape[axis]
    mean = samples.mean(axis=axis)
    if count < 2:
        return mean, np.full_like(mean, np.nan)
    error = samples.std(axis=axis, ddof=1) / np.sqrt(count)
    return mean, special.stdtrit(count - 1, 0.5 + level / 2) * error


def plot_regret(dataset: xarray.Dataset) -> Figure:
    """Draw the mean regret of every policy against the users served.

    Where the final regrets are far apart, a second panel has both axes logarithmic: there a
    slope of 1 is regret that grows with every user and a slope of 1/2 that of the square root.
    The linear panel then ends above the policies that can be compared on it, and says who is
    off its scale.

    Parameters
    ----------
    dataset : xarray.Dataset
        What :func:`~hrprob.simulation.engine.simulate` returns.

    Returns
    -------
    Figure
        One curve a policy with its band, and a legend below.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> plot_regret(result).axes[0].get_xlabel()
    'users'
    """
    last = dataset.regret.isel(user=-1).mean("trial").values
    positive = last[(last > 0) & np.isfinite(last)]
    far_apart = positive.size > 1 and positive.max() > _FAR_APART * positive.min()
    with style():
        panels = 2 if far_apart else 1
        height = 1.75 * panels + _LINE * (2 + _legend_lines(dataset))
        figure = Figure(figsize=(COLUMN_WIDTH, height), layout="constrained")
        axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
        _draw_linear(axes[0], dataset, _comparable(last))
        if far_apart:
            _draw_logarithmic(axes[1], dataset)
        axes[-1].set_xlabel("users")
        figure.align_ylabels()
        _add_legend(figure, axes[0], f"mean of {_count(dataset)}")
    return figure


def plot_lifetime(dataset: xarray.Dataset) -> Figure:
    """Draw the mean realised lifetime of every policy, and how far it is from the longest that is finite.

    All policies meet the same users and the same noise, so differences are far better known
    than the lifetimes themselves: the second panel has the differences trial by trial.

    Parameters
    ----------
    dataset : xarray.Dataset
        What :func:`~hrprob.simulation.engine.simulate` returns.

    Returns
    -------
    Figure
        One row a policy: the mean with its interval, every trial as a stroke below. A policy far
        off the scale of the others has its mean in figures; one whose mean is not finite is said to
        be so.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> [label.get_text() for label in plot_lifetime(result).axes[0].get_yticklabels()]
    ['oracle']
    """
    lifetimes = dataset.mean_lifetime.values
    finite = np.isfinite(lifetimes).all(axis=1)
    # NaN stays what it is in all that follows; a difference of infinities would be warned of.
    lifetimes = np.where(finite[:, None], lifetimes, np.nan)
    labels = [label_of(str(name)) for name in dataset.policy.values]
    best = int(np.argmax(np.where(finite, lifetimes.mean(axis=1), -np.inf)))
    # What is lost is at least as far from nothing as it scatters over the trials.
    apart = lifetimes[best] - lifetimes
    on_scale = _comparable(np.maximum(apart.mean(axis=1), apart.std(axis=1)))
    panels = 2 if len(labels) > 1 else 1
    with style():
        # A row is as high as its label needs; one line makes 1.
        heights = np.array([1 + 0.7 * label.count("\n") for label in labels])
        rows = heights.cumsum() - heights / 2
        figure = Figure(figsize=(COLUMN_WIDTH, 0.9 + 1.5 * _LINE * heights.sum()), layout="constrained")
        axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
        _draw_rows(axes[0], rows, lifetimes, on_scale)
        axes[0].set_xlabel("mean lifetime (rounds)" if panels == 1 else "mean lifetime\n(rounds)")
        if panels == 2:
            _draw_rows(axes[1], rows, lifetimes - lifetimes[best], on_scale)
            axes[1].set_xlabel(f"difference from\n{label_of(f'{dataset.policy.values[best]} (rounds)')}")
        axes[0].set_yticks(rows, labels)
        axes[0].set_ylim(heights.sum(), 0)
        figure.suptitle(f"mean of {_count(dataset)}", fontsize=7, color=_QUIET)
    return figure


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``name``.png and ``name``.svg; the same figure gives the same bytes."""
    layout, dots = figure.get_layout_engine(), figure.dpi
    with style():
        if layout is not None:
            # Laid out once, as large as it is written; while there is an engine, each file is drawn twice.
            figure.set_dpi(DOTS_PER_INCH)
            layout.execute(figure)
            figure.set_layout_engine(None)
            figure.set_dpi(dots)
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.set_layout_engine(layout)


@contextlib.contextmanager
def saving_aside() -> Iterator[Callable[[Figure, Path, str], None]]:
    """Yield a :func:`save` that returns at once; a process of its own writes, and is done when the context ends.

    Drawing is the work of one core, and cannot share it with other threads of Python.
    """
    begun: list[Future[None]] = []
    # Not a fork: of a program with threads that would be half a program.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _leave_interrupts) as pool:
        begun.append(pool.submit(_get_ready))
        try:
            yield lambda figure, folder, name: begun.append(pool.submit(save, figure, folder, name))
            for one in begun:
                one.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Leave an interrupt from the keyboard, which reaches all processes, to the one that was called."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _get_ready() -> None:
    """Do nothing: the process is then there, with this module."""


def _comparable(losses: np.ndarray) -> np.ndarray:
    """Say which policies can share a linear scale, given what each loses to the best.

    Those beyond the last jump upwards are left out, as long as they are the fewer ones.

    Examples
    --------
    >>> _comparable(np.array([300.0, 0.0, 1800.0, 37000.0])).tolist()
    [True, True, True, False]
    >>> _comparable(np.array([10.0, 300.0, 400.0])).tolist()
    [True, True, True]
    """
    finite = np.isfinite(losses)
    ordered = np.sort(losses[finite & (losses > 0)])
    for gap in np.flatnonzero(ordered[1:] > _GAP * ordered[:-1])[::-1]:
        near = losses <= ordered[gap]
        if 2 * near.sum() > losses.size:
            return near
    return finite


def _draw_linear(axes: Axes, dataset: xarray.Dataset, on_scale: np.ndarray) -> None:
    users = dataset.user.values
    tops = _draw_curves(axes, dataset, np.linspace(users[0], users[-1], _POINTS))
    top = max(tops[on_scale], default=0.0)
    axes.set_xlim(0, float(users[-1]))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_ylim(0, 1.05 * top if top > 0 else 1)
    axes.set_ylabel(f"regret ({dataset.regret.attrs.get('units', 'rounds')})")
    if not on_scale.all():
        names = ", ".join(str(name) for name in dataset.policy.values[~on_scale])
        _note(axes, f"linear; off the scale: {names}")


def _draw_logarithmic(axes: Axes, dataset: xarray.Dataset) -> None:
    users = dataset.user.values
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_curves(axes, dataset, np.geomspace(users[0], users[-1], _POINTS))
    means = dataset.regret.mean("trial").values
    positive = means[(means > 0) & np.isfinite(means)]
    axes.set_xlim(float(users[0]), float(users[-1]))
    axes.set_ylim(positive.min() / 1.5, positive.max() * 1.5)
    axes.set_ylabel(f"regret ({dataset.regret.attrs.get('units', 'rounds')})")
    zero = ", ".join(str(name) for name in dataset.policy.values[~(means > 0).any(axis=1)])
    _note(axes, f"log–log; zero: {zero}" if zero else "log–log")


def _draw_curves(axes: Axes, dataset: xarray.Dataset, wanted: np.ndarray) -> np.ndarray:
    """Draw every policy's mean and band at about the users ``wanted``; return how high each reaches."""
    users = dataset.user.values
    shown = np.unique(np.searchsorted(users, wanted).clip(max=len(users) - 1))
    every = max(1, len(shown) // _MARKERS_ON_A_CURVE)
    tops = []
    for place, name in enumerate(dataset.policy.values):
        regret = dataset.regret.values[place][:, shown]
        mean, half = interval(np.where(np.isfinite(regret), regret, np.nan))
        low, high = mean - half, mean + half
        if axes.get_yscale() == "log":
            # Zero has no place on this axis; a band that reaches it goes on below the panel.
            mean = np.where(mean > 0, mean, np.nan)
            low = np.maximum(low, 1e-12 * mean)
        look = look_of(place)
        # Markers of different policies stand at different users, so that none hides another.
        start = place * every // dataset.sizes["policy"]
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


def _note(axes: Axes, text: str) -> None:
    text = "\n".join(textwrap.wrap(text, 48)).replace("$", r"\$")
    axes.set_title(text, loc="left", color=_QUIET, fontsize=7, pad=3)


def _count(dataset: xarray.Dataset) -> str:
    trials = dataset.sizes["trial"]
    return "1 trial" if trials == 1 else f"{trials} trials, {LEVEL:.0%} interval"


def _legend_lines(dataset: xarray.Dataset) -> int:
    lines = [1 + label_of(str(name)).count("\n") for name in dataset.policy.values]
    half = -(-len(lines) // 2)
    return max(sum(lines[:half]), sum(lines[half:]))


def _add_legend(figure: Figure, axes: Axes, title: str) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 2 if len(handles) > 1 else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=title, title_fontsize=7)


def _draw_rows(axes: Axes, rows: np.ndarray, values: np.ndarray, on_scale: np.ndarray) -> None:
    """Draw the policies of ``values`` (policies, trials) at these heights."""
    means, halves = interval(values, axis=1)
    for place, (row, mean) in enumerate(zip(rows, means, strict=True)):
        look = look_of(place)
        if not on_scale[place]:
            edge = axes.get_yaxis_transform()
            text = f"← {number(mean)}" if np.isfinite(mean) else "not finite"
            axes.text(0.04, row, text, color=look.color, fontsize=7, va="center", transform=edge)
            continue
        strokes = np.full(values.shape[1], row + 0.27)
        axes.plot(values[place], strokes, "|", color=look.color, markersize=3, markeredgewidth=0.4)
        axes.errorbar(
            mean,
            row,
            xerr=halves[place],
            color=look.color,
            marker=look.marker,
            markeredgewidth=0,
            capsize=2,
            zorder=3,
        )
    axes.xaxis.set_major_locator(MaxNLocator(2))
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def label_of(name: str) -> str:
    """Return a policy's name as text that is not mathematics, in lines of a length that fits."""
    text = "\n".join(textwrap.wrap(name, 20)).replace("$", r"\$")
    # Matplotlib leaves a label out of the legend if it begins with an underscore.
    return f" {text}" if text.startswith("_") else text


def number(value: float) -> str:
    """Return a number as an axis has it."""
    return f"{value:.4g}".replace("-", "−")
