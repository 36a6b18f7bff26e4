"""The figures of a diagnosis: ArviZ draws the chains, the rest is in the style of the house.

PIT-ECDF plots are drawn here with the very band that the tests use
(:mod:`.uniformity`), corrected for how many curves there are, so that a curve leaves its
band, and is orange, where its quantity fails; ArviZ has such a band in some of its versions
only.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter
from scipy import stats

from hrprob.diagnostics.uniformity import simultaneous_band, uniformity_p_value
from hrprob.numerics.multiple_testing import holm
from hrprob.plot import plots

__all__ = [
    "bar_range",
    "plot_coverage",
    "plot_efficiency",
    "plot_energy",
    "plot_estimates",
    "plot_models",
    "plot_owed",
    "plot_pit",
    "plot_rank",
    "plot_ranks",
    "plot_reliability",
    "plot_residuals",
    "plot_sets",
    "plot_trace",
]

PAGE_WIDTH = 2 * plots.COLUMN_WIDTH + 0.2
_QUIET = "#555555"
_COEFFICIENTS = ["theta", "phi"]
# Panels of chains in a row, and inches of a row.
_CHAINS_IN_A_ROW, _CHAINS_HEIGHT = 4, 1.8
# Draws of a chain that are ranked at least, however much they depend on each other.
_LEAST_DRAWS = 100
_SYMBOLS = {"phi": "φ", "theta": "θ"}
_OWED = {
    "union": "union over n: δ/n² for δ",
    "scale": "σ²_max for σ_max, L² for L",
    "product": "α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾): θ* is not known",
    "rest": "the rest of the bound",
    "simultaneity": "simultaneity in n",
}
# Features and ranked quantities drawn, where there are many: all that fit side by side on a page.
_MOST_FEATURES, _MOST_QUANTITIES = 4, 12


def plot_sets(found: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw printed radii, quantiles of the error and posterior radii along n, by design, for φ and θ."""
    curves = (
        ("as printed", lambda of: of.radius.sel(version="paper"), 6, "--"),
        ("corrected", lambda of: of.radius.sel(version="corrected"), 7, "-."),
        ("quantile, all n at once", lambda of: of.quantile_simultaneous, 0, (0, (1, 1))),
        ("quantile, each n", lambda of: of["quantile"], 0, "-"),
        ("posterior", lambda of: of.posterior_radius, 1, "-"),
    )
    with plots.style():
        figure = Figure(figsize=(PAGE_WIDTH, 3.9), layout="constrained")
        panels = figure.subplots(2, len(found), sharex=True, sharey="row", squeeze=False)
        for row, parameter in zip(panels, _SYMBOLS, strict=True):
            for axes, (design, dataset) in zip(row, found.items(), strict=True):
                of = dataset.sel(parameter=parameter)
                for place, (label, values, colour, line) in enumerate(curves):
                    look = plots.look_of(colour)
                    axes.plot(
                        of.n, values(of), color=look.color, linestyle=line, marker="os^Dv"[place], label=label
                    )
                axes.set(xscale="log", yscale="log")
                axes.xaxis.set_minor_locator(NullLocator())
                _label_plainly(axes.yaxis)
                if parameter == "phi":
                    axes.set_title(f"{design} design", loc="left")
            row[0].set_ylabel(f"radius for {_SYMBOLS[parameter]}*")
        for axes in panels[-1]:
            axes.set_xlabel("rounds n")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        delta = next(iter(found.values())).attrs["delta"]
        title = f"in the norm of V, probability {1 - delta:.0%}"
        figure.legend(handles, labels, loc="outside lower center", ncols=5, title=title, title_fontsize=7)
    return figure


