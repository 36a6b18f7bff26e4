"""Every policy on every problem, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from hrprob._core.keywords import nearest_keywords
from hrprob.numerics.ratios import ratios_to_least
from hrprob.plot.canvas import drawn_on
from hrprob.simulation.reading import oracles_of

if TYPE_CHECKING:
    from hrprob.comparison.records import Comparison

__all__ = ["suite"]

# Characters of a name under the map.
_LONGEST = 30


@nearest_keywords
def suite(
    problems: Mapping[str, xarray.Dataset | Comparison | Mapping[str, float]], ax: Axes | None = None
) -> Axes:
    """Draw the mean regret of every policy on every problem, divided by the least on that problem.

    Parameters
    ----------
    problems : mapping
        By the problem's name: the result of :func:`hrprob.simulate`, the comparison that :func:`hrprob.compare` made of
        it, or the mean regrets by policy. Regrets below one round count as one.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, as wide as the problems need.

    Returns
    -------
    matplotlib.axes.Axes
        Problems from left to right, policies from top to bottom, the one with the smallest worst ratio first; the best on
        each problem has 1. A cell is empty where a policy was not played. Oracles are left out.

    Examples
    --------
    >>> import hrprob
    >>> ax = hrprob.plot.suite({"sphere": {"greedy": 240.0, "HR-UCB": 380.0}, "one set": {"greedy": 3090.0, "HR-UCB": 300.0}})
    >>> [text.get_text() for text in ax.texts]
    ['1.58', '1.00', '1.00', '10']
    """
    table = {name: ratios_to_least(_mean_regrets(one)) for name, one in problems.items()}
    policies = list(dict.fromkeys(policy for row in table.values() for policy in row))
    policies.sort(key=lambda policy: max(row.get(policy, np.inf) for row in table.values()))
    values = np.array([[row.get(policy, np.nan) for row in table.values()] for policy in policies])
    with drawn_on(ax, height=1.4 + 0.2 * len(policies), width=max(2.4 + 0.42 * len(table), 3.3)) as axes:
        image = axes.imshow(values, norm=LogNorm(1.0, 30.0), cmap="cividis_r", aspect="auto")
        for row, column in np.argwhere(np.isfinite(values)):
            value = values[row, column]
            axes.text(
                column,
                row,
                f"{value:.2f}" if value < 10 else f"{value:.0f}",
                ha="center",
                va="center",
                fontsize=6,
                color="#FFFFFF" if value > 5 else "#000000",
                fontweight="bold" if value == 1.0 else "normal",
            )
        axes.set_xticks(
            range(len(table)), _short(list(table)), rotation=40, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks(range(len(policies)), policies)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        figure = axes.get_figure(root=True)
        assert figure is not None
        bar = figure.colorbar(image, ax=axes, label="regret / least regret", extend="max", pad=0.02)
        bar.set_ticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
        bar.minorticks_off()
        bar.ax.tick_params(labelsize=axes.yaxis.get_ticklabels()[0].get_fontsize())
    return axes


def _short(names: list[str]) -> list[str]:
    """Return names that leave room for the map: long ones are cut, or numbered where that makes them equal.

    Examples
    --------
    >>> _short(["d32", "sweep: problem.link.offset = 2.3749300"])
    ['d32', 'sweep: problem.link.offset…']
    """
    cut = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 2].rstrip(' .,=:')}…" for name in names]
    if len(set(cut)) == len(cut):
        return cut
    return [f"{name.partition(':')[0][:_LONGEST]} ({number})" for number, name in enumerate(names, start=1)]


def _mean_regrets(problem: xarray.Dataset | Comparison | Mapping[str, float]) -> dict[str, float]:
    """Return the mean regret of every policy that is no oracle."""
    if isinstance(problem, xarray.Dataset):
        oracles, last = oracles_of(problem), problem.regret.isel(user=-1).mean("trial")
        return {
            name: float(last.sel(policy=name)) for name in map(str, last.policy.values) if name not in oracles
        }
    return dict(cast(Mapping[str, float], getattr(problem, "mean_regrets", problem)))
