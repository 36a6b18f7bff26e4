"""Figure 2 of the paper in the released settings and in the text's, and HR-UCB with each ξ."""

from __future__ import annotations

import textwrap

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from hrprob.plot.intervals import mean_interval
from hrprob.plot.sizes import COLUMN_WIDTH
from hrprob.plot.style import GREY, Look, look_of, style
from hrprob.reproduce.parts import PARTS
from hrprob.reproduce.published import published_curves

__all__ = ["LABELS", "figure_2", "figure_index"]

LABELS = {
    "hr-ucb-k2": "HR-UCB, $K=2$",
    "hr-ucb-k3": "HR-UCB, $K=3$",
    "hr-ucb-k5": "HR-UCB, $K=5$",
    "hr-ucb-k5-released-width": r"HR-UCB, $K=5$, released $\xi$",
    "linucb": "LinUCB",
    "sigma-max-ucb": r"$\sigma_{\max}$-UCB",
    "cmdp": "CMDP",
    "cmdp-with-beta": r"CMDP with $\beta$",
    "cmdp-5-cells": "CMDP, 5 cells",
    "cmdp-eager": "CMDP, eager",
    "coin-toss": "coin toss, 2 actions",
    "greedy": "greedy",
    "thompson": "Thompson",
    "random": "random",
    "paper": r"$\xi$ as printed",
    "corrected": r"$\xi$ corrected",
    "computed-constants": r"$\xi$ with $C_3, C_4$ computed",
    "released": r"$\xi$ released",
    "calibrated": r"$\xi$ calibrated",
    "likelihood-ratio": "likelihood-ratio set",
}

# One look per policy, the same in every panel; policies that the paper left out are dark or grey.
_LOOKS = {
    name: look_of(index)
    for name, index in {
        "hr-ucb-k2": 1,
        "hr-ucb-k3": 2,
        "hr-ucb-k5": 0,
        "hr-ucb-k5-released-width": 5,
        "linucb": 4,
        "sigma-max-ucb": 3,
        "cmdp": 1,
        "paper": 0,
        "corrected": 2,
        "computed-constants": 4,
        "released": 5,
        "likelihood-ratio": 1,
        "calibrated": 3,
    }.items()
} | {
    "cmdp-with-beta": Look("#8C510A", "--", "v"),
    "cmdp-5-cells": Look("#BF812D", "-.", ""),
    "cmdp-eager": Look("#BF812D", "-.", ""),
    "coin-toss": Look("#999999", ":", ""),
    "greedy": Look("#000000", (0, (4, 1)), ""),
    "thompson": Look("#7F3C8D", (0, (5, 1, 1, 1)), ""),
    "random": Look("#999999", ":", ""),
}

# Curves that can coincide have different widths, the widest drawn first, so that each is visible.
_WIDTHS = {"hr-ucb-k2": 3.0, "hr-ucb-k3": 2.0, "cmdp": 1.9, "computed-constants": 2.2}

_TITLES = {
    "a": "(a) HR-UCB by growth $K$",
    "b": "(b) LinUCB, CMDP, HR-UCB",
    "c": r"(c) $\sigma_{\max}$-UCB, HR-UCB",
    "d": "(d) ten discrete context sets",
}
_POINTS = 150
# Of the title, in the width of one panel.
_LETTERS = 56