def plot_owed(found: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw what the printed radius over the quantile is made of, by n and design, on a logarithmic scale."""
    with plots.style():
        height = 1.15 + 0.14 * max(of.sizes["n"] for of in found.values())
        figure = Figure(figsize=(PAGE_WIDTH, height), layout="constrained")
        panels = figure.subplots(1, len(found), sharex=True, squeeze=False)[0]
        # Factors below 1 are bars to the left.
        ends = [np.cumsum([np.log10(of[name].values) for name in _OWED], axis=0) for of in found.values()]
        low, high = min(0.0, *(float(end.min()) for end in ends)), max(float(end.max()) for end in ends)
        for axes, (design, of) in zip(panels, found.items(), strict=True):
            start = np.zeros(of.sizes["n"])
            for place, (name, label) in enumerate(_OWED.items()):
                part = np.log10(of[name].values)
                axes.barh(
                    np.arange(of.sizes["n"]), part, left=start, color=plots.look_of(place).color, label=label
                )
                start = start + part
            for at, (end, total) in enumerate(zip(start, of.total.values, strict=True)):
                axes.text(end + 0.03, at, f"{total:.0f}", va="center", fontsize=6, color=_QUIET)
            axes.set_yticks(np.arange(of.sizes["n"]), [f"{n:,}" for n in of.n.values])
            axes.set_ylim(of.sizes["n"] - 0.4, -0.6)
            axes.set_xlim(low, max(3.3, high + 0.35))  # a number stands at the end of each bar
            decades = range(math.ceil(low), math.floor(axes.get_xlim()[1]) + 1)
            axes.set_xticks(list(decades), [f"{10.0**power:g}" for power in decades])
            axes.grid(axis="y", visible=False)
            axes.set_title(f"{design} design", loc="left")
            axes.set_xlabel("ρ_n / quantile")
        panels[0].set_ylabel("rounds n")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def plot_coverage(coverage: xarray.Dataset) -> Figure:
    """Draw coverage less level, by number of users, level and region, with two standard errors."""
    with plots.style():
        sizes = coverage.sizes["users"]
        figure = Figure(figsize=(PAGE_WIDTH, 2.5), layout="constrained")
        panels = figure.subplots(1, sizes, sharey=True, squeeze=False)[0]
        levels = coverage.level.values
        regions = [str(name) for name in coverage.region.values]
        for axes, users in zip(panels, coverage.users.values, strict=True):
            for place, region in enumerate(regions):
                of = coverage.sel(users=users, region=region)
                at = np.arange(len(levels)) + (place - (len(regions) - 1) / 2) * 0.12
                look = plots.look_of(place)
                axes.errorbar(
                    at,
                    100 * (of.coverage.values - levels),
                    yerr=200 * of.se.values,
                    color=look.color,
                    marker=look.marker,
                    linestyle="none",
                    elinewidth=0.7,
                    markersize=3,
                    label=region,
                )
            axes.axhline(0, color="#000000", linewidth=0.7, zorder=1)
            axes.set_xticks(np.arange(len(levels)), [f"{100 * level:g} %" for level in levels])
            axes.set_title(f"{users} users", loc="left")
            axes.set_xlabel("level of the interval")
        panels[0].set_ylabel("coverage less level\n(percentage points)")
        handles, labels = panels[0].get_legend_handles_labels()
        title = "contexts; bars are two standard errors"
        figure.legend(
            handles, labels, loc="outside lower center", ncols=len(regions), title=title, title_fontsize=7
        )
    return figure


def plot_pit(
    places: Mapping[str, np.ndarray], error_rate: float, columns: int = 6, most: int = _MOST_QUANTITIES
) -> Figure:
    """Draw the empirical distribution function of places less the diagonal, with simultaneous bands.

    Parameters
    ----------
    places : mapping of str to ndarray
        Numbers that should be uniform, by what they are the places of.
    error_rate : float
        Probability at most that any curve leaves its band where all numbers are uniform.
    columns, most : int
        Panels in a row, and in all: where there are more, those with the least p-values are drawn.
    """
    names = list(places)
    p_values = _p_values(places.values())
    fails = holm(p_values) < error_rate
    # Where Holm's correction stops: those that fail have p-values below this level, the others none.
    level = error_rate / max(1, int(np.sum(~fails)))
    shown = _least(p_values, most)
    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    with plots.style():
        figure = Figure(figsize=(PAGE_WIDTH, 0.5 + 1.15 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in panels.flat[len(shown) :]:
            axes.set_visible(False)
        for axes, place in zip(panels.flat, shown, strict=False):
            _draw_pit(axes, np.asarray(places[names[place]]).ravel(), level, fails[place])
            axes.set_title(names[place], loc="left", fontsize=7)
        for row in panels:
            row[0].set_ylabel("ECDF − z")
        for axes in panels.flat[len(shown) - columns : len(shown)]:  # the lowest of each column
            axes.set_xlabel("place z")
            axes.tick_params(labelbottom=True)
    return figure


def _p_values(places: Iterable[np.ndarray]) -> np.ndarray:
    return np.array([uniformity_p_value(numbers) for numbers in places])


def _least(values: np.ndarray, most: int) -> np.ndarray:
    """Return the places of the least ``most`` values, in order."""
    return np.sort(np.argsort(values, kind="stable")[:most])


def _draw_pit(axes: Axes, numbers: np.ndarray, error_rate: float, failing: bool) -> None:
    z, low, high = simultaneous_band(numbers.size, error_rate)
    axes.fill_between(z, low - z, high - z, step="mid", color="#D9D9D9", linewidth=0)
    share = np.searchsorted(np.sort(numbers), z, side="right") / numbers.size
    axes.plot(z, share - z, color=_colour(failing))
    axes.axhline(0, color="#000000", linewidth=0.5)
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])


def _colour(failing: bool) -> str:
    return plots.look_of(1 if failing else 0).color


def plot_ranks(found: Mapping[str, xarray.DataArray], error_rate: float) -> Figure:
    """Draw histograms of places, one row an engine and one column a quantity.

    Those are orange whose places are not uniform, by the same test as in :func:`plot_pit`.

    Parameters
    ----------
    found : mapping of str to DataArray
        Places over quantity and data_set, by engine. Of more than twelve quantities, those with the
        least p-values for any engine are drawn.
    error_rate : float
        Probability at most that any histogram of a row is orange, and that any bar leaves its range, where
        all numbers are uniform.
    """
    with plots.style():
        p_values = {engine: _p_values(places.values) for engine, places in found.items()}
        shown = _least(np.min(list(p_values.values()), axis=0), _MOST_QUANTITIES)
        figure = Figure(figsize=(PAGE_WIDTH, 0.45 + 0.75 * len(found)), layout="constrained")
        panels = figure.subplots(len(found), len(shown), sharex=True, sharey=True, squeeze=False)
        for row, (engine, places) in zip(panels, found.items(), strict=True):
            quantities, sets = places.shape
            bins = 10 if sets >= 100 else 5
            low, high = bar_range(sets, bins, error_rate / quantities)
            fails = holm(p_values[engine]) < error_rate
            for axes, place in zip(row, shown, strict=True):
                counts, edges = np.histogram(places.values[place], bins, (0, 1))
                axes.axhspan(low, high, color="#D9D9D9", linewidth=0)
                axes.stairs(counts * bins / sets, edges, fill=True, alpha=0.7, color=_colour(fails[place]))
                axes.grid(visible=False)
                axes.set_xticks([])
            row[0].set_ylabel(f"{engine}\n{sets} sets", fontsize=7)
        names = next(iter(found.values())).quantity.values[shown]
        for axes, name in zip(panels[0], names, strict=True):
            axes.set_title(str(name), fontsize=6)
        figure.supxlabel("place of the truth among the draws, 0 to 1", fontsize=7)
    return figure


def bar_range(sets: int, bins: int, error_rate: float) -> tuple[float, float]:
    """Return between which heights all bars of a histogram of uniform numbers lie, their mean being 1.

    Examples
    --------
    >>> bar_range(200, 10, 0.01)
    (0.4, 1.75)
    """
    tails = (error_rate / (2 * bins), 1.0 - error_rate / (2 * bins))
    low, high = (float(stats.binom.ppf(tail, sets, 1.0 / bins)) * bins / sets for tail in tails)
    return low, high


def plot_reliability(found: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw observed against predicted shares of users who left, by predictor and by truths."""
    predictors = [str(name) for name in next(iter(found.values())).predictor.values]
    with plots.style():
        height = 0.4 + 1.9 * len(found)
        figure = Figure(figsize=(PAGE_WIDTH, height), layout="constrained")
        panels = figure.subplots(len(found), len(predictors), sharex=True, sharey=True, squeeze=False)
        for row, (truths, table) in zip(panels, found.items(), strict=True):
            for place, (axes, name) in enumerate(zip(row, predictors, strict=True)):
                of = table.sel(predictor=name)
                used = of["count"].values > 0
                look = plots.look_of(place)
                middle = of.predicted.values[used]
                # The band lies about the diagonal: where the points would be if the probabilities were right.
                half = 2 * of.se.values[used]
                axes.fill_between(middle, middle - half, middle + half, color="#D9D9D9", linewidth=0)
                axes.plot([0, 1], [0, 1], color="#000000", linewidth=0.6)
                axes.plot(middle, of.observed.values[used], color=look.color, marker=look.marker)
                axes.set_title(f"{name}, {truths}", loc="left", fontsize=7)
                axes.set(xlim=(0, 1), ylim=(0, 1))
            row[0].set_ylabel("share who left at once")
        for axes in panels[-1]:
            axes.set_xlabel("predicted probability")
    return figure


def plot_residuals(checks: xarray.Dataset) -> Figure:
    """Draw statistics of residuals: of data drawn anew from the posterior, and of the data."""
    with plots.style():
        figure = Figure(figsize=(PAGE_WIDTH, 1.9), layout="constrained")
        panels = figure.subplots(1, checks.sizes["statistic"], squeeze=False)[0]
        for axes, name in zip(panels, checks.statistic.values, strict=True):
            of = checks.sel(statistic=name)
            values = np.concatenate([of.replicated.values, of.observed.values])
            edges = np.linspace(values.min(), values.max(), 31)
            axes.hist(of.replicated.values, edges, color="#BBBBBB", label="drawn anew")
            axes.hist(
                of.observed.values,
                edges,
                histtype="step",
                color=plots.look_of(1).color,
                label="data, at each draw",
            )
            axes.set_title(f"{name}: p = {float(of.p_value):.3f}", loc="left", fontsize=7)
            axes.set_yticks([])
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def plot_models(comparison: xarray.Dataset) -> Figure:
    """Draw how far each model is ahead of the reference in expected log predictive density."""
    names = [str(name) for name in comparison.model.values]
    with plots.style():
        figure = Figure(figsize=(plots.COLUMN_WIDTH, 0.7 + 0.22 * len(names)), layout="constrained")
        axes = figure.subplots()
        at = np.arange(len(names))
        axes.axvline(0, color="#000000", linewidth=0.7)
        axes.errorbar(comparison.ahead, at, xerr=2 * comparison.ahead_se, fmt="o", capsize=2)
        axes.set_yticks(at, names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(
            f"log predictive density ahead of {comparison.attrs['reference']},\ntwo standard errors"
        )
        axes.grid(axis="y", visible=False)
    return figure


def plot_estimates(estimates: xarray.Dataset, data_set: int = 0) -> Figure:
    """Draw both estimates of every coefficient in one data set, with their standard errors, as users arrive."""
    of = estimates.isel(data_set=data_set)
    features = [str(name) for name in of.feature.values[:_MOST_FEATURES]]
    with plots.style():
        figure = Figure(figsize=(PAGE_WIDTH, 3.3), layout="constrained")
        panels = figure.subplots(2, len(features), sharex=True, sharey="row", squeeze=False)
        for row, parameter in zip(panels, ("theta", "phi"), strict=True):
            for axes, feature in zip(row, features, strict=True):
                for place, name in enumerate(estimates.estimator.values):
                    one = of.sel(parameter=parameter, feature=feature, estimator=name)
                    look = plots.look_of(place)
                    axes.fill_between(
                        one.users, one.estimate - one.se, one.estimate + one.se, color=look.color, alpha=0.15
                    )
                    axes.plot(one.users, one.estimate, color=look.color, marker=look.marker, label=str(name))
                truth = float(of.truth.sel(parameter=parameter, feature=feature))
                axes.axhline(truth, color="#000000", linewidth=0.8, linestyle="--", label="truth")
                axes.set_xscale("log")
                _label_plainly(axes.xaxis, of.users.values)
                axes.set_title(f"{_SYMBOLS[parameter]}, {feature}", loc="left", fontsize=7)
        for axes in panels[-1]:
            axes.set_xlabel("users")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        title = "bands: one standard error"
        if np.isnan(of.se).any():
            title += "; none of the GLSE for φ, as the noise has no known fourth moment"
        figure.legend(handles, labels, loc="outside lower center", ncols=3, title=title, title_fontsize=7)
    return figure


def plot_efficiency(found: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw the mean squared error of the posterior mean over that of the GLSE, as users arrive."""
    with plots.style():
        figure = Figure(figsize=(plots.COLUMN_WIDTH, 2.3), layout="constrained")
        axes = figure.subplots()
        for row, (truths, table) in enumerate(found.items()):
            for column, parameter in enumerate(("theta", "phi")):
                of = table.sel(parameter=parameter)
                look = plots.look_of(2 * row + column)
                axes.errorbar(
                    of.users,
                    of.efficiency,
                    yerr=2 * of.efficiency_se,
                    color=look.color,
                    marker=look.marker,
                    linestyle=look.linestyle,
                    capsize=2,
                    label=f"{_SYMBOLS[parameter]}, {truths}",
                )
        axes.axhline(1, color="#000000", linewidth=0.7)
        axes.set(xscale="log", xlabel="users", ylabel="squared error,\nposterior mean over GLSE")
        _label_plainly(axes.xaxis, sorted({int(users) for table in found.values() for users in table.users}))
        axes.set_ylim(bottom=0)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _label_plainly(axis: Axis, at: Iterable[int] | None = None) -> None:
    """Label a logarithmic axis with numbers in full, at those given or at 1, 3, 10, 30, ..."""
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)) if at is None else FixedLocator(list(at)))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.set_minor_locator(NullLocator())


def plot_trace(tree: Any) -> Figure:
    """Draw the course of each chain, by ArviZ."""
    import arviz_plots

    return _drawn(arviz_plots.plot_trace, tree, var_names=_COEFFICIENTS, **_of_worst(tree))


def plot_rank(tree: Any, prob: float = 0.99) -> Figure | None:
    """Draw where each chain's draws stand among those of all, by ArviZ; None of a single chain."""
    import arviz_plots

    if tree["posterior"].sizes["chain"] == 1:
        return None
    options = {_probability(arviz_plots.plot_rank): prob}
    return _drawn(arviz_plots.plot_rank, _thinned(tree), **options, **_of_worst(tree))


def plot_energy(tree: Any) -> Figure | None:
    """Draw the energy of each chain and its steps, by ArviZ; None where a sampler has none."""
    import arviz_plots

    if "energy" not in tree["sample_stats"]:
        return None
    size = {"figure_kwargs": {"figsize": (plots.COLUMN_WIDTH, 2.2)}}
    figure = _drawn(arviz_plots.plot_energy, tree, **size)
    figure.axes[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _of_worst(tree: Any) -> dict[str, Any]:
    """Return what ArviZ is told to draw: of many features those with the largest R-hat, on so many rows."""
    import arviz_stats

    every: xarray.Dataset = tree["posterior"].to_dataset()[_COEFFICIENTS]
    features = every.feature.values
    if len(features) > _MOST_FEATURES:
        rhat: Any = arviz_stats.rhat  # type: ignore[attr-defined]
        worst = rhat(every).to_array().max("variable").fillna(np.inf)
        features = features[_least(-worst.values, _MOST_FEATURES)]
    rows = -(-len(_COEFFICIENTS) * len(features) // _CHAINS_IN_A_ROW)
    return {
        "coords": {"feature": list(features)},
        "col_wrap": _CHAINS_IN_A_ROW,
        "figure_kwargs": {"figsize": (PAGE_WIDTH, _CHAINS_HEIGHT * rows)},
    }


def _thinned(tree: Any) -> xarray.DataTree:
    """Return about as many draws as they are worth, at least a hundred a chain: bands are those of independent ones.

    What counts is what a chain's draws are worth by themselves: where chains disagree, that is to be seen.
    """
    import arviz_stats

    ess: Any = arviz_stats.ess  # type: ignore[attr-defined]
    every: xarray.Dataset = tree["posterior"].to_dataset()[_COEFFICIENTS]
    draws = every.sizes["draw"]
    of_each = [float(ess(every.isel(chain=[one])).to_array().min()) for one in range(every.sizes["chain"])]
    effective = float(np.mean(of_each))
    worth = draws if math.isnan(effective) else draws / effective
    step = max(1, min(round(worth), draws // _LEAST_DRAWS))
    return xarray.DataTree.from_dict({"posterior": every.isel(draw=slice(None, None, step))})


def _probability(function: Any) -> str:
    """Return the name that this version of ArviZ has for the probability of a band."""
    return "envelope_prob" if "envelope_prob" in inspect.signature(function).parameters else "ci_prob"


def _drawn(function: Any, tree: Any, **options: Any) -> Figure:
    """Return the figure that ArviZ draws, which belongs to nobody else from then on."""
    from matplotlib import pyplot

    with plots.style(), warnings.catch_warnings():
        # Of defaults of ArviZ that are to change.
        warnings.simplefilter("ignore", FutureWarning)
        collection = function(tree, backend="matplotlib", **options)
        figure: Figure = collection.viz["figure"].item()
        figure.set_layout_engine("constrained")
    pyplot.close(figure)
    return figure
