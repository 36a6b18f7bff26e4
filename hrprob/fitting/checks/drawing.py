"""Figures and plain data that several checks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from hrprob import plot
from hrprob.fitting.checks.base import CheckFigure
from hrprob.fitting.checks.martingales import Effects

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "effects_figure",
    "effects_to_plain",
    "plot_ecdf",
    "plot_effects",
    "plot_quantiles",
]

# Effects that are drawn at most: the largest.
_MOST_EFFECTS = 20


def effects_figure(name: str, label: str, found: Effects | None) -> list[CheckFigure]:
    """Return the figure of effects, if there are any."""
    if found is None:
        return []
    caption = f"{label} in each direction, ± 2 standard errors (the {_MOST_EFFECTS} largest at most)."
    return [CheckFigure(name, caption, lambda: plot_effects(found, label))]


def plot_effects(found: Effects, label: str) -> Figure:
    """Draw effects with two standard errors."""
    from matplotlib.figure import Figure

    order = np.argsort(-np.abs(found.effect))[:_MOST_EFFECTS][::-1]
    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 0.6 + 0.16 * len(order)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color="#000000", linewidth=0.7)
        axes.errorbar(found.effect[order], np.arange(len(order)), xerr=2 * found.se, fmt="o", markersize=3)
        axes.set_yticks(np.arange(len(order)), [found.names[index] for index in order])
        axes.set_xlabel(label)
    return figure


def effects_to_plain(found: Effects | None) -> Mapping[str, object]:
    """Return effects as plain data."""
    if found is None:
        return {}
    by_name = {name: float(value) for name, value in zip(found.names, found.effect, strict=True)}
    return {"effects": by_name, "se": found.se, "p_value": found.p_value}


def plot_quantiles(residual: np.ndarray) -> Figure:
    """Draw residuals against normal quantiles, with the range of each order statistic."""
    from matplotlib.figure import Figure

    n = residual.size
    order = np.arange(1, n + 1)
    normal = stats.norm.ppf((order - 0.5) / n)
    low, high = (stats.norm.ppf(stats.beta.ppf(q, order, order[::-1])) for q in (0.005, 0.995))
    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 2.4), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(normal, low, high, color=plot.BAND, linewidth=0)
        axes.plot(normal, np.sort(residual), ".", markersize=3)
        axes.plot(normal, normal, color="#000000", linewidth=0.5)
        axes.set_xlabel("normal quantile")
        axes.set_ylabel("residual")
    return figure


def plot_ecdf(pits: Mapping[str, np.ndarray]) -> Figure:
    """Draw empirical distribution functions of PIT values minus the diagonal."""
    from matplotlib.figure import Figure

    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 2.2), layout="constrained")
        axes = figure.subplots()
        for number, (name, values) in enumerate(pits.items()):
            z = np.sort(values)
            axes.plot(z, np.arange(1, z.size + 1) / z.size - z, color=plot.look_of(number).color, label=name)
        axes.axhline(0, color="#000000", linewidth=0.5)
        axes.set_xlabel("PIT z")
        axes.set_ylabel("ECDF − z")
        axes.legend()
    return figure
