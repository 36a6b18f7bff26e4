"""What validity costs: the regret of policies whose width has a proof, beside those that promise nothing."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.figure import Figure

from hrprob._core.formatting import format_number
from hrprob.comparison.estimates import Estimate, ratio_of_means
from hrprob.plot.intervals import mean_interval
from hrprob.plot.sizes import COLUMN_WIDTH
from hrprob.plot.style import style
from hrprob.reproduce.regret_figures import LABELS

__all__ = ["PROMISES", "figure_validity", "price"]

PROMISES = {
    "paper": "claimed, not proved",
    "corrected": "fixed designs",
    "likelihood-ratio": "any design, all n;\nclosed form: tested",
    "released": "nothing",
    "calibrated": "nothing",
    "thompson": "nothing",
    "greedy": "nothing",
}
"""What the width of each policy is proved for; the closed form of the likelihood-ratio set is tested, not proved."""

_REFERENCE = "likelihood-ratio"


def price(run: xarray.Dataset) -> dict[str, Estimate]:
    """Return the last regret of each policy over that of the likelihood-ratio set, with its 95 % interval.

    Parameters
    ----------
    run : xarray.Dataset
        The run of HR-UCB with each ξ; trials are paired.
    """
    last = run.regret.isel(user=-1)
    reference = last.sel(policy=_REFERENCE).values
    return {
        name: ratio_of_means(last.sel(policy=name).values, reference)
        for name in PROMISES
        if name in run.policy.values
    }


def figure_validity(run: xarray.Dataset) -> Figure:
    """Return the last regret of each policy with its 95 % interval, by what its width promises.

    Parameters
    ----------
    run : xarray.Dataset
        The run of HR-UCB with each ξ.
    """
    ratios = price(run)
    names = list(ratios)[::-1]
    last = run.regret.isel(user=-1)
    with style():
        figure = Figure(figsize=(1.45 * COLUMN_WIDTH, 2.8), layout="constrained")
        axes = figure.subplots()
        for place, name in enumerate(names):
            mean, half = mean_interval(last.sel(policy=name).values)
            color = "#8A8A8A" if PROMISES[name] == "nothing" else "#1B6CA8"
            axes.errorbar(
                mean, place, xerr=np.nan_to_num(half), color=color, fmt="o", markersize=3, capsize=4
            )
            words = "" if name == _REFERENCE else f"   × {ratios[name].against(1.0)}"
            # In a column of its own, right of the axes: none runs into a point or out of the figure.
            axes.text(
                1.02,
                place,
                f"{format_number(mean, 0)}{words}",
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=7,
            )
        axes.set_yticks(
            range(len(names)), [f"{LABELS.get(name, name)}\n({PROMISES[name]})" for name in names], fontsize=7
        )
        axes.set(xscale="log", xlabel=f"pseudo regret after {format_number(int(run.user[-1]))} users")
        axes.set_title("What is proved of each width, and its regret", fontsize=9)
    return figure
