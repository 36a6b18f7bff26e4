r"""Calibration: whether intervals for σ²(x) cover the true variance as often as they say.

Over data sets with truths drawn from the prior, the PIT of σ²(x) = f(φ*ᵀx) among draws of
f(φᵀx) is uniform, and a central interval of level p covers it in a share p of the data sets: at
any context that depends on the truth only through the data. So coverage is examined by region too:

================  =========================================================
region            contexts
================  =========================================================
all               fresh ones, drawn like those of a user
low, high         the third of them with the smallest, the largest predicted σ²
explored, rare    the third with the smallest, the largest ‖x‖ in V⁻¹
served            the one that the policy picks for the next user
================  =========================================================

Tests of coverage allow for contexts of one data set sharing a posterior, see :mod:`.clustered`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray

from hrprob import plot
from hrprob._core.formatting import p_is, percent
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.clustered import cluster_coverage, shares_of_error
from hrprob.diagnostics.drawing import plot_pit
from hrprob.diagnostics.formatting import finite
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.diagnostics.power import ERROR_RATE, describe_detectable_shift, detectable_coverage
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.uniformity import pit_among, uniformity_p_value
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, check_fresh, check_users

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LEVELS", "REGIONS", "Calibration", "CalibrationResult", "coverage", "sigma2_pit"]

LEVELS = (0.5, 0.8, 0.9, 0.95)
REGIONS = ("all", "low", "high", "explored", "rare", "served")
# The level that verdicts are about.
_LEVEL = 0.9
# A coverage is called right if a difference of this size would be detected, over all contexts and in one region.
_DETECTABLE, _DETECTABLE_BY_REGION = 0.06, 0.1
# Regions that a verdict names; the table has all of them.
_MOST_NAMED = 2


def sigma2_pit(
    problem: Problem, target: Target, data: DataSets, posteriors: Mapping[int, Posteriors], seed: int = 0
) -> xarray.Dataset:
    """Return the PIT of σ²(x) among its draws, at the fresh contexts and at the next one served.

    Parameters
    ----------
    problem : Problem
        Its link turns true parameters into variances.
    target : Target
        Its setting turns draws into variances.
    data : DataSets
        Data sets with fresh contexts, and with one user more than the largest number in ``posteriors``;
        the posteriors are those of the first data sets.
    posteriors : mapping of int to Posteriors
        By the number of users that the posterior has seen.
    seed : int
        Breaks ties.

    Returns
    -------
    xarray.Dataset
        ``pit``, ``predicted`` and ``leverage`` over users, data_set and point; the last point
        is the context served next.
    """
    check_users(posteriors, data)
    check_fresh(data)
    rng = np.random.default_rng(seed)
    columns: dict[str, list[np.ndarray]] = {"pit": [], "predicted": [], "leverage": []}
    for users, draws in posteriors.items():
        sets = len(draws.phi)
        x = np.concatenate([data.fresh[:sets], np.asarray(data.stays.x)[:sets, users : users + 1]], axis=1)
        variance = np.asarray(moments_of(target, draws, x)[1])
        truth = np.asarray(problem.link(np.einsum("spd,sd->sp", x, data.truths.phi[:sets])))
        columns["pit"].append(pit_among(truth, variance, rng))
        columns["predicted"].append(variance.mean(axis=1))
        columns["leverage"].append(_leverage(data, users, x))
    dims = ("users", "data_set", "point")
    points = [*(f"fresh {number + 1}" for number in range(data.fresh.shape[1])), "served"]
    return xarray.Dataset(
        {name: (dims, np.stack(column)) for name, column in columns.items()},
        coords={"users": list(posteriors), "point": points},
    )


def _leverage(data: DataSets, users: int, x: np.ndarray) -> np.ndarray:
    """Return ‖x‖ in the norm of (XᵀX + I)⁻¹ at contexts x (sets, points, d)."""
    seen, rounds = (np.asarray(leaf)[: len(x), :users] for leaf in (data.stays.x, data.stays.rounds))
    gram = np.einsum("sn,sni,snj->sij", rounds, seen, seen) + np.eye(x.shape[-1])
    return np.sqrt(np.einsum("spi,sij,spj->sp", x, np.linalg.inv(gram), x))


def coverage(pit: xarray.Dataset, levels: Sequence[float] = LEVELS) -> xarray.Dataset:
    """Return the coverage of central intervals with its standard error, and tests of both.

    Parameters
    ----------
    pit : xarray.Dataset
        From :func:`sigma2_pit`.
    levels : sequence of float
        Levels of the intervals.

    Returns
    -------
    xarray.Dataset
        Over region, users and level: ``coverage``, its standard error ``se``, and ``p_value`` of its being
        the level; over region: ``contexts``, how many independent ones the region is worth at one number of
        users. ``uniformity_p_value`` over ``point_kind`` (fresh, served) and users, from one context per data
        set. ``significance`` over region and level: a coverage differs significantly from its level if its p-value is
        below that, with ``error_rate`` over all cells of region all, and over all cells of the others. Attributes:
        ``error_rate``, the largest of these levels (``significance_level``, ``significance_level_by_region``), and
        ``data_sets``.
    """
    at = np.asarray(levels, dtype=float)
    inside = np.abs(pit.pit.values[..., None] - 0.5) <= at / 2
    masks = _masks(pit)
    by_region = [cluster_coverage(inside, mask, at) for mask in masks.values()]
    dims = ("region", "users", "level")
    uniform = [
        [uniformity_p_value(of_users) for of_users in pit.pit.sel(point=point).values]
        for point in ("fresh 1", "served")
    ]
    significance = ERROR_RATE * shares_of_error(at, _LEVEL) / pit.sizes["users"]
    others = [significance / (len(masks) - 1)] * (len(masks) - 1)
    return xarray.Dataset(
        {
            "coverage": (dims, np.stack([region.coverage for region in by_region])),
            "se": (dims, np.stack([region.se for region in by_region])),
            "p_value": (dims, np.stack([region.p_value for region in by_region])),
            "contexts": ("region", np.array([region.contexts for region in by_region])),
            "uniformity_p_value": (("point_kind", "users"), np.array(uniform)),
            "significance": (("region", "level"), np.stack([significance, *others])),
        },
        coords={
            "region": list(masks),
            "users": pit.users.values,
            "level": list(levels),
            "point_kind": ["fresh", "served"],
        },
        attrs={
            "error_rate": ERROR_RATE,
            "significance_level": float(significance.max()),
            "significance_level_by_region": float(significance.max() / (len(masks) - 1)),
            "data_sets": pit.sizes["data_set"],
        },
    )


def _masks(pit: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return which points (users, data_set, point) belong to each region."""
    fresh = np.broadcast_to(pit.point.values != "served", pit.pit.shape)

    def third(name: str, upper: bool) -> np.ndarray:
        values = pit[name].values
        edges = [np.quantile(of_users[:, :-1], 2 / 3 if upper else 1 / 3) for of_users in values]
        edge = np.array(edges)[:, None, None]
        return fresh & ((values >= edge) if upper else (values <= edge))

    return {
        "all": fresh,
        "low": third("predicted", upper=False),
        "high": third("predicted", upper=True),
        "explored": third("leverage", upper=False),
        "rare": third("leverage", upper=True),
        "served": ~fresh,
    }