def figure_2(setting: str, runs: dict[str, xarray.Dataset], published: bool) -> Figure:
    """Return Figure 2, with the panels for which there are runs.

    Parameters
    ----------
    setting : str
        Name of the setting, written above the figure.
    runs : dict
        By panel; "b-cmdp" is the run of CMDP that has a problem of its own.
    published : bool
        Whether to draw the published points as well.
    """
    panels = [panel for panel in _TITLES if panel in runs]
    with style():
        rows = -(-len(panels) // 2)
        columns = min(2, len(panels))
        figure = Figure(figsize=(columns * COLUMN_WIDTH, 2.75 * rows + 0.15), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw_panel(axes, panel, runs, published)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        trials = next(iter(runs.values())).sizes["trial"]
        note = "; open circles: published means of 20" if published else ""
        title = f"{setting}: mean of {trials} trials, 95 % bands{note}"
        # One panel alone has no room for it in one line.
        words = title if columns > 1 else "\n".join(textwrap.wrap(title, _LETTERS))
        figure.suptitle(words, fontsize=7.5, color=GREY)
    return figure


def _draw_panel(axes: Axes, panel: str, runs: dict[str, xarray.Dataset], published: bool) -> None:
    drawn = [(name, runs[panel]) for name in runs[panel].policy.values if _shown(name, panel)]
    if panel == "b" and "b-cmdp" in runs and "cmdp" not in runs["b"].policy.values:
        drawn = [("cmdp", runs["b-cmdp"]), *drawn]
    for name, run in sorted(drawn, key=lambda pair: list(_LOOKS).index(pair[0])):
        _draw_curve(axes, run, name)
    if published:
        for curve in published_curves():
            if curve.panel == panel:
                axes.plot(
                    curve.users,
                    curve.regret,
                    "o",
                    mfc="none",
                    mec=_LOOKS[curve.policy].color,
                    mew=0.6,
                    ms=3,
                    zorder=5,
                )
    axes.set_title(_TITLES[panel])
    axes.set(xlabel="users (thousands)", ylabel="pseudo regret (rounds)")
    last = float(runs[panel].user[-1])
    axes.set_xlim(0, last)
    # A curve far above the others would flatten them on a linear axis.
    ends = sorted(float(run.regret.sel(policy=name).isel(user=-1).mean()) for name, run in drawn)
    if ends[-1] > 6 * max(ends[0], 1.0):
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(1.0, ends[0] / 8))
    else:
        axes.set_ylim(bottom=0)
    _thousands(axes, last)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=2, columnspacing=1.2)


def _shown(name: str, panel: str) -> bool:
    return any(name in part.panels.get(panel, ()) for part in PARTS.values())


def _in_thousands(users: float, _: int) -> str:
    # A function of the module: figures are sent to the process that writes them.
    return f"{users / 1000:g}"


def _thousands(axes: Axes, last: float) -> None:
    axes.xaxis.set_major_formatter(FuncFormatter(_in_thousands))
    if last >= 10000:
        axes.xaxis.set_major_locator(MultipleLocator(10000 if last <= 40000 else last // 4000 * 1000))


def _draw_curve(axes: Axes, run: xarray.Dataset, name: str, logarithmic: bool = False) -> None:
    look = _LOOKS[name]
    users = run.user.values
    wanted = (
        np.geomspace(users[0], users[-1], _POINTS)
        if logarithmic
        else np.linspace(users[0], users[-1], _POINTS)
    )
    shown = np.unique(np.searchsorted(users, wanted).clip(0, len(users) - 1))
    mean, half = mean_interval(run.regret.sel(policy=name).values[:, shown])
    axes.plot(
        users[shown],
        mean,
        color=look.color,
        linestyle=look.linestyle,
        linewidth=_WIDTHS.get(name, 1.1),
        label=LABELS.get(name, name),
    )
    if np.all(np.isfinite(half)):
        floor = 1e-3 if logarithmic else 0.0
        axes.fill_between(
            users[shown], np.maximum(mean - half, floor), mean + half, color=look.color, alpha=0.18, lw=0
        )


def figure_index(run: xarray.Dataset, bounds: dict[str, np.ndarray]) -> Figure:
    """Return the regret of HR-UCB with each ξ, on logarithmic axes, and the bound of Theorem 3.

    Parameters
    ----------
    run : xarray.Dataset
        The run of HR-UCB with each ξ, greedy and random.
    bounds : dict
        The bound at each user of the run, by version.
    """
    with style():
        figure = Figure(figsize=(1.45 * COLUMN_WIDTH, 3.6), layout="constrained")
        axes = figure.subplots()
        for name in run.policy.values:
            _draw_curve(axes, run, str(name), logarithmic=True)
        users = run.user.values
        for (version, bound), line in zip(bounds.items(), ((0, (1, 1)), "--"), strict=False):
            axes.plot(
                users, bound, color="#7F0000", lw=1.0, ls=line, label=f"Theorem 3, {version}, $C_3=C_4=1$"
            )
        # The regret of the first few users is noise, and would take up half of the axis.
        axes.set(xscale="log", yscale="log", xlabel="users", ylabel="pseudo regret (rounds)")
        axes.set_xlim(10, users[-1])
        axes.set_ylim(bottom=3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
        axes.set_title(f"HR-UCB with each $\\xi$, $K=5$: mean of {run.sizes['trial']} trials, 95 % bands")
    return figure
