"""Calibrated, valid, or both? Four sets for φ* side by side: at one n, at all n at once, and how wide they are.

The numbers come from :mod:`.anytime_sets`, for a fixed design and for the contexts that HR-UCB picks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat, SupportsInt

import numpy as np
import xarray
from scipy import stats

from hrprob import plot
from hrprob._core.formatting import format_number, percent
from hrprob.diagnostics.anytime_sets import KINDS, compare_promises
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.designs import designs
from hrprob.diagnostics.formatting import finite
from hrprob.diagnostics.glse_by_data_set import why_no_glse
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.study import DELTA
from hrprob.numerics.shares import share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Anytime", "AnytimeResult", "at_least"]

# Longer data sets would take minutes and show the same.
_MOST_ROUNDS = 10_000
_DESIGNS = ("fixed", "hr-ucb")
# Each end of an interval is a one-sided test at this level.
_LEVEL = 0.05
_LABELS = {
    "likelihood-ratio": "likelihood-ratio set",
    "rho": "ρ_n as printed",
    "calibrated": "calibrated radius",
    "posterior": "posterior's ellipsoid",
}
_PROMISES = {
    "likelihood-ratio": "all n at once, any design",
    "rho": "all n at once, fixed designs",
    "calibrated": "one n, approximately",
    "posterior": "one n, over the prior",
}


class AnytimeResult(NamedTuple):
    """The four sets by design."""

    sets: dict[str, xarray.Dataset]  # see compare_promises
    left_out: str  # why there are none


class _Share(NamedTuple):
    """A share of data sets with the ends of its interval."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.share)} [{percent(self.low)}, {percent(self.high)}]"


@register("anytime")
class Anytime(Diagnostic[AnytimeResult]):
    """Coverage and radius of the likelihood-ratio set beside ρ_n, calibrated radii and the posterior, along n."""

    title = "What validity costs"
    order = 4.5

    def own_steps(self, inputs: SharedInputs) -> int:
        """Return one step per design, none where there are no sets."""
        return 0 if why_no_glse(inputs.study.problem.link) else len(_DESIGNS)

    def compute(self, inputs: SharedInputs) -> AnytimeResult:
        """Return the comparison for each design."""
        study, sizes = inputs.study, inputs.sizes
        why = why_no_glse(study.problem.link)
        if why:
            return AnytimeResult({}, why)
        most = min(sizes.rounds, _MOST_ROUNDS)
        # As long as in the other section, though played up to `most` rounds only: by the same programs.
        planned = designs(study.problem, sizes.rounds, sizes.design_users, study.hr_ucb, study.thompson)
        sets = {}
        for name in _DESIGNS:
            design = planned[name]
            title = f"anytime sets, {name} design: {sizes.replications} data sets"
            with inputs.step(title, design.users * sizes.replications) as served:
                sets[name] = compare_promises(
                    study.problem,
                    design,
                    delta=DELTA,
                    most=most,
                    replications=sizes.replications,
                    fits=sizes.fits,
                    seed=study.seed_for("anytime"),
                    prior=study.target.prior,
                    report=served,
                )
        return AnytimeResult({name: one for name, one in sets.items() if one.sizes["n"]}, "")

    def verdicts(self, result: AnytimeResult) -> list[Verdict]:
        """Return, for each design, which set is calibrated, which is valid, and what validity costs."""
        if not result.sets:
            why = result.left_out or "no design has enough rounds"
            return [Verdict(None, f"Sets that hold for all n: left out, {why}", counts=False)]
        return [_verdict(design, dataset) for design, dataset in result.sets.items()]

    def figures(self, result: AnytimeResult) -> list[ReportFigure]:
        """Return coverage and radius along n."""
        if not result.sets:
            return []
        caption = (
            "Share of data sets in which each set contains the truth at all sizes up to n (above; dashed: at n alone), and "
            "radii for φ in the norm of V (below)."
        )
        return [ReportFigure("anytime", caption, lambda: plot_anytime(result.sets))]

    def write_section(self, page: Page, result: AnytimeResult) -> None:
        """Write what each set promises, how often it contains the truth, and how wide it is."""
        if not result.sets:
            page.text(result.left_out or "No design has enough rounds.")
            return
        page.text(_introduction(result))
        rows = [
            [
                design,
                n,
                _LABELS[kind],
                _PROMISES[kind],
                percent(row.coverage),
                str(_interval(row.always, row["count"])),
                float(row.radius),
                f"{float(row.radius) / float(row['quantile']):.3g}",
            ]
            for design, n, kind, row in _rows(result)
            if np.isfinite(float(row.radius))
        ]
        page.table(
            [
                "design",
                "n",
                "set",
                "promises",
                "contains at n",
                "at all n up to it",
                "radius",
                "radius / quantile",
            ],
            rows,
            f"Wanted: {percent(1 - DELTA)}. In brackets 90 % intervals (Clopper–Pearson), each end a one-sided test at 5 %. Quantile: the "
            f"{percent(1 - DELTA)} quantile of the GLSE's error at that n, over data sets.",
        )

    def to_plain(self, result: AnytimeResult) -> Mapping[str, object]:
        """Return one entry per design, n and set."""
        return {
            "anytime": [
                {
                    "design": design,
                    "n": n,
                    "set": kind,
                    "coverage": finite(row.coverage),
                    "coverage_simultaneous": finite(row.always),
                    "radius": finite(row.radius),
                    "quantile": finite(row["quantile"]),
                    "data_sets": int(row["count"]),
                }
                for design, n, kind, row in _rows(result)
            ]
        }

    def to_datasets(self, result: AnytimeResult) -> Mapping[str, xarray.Dataset]:
        """Return the sets, by design."""
        return {f"anytime/{design}": dataset for design, dataset in result.sets.items()}


