r"""Is ρ_n far too large? The printed confidence sets compared with data sets and with the posterior.

Radii, quantiles of the error and posterior radii along n come from :mod:`.printed_sets`, for the three
designs of :mod:`.designs`; :mod:`.contributions` says which steps of the bound make ρ_n so large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob import plot
from hrprob._core.formatting import format_number, percent, with_error
from hrprob._core.types import Decoded
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.contributions import contributions
from hrprob.diagnostics.designs import designs
from hrprob.diagnostics.drawing import SYMBOLS
from hrprob.diagnostics.formatting import finite
from hrprob.diagnostics.glse_by_data_set import why_no_glse
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.power import ERROR_RATE
from hrprob.diagnostics.printed_sets import TooFewRounds, compare_sets
from hrprob.diagnostics.study import DELTA
from hrprob.estimation.versions import COMPARED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Rho", "RhoResult"]

# The factors of ρ_n/quantile, in the order in which they are removed, with their labels.
_FACTORS = {
    "union": "union over n: δ/n² for δ",
    "scale": "σ²_max for σ_max, L² for L",
    "product": "α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾): θ* is not known",
    "rest": "the rest of the bound",
    "simultaneity": "simultaneity in n",
}
# The prefix of radii in calibration.json, and the symbol of the radius, by parameter.
_NAMES = {"phi": ("rho", "ρ_n(δ/n²)"), "theta": ("alpha", "α⁽¹⁾_n(δ)")}


class RhoResult(NamedTuple):
    """Printed sets compared with data sets and posterior, by design."""

    sets: dict[str, xarray.Dataset]  # see compare_sets
    contributions: dict[str, xarray.Dataset]  # see contributions
    left_out: dict[str, str]  # designs that could not be compared, and why


@register("rho")
class Rho(Diagnostic[RhoResult]):
    """The printed sets for φ* and θ*, quantiles of the GLSE's error, and posterior radii, by design."""

    title = "The posterior compared with ρ_n"
    order = 4.0

    def own_steps(self, inputs: SharedInputs) -> int:
        """Return one step per design, none where there are no printed sets."""
        return 0 if why_no_glse(inputs.study.problem.link) else 3

    def compute(self, inputs: SharedInputs) -> RhoResult:
        """Return the comparison for each design."""
        study, sizes = inputs.study, inputs.sizes
        why = why_no_glse(study.problem.link)
        if why:
            return RhoResult({}, {}, {"printed sets, every": why})
        planned = designs(study.problem, sizes.rounds, sizes.design_users, study.hr_ucb, study.thompson)
        sets, left_out = {}, {}
        for name, design in planned.items():
            title = f"printed sets, {name} design: {sizes.replications} data sets"
            with inputs.step(title, design.users * sizes.replications) as served:
                try:
                    sets[name] = compare_sets(
                        design,
                        delta=DELTA,
                        most=sizes.rounds,
                        replications=sizes.replications,
                        fits=sizes.fits,
                        seed=study.seed_for("rho"),
                        prior=study.target.prior,
                        model=study.target.model,
                        engine=study.engine,
                        report=served,
                        runner=inputs.runner,
                        name=f"printed sets, {name} design",
                    )
                except TooFewRounds as error:
                    left_out[name] = str(error)  # a verdict says so; the other designs remain
        made = {name: contributions(dataset, study.problem) for name, dataset in sets.items()}
        return RhoResult(sets, made, left_out)

    def verdicts(self, result: RhoResult) -> list[Verdict]:
        """Return coverage and width of the printed sets by design, and the contributions to the width."""
        return rho_verdicts(result)

    def figures(self, result: RhoResult) -> list[ReportFigure]:
        """Return radii along n, and the contributions."""
        if not result.sets:
            return []
        return [
            ReportFigure(
                "sets",
                "Printed radii of the sets for φ* and θ*, quantiles of the GLSE's error over replications, and the "
                "posterior's radius about its own mean.",
                lambda: plot_sets(result.sets),
            ),
            ReportFigure(
                "contributions",
                "Contributions to ρ_n over the pointwise quantile: factors on a logarithmic scale, whose product stands at "
                "the end of each bar.",
                lambda: plot_contributions(result.contributions),
            ),
        ]

    def write_section(self, page: Page, result: RhoResult) -> None:
        """Write radii, coverages and contributions."""
        if not result.sets:
            page.text(
                "; ".join(f"{design} design: left out, {why}" for design, why in result.left_out.items())
            )
            return
        page.text(_introduction(next(iter(result.sets.values())).attrs))
        for parameter in _NAMES:
            _write_radii(page, result, parameter)
            _write_coverages(page, result, parameter)
        _write_contributions(page, result)

    def to_plain(self, result: RhoResult) -> Mapping[str, object]:
        """Return the sets for φ* and for θ*, and the contributions."""
        rows = {
            prefix: [_plain(prefix, *row) for row in _rows(result, parameter)]
            for parameter, (prefix, _) in _NAMES.items()
        }
        made = [
            {"design": design, "n": int(n)}
            | {str(name): finite(values.sel(n=n)) for name, values in table.data_vars.items()}
            for design, table in result.contributions.items()
            for n in table.n.values
        ]
        return rows | {"rho_owed": made}

    def to_datasets(self, result: RhoResult) -> Mapping[str, xarray.Dataset]:
        """Return sets and contributions, by design."""
        groups: dict[str, xarray.Dataset] = {}
        for design, dataset in result.sets.items():
            groups[f"rho/{design}"] = dataset
            groups[f"rho/{design}/contributions"] = result.contributions[design].rename(n="size")
        return groups


