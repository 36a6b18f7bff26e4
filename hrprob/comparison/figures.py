"""Figures of a comparison: differences, final regrets, lifetimes, optimal actions, and a whole suite."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from hrprob.comparison.paired import Comparison
from hrprob.plot.intervals import draw_band, mean_interval
from hrprob.plot.labels import format_number, label_of
from hrprob.plot.scales import FAR_APART
from hrprob.plot.sizes import COLUMN_WIDTH
from hrprob.plot.style import GREY, look_of, style

__all__ = [
    "MOST_CURVES",
    "best_first",
    "plot_differences",
    "plot_final",
    "plot_lifetimes",
    "plot_optimal",
    "plot_suite",
    "shown_policies",
]

MOST_CURVES = 8
"""More curves than this cannot be distinguished in one figure."""

_POINTS = 200
_WINDOWS = 24


def _indices(data: xarray.Dataset) -> dict[str, int]:
    """Return the index of every policy, which determines its look."""
    return {str(name): index for index, name in enumerate(data.policy.values)}


def best_first(data: xarray.Dataset, comparison: Comparison) -> xarray.Dataset:
    """Return the data with the best policies first, if there are more than a figure can show.

    A policy's look depends on its index, so those that are shown differ as much as possible.
    """
    if data.sizes["policy"] <= MOST_CURVES:
        return data
    names = [standing.policy for standing in comparison.standings]
    first = [name for name in (comparison.baseline, *comparison.yardsticks) if name is not None]
    return data.sel(policy=first + [name for name in names if name not in first])


def shown_policies(data: xarray.Dataset) -> xarray.Dataset:
    """Return the policies whose curves are drawn: the first, after :func:`best_first`."""
    return data.isel(policy=slice(None, MOST_CURVES))


def plot_differences(data: xarray.Dataset, comparison: Comparison) -> Figure:
    """Draw the regret of every policy minus that of the baseline or the leader, paired by trial, with 95 % bands.

    Parameters
    ----------
    data : xarray.Dataset
        The data that were compared.
    comparison : Comparison
        The result of comparing them.
    """
    against = comparison.baseline or comparison.leader
    users = data.user.values
    shown = np.unique(np.linspace(0, len(users) - 1, _POINTS).astype(int))
    base = data.regret.sel(policy=against).values[:, shown]
    with style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.2 + 0.07 * data.sizes["policy"]), layout="constrained")
        axes = figure.subplots()
        for name, index in _indices(data).items():
            if name == against or name in comparison.yardsticks:
                continue
            mean, half = mean_interval(data.regret.values[index][:, shown] - base)
            look = look_of(index)
            axes.plot(users[shown], mean, color=look.color, linestyle=look.linestyle, label=label_of(name))
            draw_band(axes, users[shown], mean, half, look.color)
        axes.axhline(0.0, color="#000000", lw=0.6)
        ends = data.regret.isel(user=-1).mean("trial").drop_sel(policy=list(comparison.yardsticks)).values
        largest = np.abs(ends - base[:, -1].mean())
        spread = largest[largest > 0]
        if spread.size and spread.max() > FAR_APART * np.median(spread):
            # Linear around zero: differences have both signs.
            axes.set_yscale("symlog", linthresh=max(float(np.median(spread)) / 3, 1e-3))
        axes.set(
            xlabel="users", ylabel=f"regret minus that of\n{label_of(against)} (rounds)", xlim=(0, users[-1])
        )
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_final(data: xarray.Dataset, comparison: Comparison) -> Figure:
    """Draw the distribution over trials of the regret at the user of the comparison."""
    regret = data.regret.sel(user=comparison.at)
    names = [one.policy for one in comparison.standings if one.policy not in comparison.yardsticks]
    indices = _indices(data)
    with style():
        figure, axes = _rows(names)
        rng = np.random.default_rng(0)
        for row, name in enumerate(names):
            values = np.sort(regret.sel(policy=name).values)
            look = look_of(indices[name])
            axes.plot(
                values,
                row + rng.uniform(-0.22, 0.22, len(values)),
                ".",
                color=look.color,
                alpha=0.55,
                ms=3,
                mew=0,
            )
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
            axes.plot([low, high], [row, row], color=look.color, lw=2.2, solid_capstyle="butt")
            axes.plot(middle, row, marker=look.marker, color="#FFFFFF", mec=look.color, mew=1.0, ms=5)
        _scale(axes, [float(regret.sel(policy=name).median()) for name in names])
        axes.set_xlabel(f"regret at user {comparison.at} (rounds)")
        figure.suptitle("dots: trials; bar: middle half; marker: median", fontsize=7, color=GREY)
    return figure


def plot_lifetimes(data: xarray.Dataset, comparison: Comparison) -> Figure:
    """Draw the mean lifetime of every policy, realised and expected, with 95 % intervals."""
    names = [standing.policy for standing in comparison.standings]
    indices = _indices(data)
    with style():
        figure, axes = _rows(names)
        for row, standing in enumerate(comparison.standings):
            colour = look_of(indices[standing.policy]).color
            for estimate, shift, fill in (
                (standing.lifetime, -0.15, colour),
                (standing.expected_lifetime, 0.15, "#FFFFFF"),
            ):
                half = np.array([[estimate.mean - estimate.low], [estimate.high - estimate.mean]])
                axes.errorbar(
                    estimate.mean,
                    row + shift,
                    xerr=half if np.all(np.isfinite(half)) else None,
                    marker="o",
                    color=colour,
                    mfc=fill,
                    capsize=2,
                )
        axes.set_xlabel("mean lifetime (rounds)")
        figure.suptitle("filled: realised; open: expected given the actions", fontsize=7, color=GREY)
    return figure


def plot_optimal(data: xarray.Dataset) -> Figure:
    """Draw the share of users whose first action was the best for them, along the users."""
    users = data.user.values
    edges = np.unique(np.linspace(0, len(users), min(_WINDOWS, len(users)) + 1).astype(int))
    with style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.2 + 0.07 * data.sizes["policy"]), layout="constrained")
        axes = figure.subplots()
        middles = np.array([users[a:b].mean() for a, b in itertools.pairwise(edges)])
        for name, index in _indices(data).items():
            flags = data.optimal.values[index]
            share = np.stack([flags[:, a:b].mean(axis=1) for a, b in itertools.pairwise(edges)], axis=1)
            mean, half = mean_interval(share)
            look = look_of(index)
            axes.plot(middles, mean, color=look.color, linestyle=look.linestyle, label=label_of(name))
            draw_band(axes, middles, mean, half, look.color)
        axes.set(xlabel="users", ylabel="share of optimal actions", xlim=(0, users[-1]), ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_suite(table: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the regret of every policy on every problem, divided by the least regret on that problem.

    Parameters
    ----------
    table : mapping
        The result of :func:`~hrprob.comparison.suite.ratios`.
    """
    problems = list(table)
    policies = list(dict.fromkeys(policy for row in table.values() for policy in row))
    policies.sort(key=lambda policy: max(row.get(policy, np.inf) for row in table.values()))
    values = np.array([[table[problem].get(policy, np.nan) for problem in problems] for policy in policies])
    with style():
        width = 1.6 + 0.42 * len(problems)
        figure = Figure(figsize=(width, 1.3 + 0.2 * len(policies)), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values, norm=LogNorm(1.0, 30.0), cmap="cividis_r", aspect="auto")
        for row, column in np.argwhere(np.isfinite(values)):
            value = values[row, column]
            dark = value > 5
            axes.text(
                column,
                row,
                f"{value:.2f}" if value < 10 else f"{value:.0f}",
                ha="center",
                va="center",
                fontsize=6,
                color="#FFFFFF" if dark else "#000000",
                fontweight="bold" if value == 1.0 else "normal",
            )
        axes.set_xticks(range(len(problems)), problems, rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(policies)), policies)
        axes.grid(visible=False)
        bar = figure.colorbar(image, ax=axes, label="regret / least regret", extend="max", pad=0.02)
        bar.set_ticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
        bar.minorticks_off()
    return figure


def _rows(names: list[str]) -> tuple[Figure, Axes]:
    labels = [label_of(name) for name in names]
    figure = Figure(figsize=(COLUMN_WIDTH, 0.9 + 0.26 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter(lambda value, _: format_number(value))
    return figure, axes


def _scale(axes: Axes, medians: list[float]) -> None:
    positive = [value for value in medians if value > 0]
    if positive and max(positive) > FAR_APART * min(positive) and len(positive) == len(medians):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: format_number(value))
