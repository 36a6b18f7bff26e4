"""Curves along the users: paired differences of regret, and the share of optimal actions."""

from __future__ import annotations

import itertools

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, PercentFormatter

from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import add_legend, drawn_on, legend_height
from hrprob.plot.intervals import draw_band, mean_interval, trials_in_words
from hrprob.plot.labels import label_of, labels_of, note_above
from hrprob.plot.scales import FAR_APART, number_ticks
from hrprob.plot.style import look_of
from hrprob.simulation.reading import oracles_of

__all__ = ["differences", "optimal_actions"]

_POINTS = 200
_WINDOWS = 24


@nearest_keywords
def differences(
    result: xarray.Dataset, ax: Axes | None = None, *, against: str | None = None, legend: bool = True
) -> Axes:
    r"""Draw the regret of every policy minus that of one of them, paired by trial, with 95 % bands.

    Where a band does not contain 0, the difference at that single user is significant at 5 %; :func:`hrprob.compare`
    corrects for the number of pairs.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    against : str, optional
        The policy whose regret is subtracted; by default the one of least mean regret at the last user, oracles
        left out.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        One curve with its band for every other policy, oracles left out: below 0 is better.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> values = np.sqrt(np.arange(1.0, 101.0)) * [[[1.0], [1.2]], [[2.0], [2.4]]]
    >>> axes = ("policy", "trial", "user")
    >>> result = xarray.Dataset({"regret": (axes, values)}, {"policy": ["greedy", "HR-UCB"], "user": range(1, 101)})
    >>> ax = hrprob.plot.differences(result)
    >>> [line.get_label() for line in ax.lines][0], ax.get_ylabel()
    ('HR-UCB', 'regret minus that of\ngreedy (rounds)')
    """
    oracles = oracles_of(result)
    rivals = [name for name in map(str, result.policy.values) if name not in oracles]
    ends = result.regret.isel(user=-1).mean("trial").sel(policy=rivals)
    base = rivals[int(np.argmin(ends.values))] if against is None else against
    shown = {
        name: (index, label)
        for index, (name, label) in enumerate(labels_of(result).items())
        if name != base and name in rivals
    }
    users = result.user.values
    points = np.unique(np.linspace(0, len(users) - 1, _POINTS).astype(int))
    subtracted = result.regret.sel(policy=base).values[:, points]
    with drawn_on(ax, legend=2 + legend_height([label for _, label in shown.values()])) as axes:
        for index, label in shown.values():
            mean, half = mean_interval(result.regret.values[index][:, points] - subtracted)
            look = look_of(index)
            axes.plot(users[points], mean, color=look.color, linestyle=look.linestyle, label=label)
            draw_band(axes, users[points], mean, half, look.color)
        axes.axhline(0.0, color="#000000", lw=0.6)
        spread = np.abs(ends.values - float(subtracted[:, -1].mean()))
        spread = spread[(spread > 0) & np.isfinite(spread)]
        axes.xaxis.set_major_locator(MaxNLocator(5))
        if spread.size and spread.max() > FAR_APART * np.median(spread):
            # Linear around zero: differences have both signs.
            straight = max(float(np.median(spread)) / 3, 1e-3)
            axes.set_yscale("symlog", linthresh=straight)
            axes.yaxis.set_major_locator(FixedLocator(_symmetric_ticks(straight, float(spread.max()))))
            axes.yaxis.set_minor_locator(NullLocator())
            note_above(axes, "linear around 0, logarithmic beyond")
        number_ticks(axes.xaxis)
        number_ticks(axes.yaxis)
        unit = result.regret.attrs.get("units", "rounds")
        axes.set(
            xlabel="users", ylabel=f"regret minus that of\n{label_of(base)} ({unit})", xlim=(0, users[-1])
        )
        if legend:
            add_legend(axes, below=ax is None, title=f"mean of {trials_in_words(result)}; below 0 is better")
    return axes


@nearest_keywords
def optimal_actions(result: xarray.Dataset, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw the share of users whose first action was the best for them, along the users, with 95 % bands.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`: ``optimal`` over policy, trial and user.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        One curve per policy: shares in up to 24 windows of users.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> flags = np.random.default_rng(0).integers(0, 2, (1, 5, 100))
    >>> axes = ("policy", "trial", "user")
    >>> result = xarray.Dataset({"optimal": (axes, flags)}, {"policy": ["coin"], "user": range(1, 101)})
    >>> hrprob.plot.optimal_actions(result).get_ylabel()
    'share of optimal actions'
    """
    users = result.user.values
    edges = np.unique(np.linspace(0, len(users), min(_WINDOWS, len(users)) + 1).astype(int))
    windows = list(itertools.pairwise(edges))
    middles = np.array([users[a:b].mean() for a, b in windows])
    labels = list(labels_of(result).values())
    with drawn_on(ax, legend=2 + legend_height(labels)) as axes:
        for index, label in enumerate(labels):
            flags = result.optimal.values[index]
            share = np.stack([flags[:, a:b].mean(axis=1) for a, b in windows], axis=1)
            mean, half = mean_interval(share)
            look = look_of(index)
            axes.plot(middles, mean, color=look.color, linestyle=look.linestyle, label=label)
            draw_band(axes, middles, mean, half, look.color)
        axes.set(xlabel="users", ylabel="share of optimal actions", xlim=(0, users[-1]), ylim=(0, 1.02))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        number_ticks(axes.xaxis)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        if legend:
            add_legend(axes, below=ax is None, title=f"mean of {trials_in_words(result)}")
    return axes


def _symmetric_ticks(straight: float, largest: float) -> list[float]:
    """Return 0 and powers of ten of both signs, from where the axis is logarithmic.

    Examples
    --------
    >>> _symmetric_ticks(6.0, 300.0)
    [-1000.0, -100.0, -10.0, 0.0, 10.0, 100.0, 1000.0]
    """
    powers = range(int(np.ceil(np.log10(straight))), int(np.ceil(np.log10(largest))) + 1)
    above = [10.0**power for power in powers]
    return [*(-tick for tick in reversed(above)), 0.0, *above]