def _rows(result: RhoResult, parameter: str) -> Iterator[tuple[str, int, xarray.Dataset]]:
    """Yield design, n and the numbers there, one by one."""
    for design, dataset in result.sets.items():
        for n in dataset.n.values:
            yield design, int(n), dataset.sel(parameter=parameter, n=n)


def _plain(prefix: str, design: str, n: int, row: xarray.Dataset) -> dict[str, object]:
    numbers = {"n": n, "design": design, "posterior": str(row.attrs["posterior"])}
    numbers |= {"replications": int(row.reached), "fits": int(row.attrs["fits"])}
    of_version = {
        f"{prefix}_{{}}": "radius",
        "coverage_{}": "coverage",
        "coverage_{}_simultaneous": "coverage_simultaneous",
    }
    # These keys name the corrected version only.
    suffixed = {
        "posterior_mass{}": "posterior_mass",
        "log_volume_ratio{}": "log_volume_ratio",
        "factor{}": "factor",
        "factor{}_se": "factor_se",
    }
    for version in COMPARED:
        one, suffix = row.sel(version=version), "" if version == "paper" else f"_{version}"
        numbers |= {key.format(version): finite(one[name]) for key, name in of_version.items()}
        numbers |= {key.format(suffix): finite(one[name]) for key, name in suffixed.items()}
    others = ["quantile", "quantile_simultaneous", "posterior_radius"]
    numbers |= {name: finite(row[name]) for name in [*others, *(f"{one}_se" for one in others)]}
    return numbers | {
        "coverage_posterior": finite(row.posterior_coverage),
        "coverage_posterior_ellipsoid": finite(row.ellipsoid_coverage),
    }


def rho_verdicts(result: RhoResult) -> list[Verdict]:
    """Return how the printed sets compare with data sets and posterior, and why designs were left out."""
    left_out = [
        Verdict(None, f"{design} design: left out, {why}", counts=False)
        for design, why in result.left_out.items()
    ]
    by_design = [
        _design_verdict(design, dataset, result.contributions[design])
        for design, dataset in result.sets.items()
    ]
    if not result.sets:
        return left_out
    contributions_of = _contributions_verdict(*next(iter(result.contributions.items())))
    return [*left_out, *_scale_verdict(result), *by_design, contributions_of]


def _scale_verdict(result: RhoResult) -> list[Verdict]:
    """Return that the sets are not proved, where the noise has no sub-Gaussian scale."""
    if math.isfinite(next(iter(result.sets.values())).attrs["noise_scale"]):
        return []
    words = (
        "the noise has no sub-Gaussian scale, or none that is known (tails may be heavier than normal): no version of the "
        "sets is proved for it, and the radii shown are those for normal noise"
    )
    return [Verdict(None, words, counts=False)]