class CalibrationResult(NamedTuple):
    """PIT values of σ²(x), and coverages with their tests."""

    engine: str
    pit: xarray.Dataset  # see sigma2_pit
    coverage: xarray.Dataset  # see coverage


@register("calibration")
class Calibration(Diagnostic[CalibrationResult]):
    """Coverage of intervals for σ²(x) over the prior, by number of users, level and region of x."""

    title = "Intervals for σ²(x)"
    order = 1.0
    needs = ("over_prior",)

    def compute(self, inputs: SharedInputs) -> CalibrationResult:
        """Return PIT values and coverages."""
        study, fitted = inputs.study, inputs.over_prior
        seed = study.seed_for("calibration")
        pit = sigma2_pit(study.problem, study.target, fitted.data, fitted.posteriors, seed)
        blamed = (
            f"{study.engine.kind}, data fitted as something else" if study.fitted_as else study.engine.kind
        )
        return CalibrationResult(blamed, pit, coverage(pit))

    def verdicts(self, result: CalibrationResult) -> list[Verdict]:
        """Return verdicts on coverage over all contexts, by region, and on uniformity."""
        table = result.coverage
        return [*coverage_verdicts(table, result.engine), region_verdict(table), uniformity_verdict(table)]

    def error_families(self, result: CalibrationResult) -> int:
        """Return three: coverage over all contexts, by region, and uniformity."""
        return 3

    def figures(self, result: CalibrationResult) -> list[ReportFigure]:
        """Return coverage minus level, and the PIT of σ²(x)."""
        return [
            ReportFigure(
                "coverage",
                "Coverage of central intervals for σ²(x) minus their level. Fresh contexts are drawn like those of "
                "a user: all of them, the thirds with the smallest and the largest predicted σ², the thirds best "
                "explored and rarest. Served: the context that the policy picks next.",
                lambda: plot_coverage(result.coverage),
            ),
            ReportFigure(
                "pit",
                "PIT of σ²(x) among its draws: empirical distribution function minus the diagonal. The bands contain "
                "all curves of a calibrated posterior with probability 99 %; a curve that leaves its band is orange.",
                lambda: _plot_sigma2_pit(result.pit),
            ),
        ]

    def write_section(self, page: Page, result: CalibrationResult) -> None:
        """Write the table of coverages."""
        _write_section(page, result.coverage)

    def to_plain(self, result: CalibrationResult) -> Mapping[str, object]:
        """Return coverages over all contexts, and by region."""
        return {
            "sigma2_coverage": _plain(result.coverage, by_region=False),
            "sigma2_coverage_by_region": _plain(result.coverage, by_region=True),
        }

    def to_datasets(self, result: CalibrationResult) -> Mapping[str, xarray.Dataset]:
        """Return PIT values and coverages."""
        return {"calibration/pit": result.pit, "calibration/coverage": result.coverage}