def _rows(result: AnytimeResult) -> Iterator[tuple[str, int, str, xarray.Dataset]]:
    for design, dataset in result.sets.items():
        for n in dataset.n.values:
            for kind in KINDS:
                yield design, int(n), kind, dataset.sel(n=n, kind=kind)


def _interval(share: SupportsFloat, count: SupportsInt) -> _Share:
    """Return a share with the interval of Clopper and Pearson."""
    total = int(count)
    hits = round(float(share) * total) if total else 0
    return _Share(float(share), *share_interval(hits, total, _LEVEL))


def at_least(share: float, count: int, wanted: float) -> bool | None:
    """Return whether a probability is at least as wanted: yes, no, or (None) undecided.

    Examples
    --------
    >>> at_least(1.0, 64, 0.9), at_least(0.5, 64, 0.9), at_least(0.9, 64, 0.9)
    (True, False, None)
    """
    found = _interval(share, count)
    return True if found.low >= wanted else False if found.high < wanted else None


def _verdict(design: str, dataset: xarray.Dataset) -> Verdict:
    """Return the answer in a sentence: who is calibrated, who is valid, and what validity costs."""
    last, wanted = dataset.isel(n=-1), 1.0 - dataset.attrs["delta"]
    quantile, at_n, up_to_n, widths, valid = float(last["quantile"]), [], [], [], None
    for kind in ("posterior", "rho", "likelihood-ratio"):
        row = last.sel(kind=kind)
        name, count = _LABELS[kind], int(row["count"])
        now, always = (_interval(value, count) for value in (row.coverage, row.always))
        valid = at_least(float(row.always), count, wanted)
        at_n.append(f"{name} {now}, {_calibrated(now, wanted)}")
        looks = f" (looked at {dataset.sizes['n']} times only)" if kind == "posterior" else ""
        up_to_n.append(f"{name}{looks} {always}, {_valid(valid, count, wanted)}")
        widths.append(f"{name} {float(row.radius) / quantile:.3g}")
    ratio = float(last.radius.sel(kind="likelihood-ratio")) / float(last.radius.sel(kind="posterior"))
    words = (
        f"{design} design, how often sets contain the truth ({percent(wanted)} wanted). Calibrated, at n = {format_number(int(last.n))}: "
        f"{'; '.join(at_n)}. Valid, at all n up to it: {'; '.join(up_to_n)}. Radius over the {percent(wanted)} quantile of the error: "
        f"{', '.join(widths)}. Validity for all n costs a radius {ratio:.2g} times the posterior's"
    )
    if dataset.attrs["noise"] != "normal":
        words += "; outcomes are not normal, and the set for normal ones promises nothing for them"
        return Verdict(None, words, counts=False)
    return Verdict(valid, words, counts=False)


def _calibrated(share: _Share, wanted: float) -> str:
    if share.low > wanted:
        return "wider than calibrated"
    if share.high < wanted:
        return "too narrow"
    return "calibrated as far as can be seen"


def _valid(holds: bool | None, count: int, wanted: float) -> str:
    if holds is None:
        # The most hits with which the interval would lie below what is wanted.
        most = int(stats.binom.ppf(_LEVEL, count, wanted)) - 1
        return f"undecided ({count} data sets would show {percent(max(most, 0) / max(count, 1))} or less)"
    return "valid" if holds else "not valid"


def _introduction(result: AnytimeResult) -> str:
    return (
        "A set is calibrated if it contains the truth as often as it says, at one n; it is valid for all n if that holds at all n at once, "
        "so that one may look as often as one likes. The likelihood-ratio set contains all (θ, φ) whose likelihood is not too far below that of "
        "predictions made one stay ahead (normal outcomes); it is joint for θ and φ, and proved for any design. Its radius is of its ellipsoid to second "
        "order, about the GLSE. The posterior (laplace) is looked at in some of the data sets and at these n only; the other sets after every user. "
        f"Largest n: {format_number(max(int(one.n[-1]) for one in result.sets.values()))}."
    )


def plot_anytime(sets: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw coverage up to n and at n, and radii, by design."""
    with plot.style():
        figure = plot.new_figure(4.4, plot.PAGE_WIDTH)
        panels = figure.subplots(2, len(sets), sharex=True, sharey="row", squeeze=False)
        for column, (design, dataset) in zip(panels.T, sets.items(), strict=True):
            for number, kind in enumerate(KINDS):
                look, one = plot.look_of(number), dataset.sel(kind=kind)
                # Sets that always contain the truth lie on one line: the later ones are thinner.
                wide = {
                    "color": look.color,
                    "lw": 3.2 - 0.7 * number,
                    "marker": "o",
                    "ms": 7.0 - 1.4 * number,
                }
                column[0].plot(one.n, one.always, label=_LABELS[kind], **wide)
                column[0].plot(one.n, one.coverage, color=look.color, ls="--", lw=0.8)
                column[1].plot(one.n, one.radius, color=look.color, marker="o", ms=3)
            column[1].plot(
                dataset.n, dataset["quantile"], color="#555555", ls=":", label="quantile of the error"
            )
            column[0].axhline(1.0 - dataset.attrs["delta"], color="#555555", lw=0.7)
            column[0].set(xscale="log", ylim=(0.0, 1.04))
            column[0].set_title(f"{design} design", loc="left")
            column[1].set(yscale="log", xlabel="rounds n")
        panels[0, 0].set_ylabel("contains the truth")
        panels[1, 0].set_ylabel("radius for φ")
        above, below = (panels[row, 0].get_legend_handles_labels() for row in (0, 1))
        figure.legend(above[0] + below[0], above[1] + below[1], loc="outside lower center", ncols=3)
    return figure
