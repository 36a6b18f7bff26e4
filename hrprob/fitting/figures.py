"""Figures of a posterior in the style of hrprob; ArviZ draws further ones from ``to_datatree()``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hrprob import plot
from hrprob._core.random_numbers import Purpose, key_of
from hrprob._core.types import Array
from hrprob.fitting import predictive
from hrprob.fitting.intervals import check_prob

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["plot_coefficients", "plot_outcomes"]

_PRIOR_DRAWS = 1000
_REPLICATES = 500
# Rounds per group in the posterior predictive check, and the largest number of groups.
_ROUNDS, _GROUPS = 8, 10
_INK, _PALE, _POINT = "#0072B2", "#D0D0D0", "#D55E00"
_NAMES = {"theta": "θ, of the mean", "phi": "φ, of the variance"}


def plot_coefficients(posterior: Posterior, prob: float = 0.9) -> Figure:
    """Draw all parameters: median, 50 % and ``prob`` intervals, and in grey the prior's.

    Examples
    --------
    >>> import hrprob  # slow
    >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
    >>> [axes.get_title(loc="left") for axes in plot_coefficients(posterior).axes]
    ['θ, of the mean', 'φ, of the variance']
    """
    check_prob(prob)
    key = key_of(posterior.seed, Purpose.PRIOR)
    prior = predictive.prior(posterior.target, posterior.table.x, key, _PRIOR_DRAWS, posterior.columns)
    drawn = posterior.flat()
    rows = {name: np.prod(values.shape[1:], dtype=int) for name, values in drawn.items()}
    with plot.style():
        height = sum(0.35 + 0.17 * count for count in rows.values()) + 0.55
        figure = Figure(figsize=(plot.COLUMN_WIDTH, height), layout="constrained")
        panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=[1 + n for n in rows.values()])
        for axes, (name, values) in zip(panels[:, 0], drawn.items(), strict=True):
            _draw_intervals(
                axes,
                _labels(name, values, posterior.table.features),
                _by_entry(values),
                _by_entry(prior[name]),
                prob,
            )
            axes.set_title(_NAMES.get(name, name), loc="left")
        title = f"median, 50 % and {100 * prob:.3g} % intervals; grey: the prior's"
        figure.suptitle(title, fontsize=7, color="#555555")
    return figure


def plot_outcomes(posterior: Posterior, prob: float = 0.9) -> Figure:
    """Draw a posterior predictive check of means and standard deviations of outcomes.

    Rounds are grouped by their fitted mean (above) and by their fitted variance (below). For each group a point
    shows the mean of its outcomes (the standard deviation around the fitted mean), and a bar the interval of the
    same statistic in data replicated from the posterior: under a model that fits, about ``prob`` of
    the points lie within. Stays end at an outcome below β but are replicated with the length that they
    had, so a group of only one or two stays may lie outside for this reason alone.

    Examples
    --------
    >>> import hrprob
    >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
    >>> [axes.get_ylabel() for axes in plot_outcomes(posterior).axes]
    ['mean outcome', 'standard deviation']
    """
    check_prob(prob)
    table = posterior.table
    drawn = posterior.flat()
    picks = np.linspace(0, len(drawn["theta"]) - 1, min(_REPLICATES, len(drawn["theta"]))).astype(int)
    some = {name: values[picks] for name, values in drawn.items()}
    key = key_of(posterior.seed, Purpose.REPLICATES)
    again = predictive.outcomes(posterior.target, table.x, some, key, posterior.columns)
    # At the means of the draws, which are the posterior means of the moments where the link is affine, and near them else.
    fitted = table.x @ drawn["theta"].mean(axis=0)
    variance = np.maximum(posterior.setting.link(table.x @ drawn["phi"].mean(axis=0)), 0.0)
    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 4.2), layout="constrained")
        upper, lower = figure.subplots(2, 1)
        _draw_groups(upper, fitted, fitted, table.r, again, prob, squared=False)
        _draw_groups(
            lower, variance, variance, (table.r - fitted) ** 2, (again - fitted) ** 2, prob, squared=True
        )
        upper.set(xlabel="fitted mean of the group", ylabel="mean outcome")
        lower.set(xlabel="fitted sd of the group", ylabel="standard deviation")
        handles, labels = upper.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _labels(name: str, values: np.ndarray, entries: Sequence[str]) -> list[str]:
    if values.ndim == 1:
        return [name]
    if name in _NAMES:
        return list(entries)
    return [", ".join(map(str, place)) for place in np.ndindex(values.shape[1:])]


def _by_entry(values: Array) -> np.ndarray:
    return np.asarray(values).reshape(len(values), -1)


def _draw_intervals(
    axes: Axes, labels: list[str], values: np.ndarray, prior: np.ndarray, prob: float
) -> None:
    """Draw the columns of ``values`` (draws, rows), the first on top."""
    places = np.arange(len(labels))
    ends = [0.5 - prob / 2, 0.25, 0.5, 0.75, 0.5 + prob / 2]
    low, left, middle, right, high = np.quantile(values, ends, axis=0)
    below, above = np.quantile(prior, [ends[0], ends[-1]], axis=0)
    axes.hlines(places, below, above, color=_PALE, linewidth=5)
    axes.hlines(places, low, high, color=_INK, linewidth=1)
    axes.hlines(places, left, right, color=_INK, linewidth=2.6)
    axes.plot(middle, places, "o", color="white", markeredgecolor=_INK, markersize=4, zorder=3)
    axes.set_yticks(places, labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _draw_groups(
    axes: Axes,
    order: np.ndarray,
    fitted: np.ndarray,
    seen: np.ndarray,
    again: np.ndarray,
    prob: float,
    *,
    squared: bool,
) -> None:
    """Draw group means of data (``seen``, (rounds,)) and of replicated data (``again``, (draws, rounds))."""
    groups = np.array_split(np.argsort(order, kind="stable"), max(1, min(_GROUPS, len(seen) // _ROUNDS)))

    def mean(values: np.ndarray) -> np.ndarray:
        means = np.stack([values[..., group].mean(axis=-1) for group in groups], axis=-1)
        return np.sqrt(means) if squared else means

    at, points = mean(fitted), mean(seen)
    low, middle, high = np.quantile(mean(again), [0.5 - prob / 2, 0.5, 0.5 + prob / 2], axis=0)
    errors = np.stack([middle - low, high - middle])
    axes.errorbar(
        at,
        middle,
        errors,
        fmt="none",
        ecolor=_INK,
        capsize=2,
        label=f"replicated, {100 * prob:.3g} % interval",
    )
    inside = (low <= points) & (points <= high)
    axes.plot(at[inside], points[inside], "o", color=_POINT, label="data", zorder=3)
    axes.plot(at[~inside], points[~inside], "X", color=_POINT, markersize=5, zorder=3)
    axes.axline((at[0], at[0]), slope=1.0, color="#999999", linewidth=0.6, zorder=1)
    axes.set_title(
        f"{int(inside.sum())} of {len(groups)} groups within", loc="left", fontsize=7, color="#555555"
    )
