"""Figure 1 of the paper: heteroscedastic outcomes, and the risk of two actions at one level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats

from hrprob.lifetime import reneging_probability
from hrprob.plot.sizes import COLUMN_WIDTH
from hrprob.plot.style import style

__all__ = ["figure_1"]

_BLUE, _LIGHT_BLUE, _ORANGE = "#0072B2", "#56B4E9", "#D55E00"
_BETA = -0.8


class _Action(NamedTuple):
    """An action of panel (b), and the height at which its risk is written."""

    mean: float
    sd: float
    color: str
    height: float


_ACTIONS = (_Action(0.7, 0.75, _ORANGE, 0.4), _Action(0.9, 1.5, _BLUE, 0.2))


def figure_1() -> Figure:
    """Return Figure 1: (a) outcomes whose variance grows with the context, (b) the risk of two actions at one β."""
    with style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.3), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_outcomes(left)
        _draw_risks(right)
    return figure


def _draw_outcomes(axes: Axes) -> None:
    rng = np.random.default_rng(7)
    x = rng.uniform(0.0, 1.0, 260)
    grid = np.linspace(0.0, 1.0, 100)
    mean, sd = 0.3 + 0.6 * grid, np.sqrt(0.01 + 0.24 * grid)
    outcomes = 0.3 + 0.6 * x + np.sqrt(0.01 + 0.24 * x) * rng.standard_normal(260)
    axes.fill_between(grid, mean - 1.96 * sd, mean + 1.96 * sd, color=_LIGHT_BLUE, alpha=0.3, lw=0)
    axes.plot(x, outcomes, ".", color="#555555", ms=2.2, mew=0)
    axes.plot(grid, mean, color=_BLUE)
    axes.set(xlabel="context $x$ (one dimension)", ylabel="outcome $r$")
    axes.set_title("(a) heteroscedastic outcomes")
    handles = [
        Line2D([], [], color=_BLUE, label=r"mean $\theta x$"),
        Line2D([], [], color=_LIGHT_BLUE, alpha=0.5, lw=5, label="95 % of outcomes"),
    ]
    axes.legend(handles=handles, loc="upper left")


def _draw_risks(axes: Axes) -> None:
    grid = np.linspace(-5.8, 7.6, 600)
    for number, action in enumerate(_ACTIONS, start=1):
        mean, sd, color, height = action
        density = stats.norm.pdf(grid, mean, sd)
        risk = float(reneging_probability(mean, sd**2, _BETA))
        axes.plot(grid, density, color=color)
        axes.fill_between(grid, density, where=(grid <= _BETA).tolist(), color=color, alpha=0.45, lw=0)
        axes.annotate(
            f"$P_{number}(r<\\beta) = {risk:.2f}$",
            xy=(_BETA - 0.2, stats.norm.pdf(_BETA - 0.2, mean, sd) * 0.6),
            xytext=(-1.75, height),
            ha="right",
            color=color,
            fontsize=7,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.6, "relpos": (1.0, 0.5)},
        )
        side = 1.35 * sd
        axes.text(
            mean + side + 0.25,
            stats.norm.pdf(mean + side, mean, sd) + 0.015,
            f"$P_{number}$: $\\mu_{number}={mean}$, $\\sigma_{number}={sd}$",
            color=color,
            fontsize=7,
        )
    axes.axvline(_BETA, color="#000000", lw=0.8, ls="--")
    axes.text(_BETA + 0.08, 0.545, r"$\beta$", va="top")
    axes.set(xlabel="outcome $r$", ylabel=r"density $\psi(r)$", ylim=(0, 0.56), xlim=(-5.8, 7.6))
    axes.set_title("(b) two actions, one satisfaction level")
