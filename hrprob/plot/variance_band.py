"""The posterior of the variance along one feature, with the truth or with data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import percent
from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import add_legend, drawn_on
from hrprob.plot.intervals import draw_band
from hrprob.plot.scales import number_ticks
from hrprob.plot.style import look_of

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior
    from hrprob.problem import Problem

__all__ = ["variance"]

_POINTS = 60
# Rounds per group of data, and the largest number of groups.
_ROUNDS, _GROUPS = 8, 12


@nearest_keywords
def variance(
    posterior: Posterior,
    feature: int | str = 0,
    ax: Axes | None = None,
    *,
    at: ArrayLike | None = None,
    truth: Problem | None = None,
    data: bool = False,
    prob: float = 0.9,
    legend: bool = True,
) -> Axes:
    """Draw the posterior of σ²(x), the variance of an outcome, along one feature of the context.

    Parameters
    ----------
    posterior : Posterior
        The result of :func:`hrprob.fit`.
    feature : int or str, default 0
        The feature that varies, by its index from 0 or its name, "x1", "x2", ....
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    at : array_like, shape (d,), optional
        The values of the other features; by default 0. The feature runs over all values that leave ‖x‖ ≤ 1.
    truth : Problem, optional
        A problem whose variance is drawn too.
    data : bool, default False
        Group the rounds of the posterior by the feature, and draw the mean of their squared residuals with two standard
        errors. Curve and band are then at the mean contexts of the groups, with all their features, so that they
        can be compared with the points; ``at`` is not used.
    prob : float, default 0.9
        Probability of the band, a central interval at each x.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: median, band, and the truth or the data.

    Examples
    --------
    >>> import hrprob  # slow
    >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
    >>> ax = hrprob.plot.variance(posterior, "x1", truth=hrprob.Problem(theta=[0.5], phi=[0.5]))
    >>> [line.get_label() for line in ax.lines]
    ['posterior median', 'truth']
    """
    seen = posterior.table.x[:, int(posterior.table.intercept) :]
    dimension = seen.shape[1]
    index = _index(feature, dimension)
    groups = _groups(seen[:, index]) if data else None
    contexts = _along(index, dimension, at) if groups is None else _means(seen, groups)
    x = contexts[:, index]
    band = posterior.predict(posterior.table.in_units(contexts), prob=prob).variance
    # One legend of up to four entries in two columns.
    with drawn_on(ax, legend=2) as axes:
        look = look_of(0)
        axes.plot(x, band.sel(statistic="median"), color=look.color, label="posterior median")
        low, high = (band.sel(statistic=end).values for end in ("low", "high"))
        draw_band(axes, x, (low + high) / 2, (high - low) / 2, look.color, label=f"{percent(prob)} interval")
        if truth is not None:
            axes.plot(x, truth.link(contexts @ np.asarray(truth.phi)), "--", color="#000000", label="truth")
        if groups is not None:
            _draw_data(axes, posterior, index, groups)
        others = "" if dimension == 1 else ", mean contexts" if groups is not None else _others(index, at)
        axes.set(xlabel=f"x{_low(index + 1)}{others}", ylabel="variance σ²(x)")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        number_ticks(axes.xaxis)
        number_ticks(axes.yaxis)
        if legend:
            add_legend(axes, below=ax is None)
    return axes


def _index(feature: int | str, dimension: int) -> int:
    names = {f"x{number + 1}": number for number in range(dimension)}
    index = names.get(feature, -1) if isinstance(feature, str) else feature
    if not 0 <= index < dimension:
        known = f"0 to {dimension - 1} or {', '.join(names)}"
        raise InvalidInput("feature", f"must be one of {known}", feature, "it is a column of x")
    return index


def _along(index: int, dimension: int, at: ArrayLike | None) -> np.ndarray:
    """Return contexts (points, d) along one feature, the others fixed."""
    fixed = np.zeros(dimension) if at is None else np.array(at, dtype=float)
    if fixed.shape != (dimension,):
        raise InvalidInput("at", f"must have {dimension} entries", at, "one per feature")
    fixed[index] = 0.0
    room = 1.0 - float(fixed @ fixed)
    if room <= 0.0:
        raise InvalidInput("at", "must have a norm below 1 without the feature", at, "contexts have ‖x‖ ≤ 1")
    reach = np.sqrt(room)
    contexts = np.tile(fixed, (_POINTS, 1))
    contexts[:, index] = np.linspace(-reach, reach, _POINTS)
    # Rounding must not put the ends outside the ball.
    return contexts * (1.0 - 1e-12)


def _groups(values: np.ndarray) -> list[np.ndarray]:
    """Return the rounds in groups of about equal size, by rising values."""
    count = max(1, min(_GROUPS, len(values) // _ROUNDS))
    return np.array_split(np.argsort(values, kind="stable"), count)


def _means(x: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    return np.array([x[group].mean(axis=0) for group in groups])


def _draw_data(axes: Axes, posterior: Posterior, index: int, groups: list[np.ndarray]) -> None:
    x, r = posterior.table.x, posterior.table.r
    fitted = x @ posterior.theta.reshape(-1, x.shape[1]).mean(axis=0)
    squared = (r - fitted) ** 2
    means = np.array([squared[group].mean() for group in groups])
    errors = np.array(
        [squared[group].std(ddof=1) / np.sqrt(group.size) if group.size > 1 else 0.0 for group in groups]
    )
    axes.errorbar(
        _means(x[:, int(posterior.table.intercept) :], groups)[:, index],
        means,
        yerr=2 * errors,
        fmt="o",
        color=look_of(1).color,
        elinewidth=0.8,
        capsize=1.5,
        label="squared residuals ± 2 se",
        zorder=3,
    )


def _others(index: int, at: ArrayLike | None) -> str:
    return (
        ", other features 0"
        if at is None or not np.any(np.delete(np.asarray(at), index))
        else ", others fixed"
    )


def _low(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