def coverage_verdicts(table: xarray.Dataset, engine: str) -> list[Verdict]:
    """Return whether intervals for σ²(x) cover as often as they say over all contexts, by number of users."""
    failing = _failing_regions(table)
    return [
        _coverage_verdict(
            table.sel(region="all", users=users), engine, even=not bool(failing.sel(users=users).any())
        )
        for users in table.users.values
    ]


def _failing_regions(table: xarray.Dataset) -> xarray.DataArray:
    """Return which regions other than all have a coverage significantly off its level, by number of users."""
    others = table.sel(region=[region for region in table.region.values if region != "all"])
    return (others.p_value < others.significance).any("level")


def _coverage_verdict(cells: xarray.Dataset, engine: str, even: bool) -> Verdict:
    shown, limit = cells.sel(level=_LEVEL), cells.attrs["significance_level"]
    words = (
        f"{percent(_LEVEL)} intervals for σ²(x) cover {100 * float(shown.coverage):.1f} % ± "
        f"{100 * float(shown.se):.1f} % after {int(cells.users)} users ({engine})"
    )
    if bool((cells.p_value >= cells.significance).all()):
        detectable = detectable_coverage(_LEVEL, limit, float(cells.contexts))
        if detectable > _DETECTABLE:
            few = f"{cells.attrs['data_sets']} data sets could only detect a difference of {100 * detectable:.1f} points"
            return Verdict(None, f"{words}: {few}")
        if even:
            seen = f"a difference of {100 * detectable:.1f} points would be detected"
            return Verdict(True, f"{words}: calibrated, {seen}")
        return Verdict(None, f"{words}: right on average over contexts, not in every region")
    worst = _worst_level(cells)
    if float(worst.level) != _LEVEL:
        words += f", {percent(float(worst.level))} intervals {100 * float(worst.coverage):.1f} %"
    return Verdict(False, f"{words}: {_too_narrow_or_wide(worst)} ({p_is(worst.p_value)})")


def _worst_level(cells: xarray.Dataset) -> xarray.Dataset:
    """Return the level whose p-value is smallest compared with its significance level."""
    return cells.isel(level=int(np.argmin((cells.p_value / cells.significance).values)))


def _too_narrow_or_wide(cell: xarray.Dataset) -> str:
    return "too narrow" if float(cell.coverage) < float(cell.level) else "too wide"


def region_verdict(table: xarray.Dataset) -> Verdict:
    """Return whether intervals for σ²(x) cover as often as they say in every region of x."""
    failing = _failing_regions(table)
    named = []
    for users in failing.users.values:
        for region in failing.region.values[failing.sel(users=users).values]:
            cells = table.sel(region=region, users=users)
            worst = _worst_level(cells)
            named.append(
                f"{region} after {int(users)} users ({percent(float(worst.level))} intervals cover "
                f"{100 * float(worst.coverage):.1f} % ± {100 * float(worst.se):.1f} %: {_too_narrow_or_wide(worst)})"
            )
    if named:
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        words = f"are not calibrated in regions of x: {', '.join(named[:_MOST_NAMED])}{more}"
        return Verdict(False, f"Intervals for σ²(x) {words}")
    limit, contexts = table.attrs["significance_level_by_region"], table.contexts.sel(region=failing.region)
    detectable = max(detectable_coverage(_LEVEL, limit, float(number)) for number in contexts)
    words = (
        f"Intervals for σ²(x) by region of x, {', '.join(failing.region.values)}: none is significantly off; "
        f"{percent(_LEVEL)} intervals off by {100 * detectable:.1f} points would be detected in each"
    )
    return Verdict(detectable <= _DETECTABLE_BY_REGION or None, words)


