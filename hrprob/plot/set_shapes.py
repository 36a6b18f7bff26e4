"""Confidence sets of θ and φ: as ellipses beside a posterior, and their radii along n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_choice
from hrprob._core.formatting import format_number, percent
from hrprob._core.keywords import nearest_keywords
from hrprob.plot.canvas import add_legend, drawn_on, legend_height
from hrprob.plot.scales import label_plainly, number_ticks
from hrprob.plot.style import look_of

if TYPE_CHECKING:
    from hrprob.estimation.estimator import Ellipsoid
    from hrprob.fitting.posterior import Posterior
    from hrprob.problem import Problem

__all__ = ["confidence_sets", "set_radii"]

_SYMBOLS = {"theta": "θ", "phi": "φ"}
_RADII = {"theta": "α⁽¹⁾ₙ", "phi": "ρₙ"}
_MOST_DRAWS = 500
_POINTS = "#777777"
# Draws that take less than this share of an axis are shown in a panel of their own.
_CLOSE = 0.15
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 181)


@nearest_keywords
def confidence_sets(
    sets: Ellipsoid | Mapping[str, Ellipsoid],
    ax: Axes | None = None,
    *,
    parameter: str = "phi",
    features: tuple[int, int] = (0, 1),
    posterior: Posterior | ArrayLike | None = None,
    truth: Problem | ArrayLike | None = None,
    legend: bool = True,
) -> Axes:
    """Draw confidence sets of θ or φ on the plane of two features, with posterior draws and the truth.

    Parameters
    ----------
    sets : Ellipsoid or mapping of str to Ellipsoid
        Sets with their labels, for example of :meth:`hrprob.GLSE.confidence_ellipsoids`; the radius of the set of φ is ρ_n.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    parameter : {"phi", "theta"}, default "phi"
        What the sets are sets of.
    features : tuple of int, default (0, 1)
        The two coordinates that are drawn, from 0. An ellipsoid in more dimensions is drawn as its shadow: all pairs of
        coordinates that one of its points has.
    posterior : Posterior or array_like, shape (draws, d), optional
        Draws to compare with; at most 500 are drawn.
    truth : Problem or array_like, shape (d,), optional
        The true parameter.
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with one ellipse per set.

    Examples
    --------
    >>> import hrprob, numpy as np
    >>> from hrprob.estimation.estimator import Ellipsoid
    >>> printed = Ellipsoid(np.array([0.5, 0.2]), np.diag([400.0, 100.0]), 30.0)
    >>> ax = hrprob.plot.confidence_sets({"as printed": printed}, truth=[0.4, 0.3])
    >>> print(ax.get_legend_handles_labels()[1])
    ['as printed, ρₙ = 30', 'truth']
    """
    check_choice("parameter", parameter, tuple(_SYMBOLS))
    named = dict(sets) if isinstance(sets, Mapping) else {"confidence set": sets}
    first, second = _check_features(features, len(next(iter(named.values())).center))
    draws = _draws(posterior, parameter)
    point = getattr(truth, parameter, truth)
    labels = {
        name: f"{name}, {_RADII[parameter]} = {format_number(one.radius)}" for name, one in named.items()
    }
    entries = [*labels.values(), *(["posterior draws"] if draws is not None else []), "truth"]
    with drawn_on(ax, height=2.7, legend=1 + legend_height(entries, 1)) as axes:
        if draws is not None:
            _draw_points(axes, draws[:, [first, second]])
            axes.plot([], [], ".", color=_POINTS, ms=6, label="posterior draws")
        for index, (name, one) in enumerate(named.items()):
            look = look_of(index)
            x, y = _outline(one, [first, second])
            axes.plot(x, y, color=look.color, linestyle=look.linestyle, label=labels[name])
            axes.plot(*one.center[[first, second]], "+", color=look.color, ms=6)
        true = None if point is None else np.asarray(point, dtype=float)[[first, second]]
        if true is not None:
            axes.plot(*true, "*", color="#000000", ms=7, mew=0, label="truth", zorder=4)
        if draws is not None:
            _add_close_up(axes, draws[:, [first, second]], true)
        symbol = _SYMBOLS[parameter]
        axes.set(xlabel=f"{symbol}, feature {first + 1}", ylabel=f"{symbol}, feature {second + 1}")
        number_ticks(axes.xaxis)
        number_ticks(axes.yaxis)
        if legend:
            add_legend(axes, below=ax is None, columns=1)
    return axes


@nearest_keywords
def set_radii(
    table: xarray.Dataset, ax: Axes | None = None, *, parameter: str = "phi", legend: bool = True
) -> Axes:
    """Draw the radius of the printed sets along n, with what is enough on data and with the posterior's.

    Parameters
    ----------
    table : xarray.Dataset
        The result of :func:`hrprob.diagnostics.compare_sets` for one design: over parameter and n, ``radius`` by version,
        ``quantile`` and ``quantile_simultaneous`` of the error over replications, and ``posterior_radius``.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default new ones, one column of a paper wide.
    parameter : {"phi", "theta"}, default "phi"
        Radii of the sets of φ (ρ_n) or of θ (α⁽¹⁾_n).
    legend : bool, default True
        Whether to add a legend: below a new figure, within given axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, both logarithmic; radii are in the norm of V.

    Examples
    --------
    >>> import hrprob, numpy as np, xarray
    >>> radius = np.array([[[200.0, 60.0], [300.0, 80.0]]])
    >>> enough = (("parameter", "n"), [[5.0, 6.0]])
    >>> table = xarray.Dataset(
    ...     {"radius": (("parameter", "n", "version"), radius), "quantile": enough, "quantile_simultaneous": enough,
    ...      "posterior_radius": enough},
    ...     {"parameter": ["phi"], "n": [10, 100], "version": ["paper", "corrected"]}, {"delta": 0.1})
    >>> [line.get_label() for line in hrprob.plot.set_radii(table).lines][:2]
    ['as printed', 'corrected']
    """
    check_choice("parameter", parameter, tuple(_SYMBOLS))
    one = table.sel(parameter=parameter)
    curves = (
        ("as printed", one.radius.sel(version="paper"), 6, "--"),
        ("corrected", one.radius.sel(version="corrected"), 7, "-."),
        ("quantile, all n at once", one.quantile_simultaneous, 0, (0, (1, 1))),
        ("quantile, each n", one["quantile"], 0, "-"),
        ("posterior", one.posterior_radius, 1, "-"),
    )
    with drawn_on(ax, legend=4) as axes:
        for marker, (label, values, place, line) in zip("os^Dv", curves, strict=True):
            axes.plot(one.n, values, color=look_of(place).color, linestyle=line, marker=marker, label=label)
        axes.set(xscale="log", yscale="log", ylabel=f"radius for {_SYMBOLS[parameter]}*")
        axes.xaxis.set_minor_locator(NullLocator())
        label_plainly(axes.yaxis)
        if ax is None:
            axes.set_xlabel("rounds n")
        if legend:
            title = f"in the norm of V, probability {percent(1 - table.attrs['delta'])}"
            add_legend(axes, below=ax is None, title=title)
    return axes


def _draw_points(axes: Axes, draws: np.ndarray) -> None:
    some = draws[np.linspace(0, len(draws) - 1, min(_MOST_DRAWS, len(draws))).astype(int)]
    axes.plot(*some.T, ".", color=_POINTS, ms=2, mew=0, zorder=1)


def _add_close_up(axes: Axes, draws: np.ndarray, truth: np.ndarray | None) -> None:
    """Add a panel with the draws alone, where the sets are so large that the draws look like a point."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    spread = np.ptp(draws, axis=0)
    if np.all(spread > _CLOSE * np.array([right - left, high - low])):
        return
    # Room for it in the upper right corner.
    axes.set(xlim=(left, right + 0.35 * (right - left)), ylim=(low, high + 0.25 * (high - low)))
    panel = axes.inset_axes((0.68, 0.66, 0.32, 0.34))
    _draw_points(panel, draws)
    if truth is not None:
        panel.plot(*truth, "*", color="#000000", ms=6, mew=0, zorder=4)
    panel.tick_params(labelsize=6, length=2)
    panel.set_title("close-up of the draws", fontsize=6, pad=2)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(3))
        number_ticks(axis)
    for spine in panel.spines.values():
        spine.set_visible(True)


def _check_features(features: tuple[int, int], dimension: int) -> tuple[int, int]:
    first, second = features
    if not all(0 <= one < dimension for one in features) or first == second:
        remedy = "a set of one dimension is an interval" if dimension == 1 else "they are the two axes"
        raise InvalidInput("features", f"must be two of 0 to {dimension - 1}", features, remedy)
    return first, second


def _draws(posterior: Posterior | ArrayLike | None, parameter: str) -> np.ndarray | None:
    if posterior is None:
        return None
    values = np.asarray(getattr(posterior, parameter, posterior), dtype=float)
    return values.reshape(-1, values.shape[-1])


def _outline(ellipsoid: Ellipsoid, features: list[int]) -> np.ndarray:
    """Return the outline (2, points) of an ellipsoid's shadow on two coordinates.

    The shadow of {v : vᵀ S v ≤ r²} is the ellipse whose matrix is the block of r² S⁻¹.
    """
    block = np.linalg.inv(ellipsoid.shape)[np.ix_(features, features)]
    circle = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    outline: np.ndarray = (
        ellipsoid.center[features][:, None] + ellipsoid.radius * np.linalg.cholesky(block) @ circle
    )
    return outline