def _design_verdict(design: str, dataset: xarray.Dataset, made: xarray.Dataset) -> Verdict:
    phi, wanted = dataset.sel(parameter="phi"), 1.0 - dataset.attrs["delta"]
    last = phi.isel(n=-1)
    covered, replications = float(last.coverage_simultaneous.sel(version="paper")), int(last.reached)
    ratio = made.total.sel(n=phi.n >= min(100, int(phi.n[-1]))).values
    widths = f"{ratio.min():.0f}" + (f" to {ratio.max():.0f}" if ratio.size > 1 else "")
    errors = (phi.quantile_se / phi["quantile"]).values[-ratio.size :]
    words = (
        f"{design} design: ρ_n as printed covers φ* at all n up to {format_number(int(last.n))} in {100 * covered:.0f} % of "
        f"{replications} replications ({100 * wanted:.0f} % wanted) and is {widths} times the {100 * wanted:.0f} % quantile "
        f"of the error at this truth and design, at single n from {format_number(int(phi.n[-ratio.size]))} on (each ± "
        f"{100 * errors.max():.0f} %); {_plus_minus(last, 'factor', 4)} ρ_n would be enough here for all n at once. The "
        f"posterior's radius ({dataset.attrs['posterior']}) is {_plus_minus(last, 'posterior_radius', 1)}, the quantile "
        f"{_plus_minus(last, 'quantile', 1)}, ρ_n {format_number(float(last.radius.sel(version='paper')), 0)} at n = {format_number(int(last.n))}"
    )
    # Whether so few replications would be covered with small probability if the coverage were as wanted.
    too_few = stats.binom.cdf(round(covered * replications), replications, wanted) < ERROR_RATE
    return Verdict(not too_few, words, counts=False)


def _plus_minus(row: xarray.Dataset, name: str, digits: int) -> str:
    """Return a number of the printed version, or of none, with its standard error, where it has one."""
    value, error = (
        float(number.sel(version="paper") if "version" in number.dims else number)
        for number in (row[name], row[f"{name}_se"])
    )
    return f"{value:.{digits}f}" + (f" ± {error:.{digits}f}" if math.isfinite(error) else "")


def _contributions_verdict(design: str, made: xarray.Dataset) -> Verdict:
    last = made.isel(n=-1)
    return Verdict(
        None,
        f"Contributions to the factor {float(last.total):.0f} at n = {format_number(int(last.n))} ({design} design): {float(last.union):.1f} "
        f"from the union over n (δ/n²), {float(last.scale):.1f} from σ²_max in place of σ_max (and L² of L, and ln(d/δ) of ln(2d/δ)), "
        f"{float(last['product']):.1f} from α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾), which is {100 * float(last.share_of_product):.0f} % of ρ_n, "
        f"{float(last.rest):.1f} from the rest of the bound (which has C₁ = C₂ = 1, as the theory gives no values, and must "
        f"hold at every truth and design), and {float(last.simultaneity):.2f} from simultaneity in n, which is no loss",
        counts=False,
    )


def _introduction(attrs: Mapping[str, Decoded]) -> str:
    def error_of_share(number: int) -> str:
        return f"{100 * np.sqrt(DELTA * (1 - DELTA) / number):.1f}"

    return (
        "ρ_n is the radius of the paper's confidence set for φ* after n rounds: with probability 1 − δ, φ* lies within ρ_n of "
        "its least-squares estimate (the GLSE), in the norm of V = XᵀX + λI; α⁽¹⁾_n is the same for θ*. This section compares "
        "these sets with the errors that estimates really have and with the posterior; it is no part of the answer above. "
        f"δ = {DELTA:g}, λ = 1, σ²_max = {attrs['variance_max']:.4g}, C₁ = {attrs['c1']:g}, C₂ = {attrs['c2']:g} (the theory "
        f"gives no values). {attrs['replications']} replications, a posterior ({attrs['posterior']}) fitted to {attrs['fits']} of "
        f"them: where the probability is {percent(1 - DELTA)}, a share of replications has a standard error of "
        f"{error_of_share(attrs['replications'])} points, one of fits {error_of_share(attrs['fits'])}. "
        "The fixed design has contexts that do not depend on the noise, as the lemmas assume; the others are adaptive. n "
        "counts rounds in the sample set; errors are computed when users leave, first when there are n rounds or more. "
        "Factor: c_n, by which the printed radius could shrink and still cover, at this truth and design, all n up to this "
        f"one with probability {percent(1 - DELTA)}. Errors of quantiles and factors are by bootstrap over replications. A set that "
        "must hold at every truth and design is necessarily wider than the quantile at one of them."
    )


def _write_radii(page: Page, result: RhoResult, parameter: str) -> None:
    rows = []
    for design, n, row in _rows(result, parameter):
        with_errors = [
            with_error(row[kind], row[f"{kind}_se"])
            for kind in ("quantile", "quantile_simultaneous", "posterior_radius")
        ]
        factors = [
            with_error(row.factor.sel(version=version), row.factor_se.sel(version=version))
            for version in COMPARED
        ]
        radii = [float(row.radius.sel(version=version)) for version in COMPARED]
        decades = float(row.log_volume_ratio.sel(version="paper")) / np.log(10)
        rows.append([design, n, *radii, *with_errors, *factors, f"10^{decades:.1f}"])
    columns = [_NAMES[parameter][1], "corrected", "quantile", "all n at once", "posterior radius"]
    page.table(
        ["design", "n", *columns, "factor", "corrected factor", "volume ratio"],
        rows,
        f"Sets for {SYMBOLS[parameter]}*, radii in the norm of V. Volume ratio: of the printed set over the posterior's own "
        "ellipsoid of the same probability.",
    )