def uniformity_verdict(table: xarray.Dataset) -> Verdict:
    """Return whether the PIT of σ²(x) is uniform, at fresh contexts and at those served."""
    p = table.uniformity_p_value
    least = p.isel(p.argmin(p.dims))
    limit = ERROR_RATE / p.size
    words = (
        f"smallest {p_is(least)}, at {least.point_kind.item()} contexts after {int(least.users)} users "
        f"({p.size} tests)"
    )
    if float(least) < limit:
        return Verdict(False, f"The PIT of σ²(x) among its draws is not uniform: {words}")
    enough, power = describe_detectable_shift(table.attrs["data_sets"], limit)
    return Verdict(True if enough else None, f"PIT of σ²(x) among its draws: {words}; {power}")


def _plain(table: xarray.Dataset, by_region: bool) -> list[dict[str, object]]:
    return [
        ({"region": str(region), "p_value": float(cell.p_value)} if by_region else {})
        | {"n": int(users), "level": float(level), "coverage": float(cell.coverage), "se": finite(cell.se)}
        for region in (table.region.values if by_region else ["all"])
        for users in table.users.values
        for level in table.level.values
        for cell in [table.sel(region=region, users=users, level=level)]
    ]


def _write_section(page: Page, table: xarray.Dataset) -> None:
    attrs = table.attrs
    page.text(
        "Truths are drawn from the prior, the whole loop is played for each, and at most the first 16 rounds of a stay "
        "are recorded (a stopping rule, which causes no bias). Standard errors are over data sets. p is that of the "
        "level that is farthest off (binomial, with the number of independent contexts that those of a region are worth). "
        "Most of the error rate is spent on the 90 % intervals, which verdicts are about. A "
        f"calibrated posterior fails in any of the rows named all, where p is below {attrs['significance_level']:.2g} at 90 %, with "
        f"probability {percent(attrs['error_rate'])} at most; and in any of the others, where p is below "
        f"{attrs['significance_level_by_region']:.2g} at 90 %, with probability {percent(attrs['error_rate'])} at most."
    )
    rows, good = [], []
    for users in table.users.values:
        for region in table.region.values:
            cells = table.sel(users=users, region=region)
            shown = [
                f"{100 * share:.1f} ± {100 * se:.1f}"
                for share, se in zip(cells.coverage.values, cells.se.values, strict=True)
            ]
            least = float(_worst_level(cells).p_value)
            rows.append([int(users), str(region), *shown, least])
            good.append(None if bool((cells.p_value >= cells.significance).all()) else False)
    header = ["users", "contexts", *(f"{100 * level:g} %" for level in table.level.values), "p"]
    page.table(header, rows, "Coverage of central intervals for σ²(x), in per cent.", good)


def plot_coverage(table: xarray.Dataset) -> Figure:
    """Return :func:`hrprob.plot.calibration` after each number of users."""
    with plot.style():
        figure = plot.new_figure(2.5, plot.PAGE_WIDTH)
        panels = figure.subplots(1, table.sizes["users"], sharey=True, squeeze=False)[0]
        for axes, users in zip(panels, table.users.values, strict=True):
            plot.calibration(table, axes, users=int(users), legend=False)
        panels[0].set_ylabel("coverage − level\n(percentage points)")
        handles, labels = panels[0].get_legend_handles_labels()
        title = "contexts; bars are two standard errors"
        figure.legend(
            handles, labels, loc="outside lower center", ncols=len(labels), title=title, title_fontsize=7
        )
    return figure


def _plot_sigma2_pit(pit: xarray.Dataset) -> Figure:
    named = {
        f"{kind}, {users} users": pit.pit.sel(users=users, point=point).values
        for kind, point in (("fresh", "fresh 1"), ("served", "served"))
        for users in pit.users.values
    }
    return plot_pit(named, ERROR_RATE, columns=pit.sizes["users"], most=len(named))
