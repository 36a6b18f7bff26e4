"""Figures of a comparison: differences, final regrets, lifetimes, optimal actions, and a suite at a glance."""

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
from hrprob.plot.plots import COLUMN_WIDTH, interval, label_of, look_of, number, style

__all__ = [
    "MOST_CURVES",
    "in_order",
    "leading",
    "plot_differences",
    "plot_final",
    "plot_lifetimes",
    "plot_optimal",
    "plot_suite",
]

MOST_CURVES = 8
"""More curves than this cannot be told apart in one figure."""

_POINTS = 200
_WINDOWS = 24
# Beyond this ratio of medians a linear scale would hide the smaller ones.
_FAR_APART = 8.0
_QUIET = "#555555"


def _places(data: xarray.Dataset) -> dict[str, int]:
    return {str(name): place for place, name in enumerate(data.policy.values)}


def in_order(data: xarray.Dataset, found: Comparison) -> xarray.Dataset:
    """Return the data with the best policies first, where there are more than a figure can show.

    A policy's look goes by its place, so those that are shown differ as much as looks can.
    """
    if data.sizes["policy"] <= MOST_CURVES:
        return data
    names = [standing.policy for standing in found.standings]
    first = [name for name in (found.baseline, *found.yardsticks) if name is not None]
    return data.sel(policy=first + [name for name in names if name not in first])


def leading(data: xarray.Dataset) -> xarray.Dataset:
    """Return the policies whose curves are drawn: the first of those :func:`in_order`."""
    return data.isel(policy=slice(None, MOST_CURVES))


def plot_differences(data: xarray.Dataset, found: Comparison) -> Figure:
    """Draw what every policy loses beyond the baseline, or beyond the leader, trial by trial, with 95 % bands.

    Parameters
    ----------
    data : xarray.Dataset
        What was compared.
    found : Comparison
        What came of it.
    """
    against = found.baseline or found.leader
    users = data.user.values
    shown = np.unique(np.linspace(0, len(users) - 1, _POINTS).astype(int))
    base = data.regret.sel(policy=against).values[:, shown]
    with style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.2 + 0.07 * data.sizes["policy"]), layout="constrained")
        axes = figure.subplots()
        for name, place in _places(data).items():
            if name == against or name in found.yardsticks:
                continue
            mean, half = interval(data.regret.values[place][:, shown] - base)
            look = look_of(place)
            axes.plot(users[shown], mean, color=look.color, linestyle=look.linestyle, label=label_of(name))
            axes.fill_between(users[shown], mean - half, mean + half, color=look.color, alpha=0.2, lw=0)
        axes.axhline(0.0, color="#000000", lw=0.6)
        ends = data.regret.isel(user=-1).mean("trial").drop_sel(policy=list(found.yardsticks)).values
        largest = np.abs(ends - base[:, -1].mean())
        spread = largest[largest > 0]
        if spread.size and spread.max() > _FAR_APART * np.median(spread):
            # Linear around zero: differences have both signs.
            axes.set_yscale("symlog", linthresh=max(float(np.median(spread)) / 3, 1e-3))
        axes.set(xlabel="users", ylabel=f"regret beyond {label_of(against)}\n(rounds)", xlim=(0, users[-1]))
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_final(data: xarray.Dataset, found: Comparison) -> Figure:
    """Draw how the regret at the user of the comparison is distributed over trials."""
    regret = data.regret.sel(user=found.at)
    names = [one.policy for one in found.standings if one.policy not in found.yardsticks]
    places = _places(data)
    with style():
        figure, axes = _rows(names)
        rng = np.random.default_rng(0)
        for row, name in enumerate(names):
            values = np.sort(regret.sel(policy=name).values)
            look = look_of(places[name])
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
        axes.set_xlabel(f"regret at user {found.at} (rounds)")
        figure.suptitle("dots: trials; bar: middle half; marker: median", fontsize=7, color=_QUIET)
    return figure


def plot_lifetimes(data: xarray.Dataset, found: Comparison) -> Figure:
    """Draw the mean lifetime of every policy, realised and expected, with 95 % intervals."""
    names = [standing.policy for standing in found.standings]
    places = _places(data)
    with style():
        figure, axes = _rows(names)
        for row, standing in enumerate(found.standings):
            colour = look_of(places[standing.policy]).color
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
        figure.suptitle("filled: realised; open: expected given the actions", fontsize=7, color=_QUIET)
    return figure


def plot_optimal(data: xarray.Dataset) -> Figure:
    """Draw the share of users whose first action was the best for them, along the users."""
    users = data.user.values
    edges = np.unique(np.linspace(0, len(users), min(_WINDOWS, len(users)) + 1).astype(int))
    with style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.2 + 0.07 * data.sizes["policy"]), layout="constrained")
        axes = figure.subplots()
        middles = np.array([users[a:b].mean() for a, b in itertools.pairwise(edges)])
        for name, place in _places(data).items():
            flags = data.optimal.values[place]
            share = np.stack([flags[:, a:b].mean(axis=1) for a, b in itertools.pairwise(edges)], axis=1)
            mean, half = interval(share)
            look = look_of(place)
            axes.plot(middles, mean, color=look.color, linestyle=look.linestyle, label=label_of(name))
            axes.fill_between(middles, mean - half, mean + half, color=look.color, alpha=0.2, lw=0)
        axes.set(xlabel="users", ylabel="share of optimal actions", xlim=(0, users[-1]), ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_suite(table: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the regret of every policy on every problem, as a multiple of the best on that problem.

    Parameters
    ----------
    table : mapping
        What :func:`~hrprob.comparison.suite.ratios` returned.
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
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    return figure, axes


def _scale(axes: Axes, medians: list[float]) -> None:
    positive = [value for value in medians if value > 0]
    if positive and max(positive) > _FAR_APART * min(positive) and len(positive) == len(medians):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