def _write_coverages(page: Page, result: RhoResult, parameter: str) -> None:
    rows = []
    for design, n, row in _rows(result, parameter):
        kinds = ("coverage", "coverage_simultaneous")
        printed = [percent(row[kind].sel(version=version)) for version in COMPARED for kind in kinds]
        posterior = [percent(row.posterior_coverage), percent(row.ellipsoid_coverage)]
        mass = [percent(row.posterior_mass.sel(version=version)) for version in COMPARED]
        rows.append([design, n, *printed, *posterior, *mass])
    printed = ["printed", "printed, up to n", "corrected", "corrected, up to n"]
    posterior = ["posterior radius", "posterior's ellipsoid", "mass in printed", "mass in corrected"]
    page.table(
        ["design", "n", *printed, *posterior],
        rows,
        f"How often the sets for {SYMBOLS[parameter]}* contain it, at n and at all sizes up to n; the ball of the norm "
        "of V about the posterior mean, and the posterior's own ellipsoid; and the posterior's mass in the printed sets.",
    )


def _write_contributions(page: Page, result: RhoResult) -> None:
    rows = [
        [
            design,
            int(n),
            *(float(table[name].sel(n=n)) for name in ("total", *_FACTORS)),
            percent(table.share_of_product.sel(n=n)),
        ]
        for design, table in result.contributions.items()
        for n in table.n.values
    ]
    factors = ["union over n", "σ²_max for σ_max", "product", "rest", "simultaneity"]
    page.table(
        ["design", "n", "ρ_n / quantile", *factors, "product's share of ρ_n"],
        rows,
        "Contributions to the ratio: the first number is the product of the next five, removed in this order. Product: "
        "α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾), which accounts for the unknown θ*. Rest: α⁽²⁾ and the ridge over the simultaneous quantile.",
    )


def plot_sets(sets: Mapping[str, xarray.Dataset]) -> Figure:
    """Return :func:`hrprob.plot.set_radii` by design, for φ and θ."""
    with plot.style():
        figure = plot.new_figure(3.9, plot.PAGE_WIDTH)
        panels = figure.subplots(2, len(sets), sharex=True, sharey="row", squeeze=False)
        for row, parameter in zip(panels, SYMBOLS, strict=True):
            for axes, (design, dataset) in zip(row, sets.items(), strict=True):
                plot.set_radii(dataset, axes, parameter=parameter, legend=False)
                if parameter == "phi":
                    axes.set_title(f"{design} design", loc="left")
            for axes in row[1:]:
                axes.set_ylabel("")
        for axes in panels[-1]:
            axes.set_xlabel("rounds n")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        delta = next(iter(sets.values())).attrs["delta"]
        title = f"in the norm of V, probability {percent(1 - delta)}"
        figure.legend(handles, labels, loc="outside lower center", ncols=5, title=title, title_fontsize=7)
    return figure


def plot_contributions(tables: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw the factors of the printed radius over the quantile, by n and design, on a logarithmic scale."""
    from matplotlib.figure import Figure

    with plot.style():
        height = 1.15 + 0.14 * max(table.sizes["n"] for table in tables.values())
        figure = Figure(figsize=(plot.PAGE_WIDTH, height), layout="constrained")
        panels = figure.subplots(1, len(tables), sharex=True, squeeze=False)[0]
        # Factors below 1 are bars to the left.
        ends = [
            np.cumsum([np.log10(one[name].values) for name in _FACTORS], axis=0) for one in tables.values()
        ]
        low, high = min(0.0, *(float(end.min()) for end in ends)), max(float(end.max()) for end in ends)
        for axes, (design, table) in zip(panels, tables.items(), strict=True):
            rows, start = np.arange(table.sizes["n"]), np.zeros(table.sizes["n"])
            for number, (name, label) in enumerate(_FACTORS.items()):
                width = np.log10(table[name].values)
                axes.barh(rows, width, left=start, color=plot.look_of(number).color, label=label)
                start = start + width
            for row, end, total in zip(rows, start, table.total.values, strict=True):
                axes.text(end + 0.03, row, f"{total:.0f}", va="center", fontsize=6, color="#555555")
            axes.set_yticks(rows, [f"{format_number(n)}" for n in table.n.values])
            axes.set_ylim(len(rows) - 0.4, -0.6)
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
