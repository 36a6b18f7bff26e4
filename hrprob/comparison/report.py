"""The report of a comparison: tables, figures, ``comparison.json`` and a page in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import xarray

import hrprob
from hrprob import plot
from hrprob.comparison import figures
from hrprob.comparison.paired import Comparison
from hrprob.comparison.sequential import Decision
from hrprob.comparison.suite import SuiteRank, rank_policies, ratios
from hrprob.comparison.tables import decision_in_words, pairs_table, ranks_table, standings_table
from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.page import Report

__all__ = ["ComparisonReport", "make_report", "write_report"]

_CAPTIONS = {
    "regret": "Mean regret with 95 % bands over trials.",
    "differences": "Regret of every policy minus that of {against}, paired by trial, with 95 % bands: below 0 is better.",
    "final": "Distribution over trials of the regret at user {at}.",
    "lifetimes": "Mean lifetime, realised and expected given the actions, with 95 % intervals.",
    "optimal": "Share of users whose first action was the best for them.",
}
# With many policies, these figures show the best only.
_CURVES = ("regret", "differences", "optimal")


class ComparisonReport(NamedTuple):
    """Comparisons on one or several problems, with the data behind them."""

    comparisons: dict[str, Comparison]  # by problem
    data: dict[str, xarray.Dataset]  # by problem
    ranks: list[SuiteRank]  # over all problems; empty if there is one
    decisions: dict[str, Decision]  # by problem, where trials were added

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``comparison.json``."""
        return {
            "problems": {
                name: comparison.to_dict() | self._decision(name)
                for name, comparison in self.comparisons.items()
            },
            "ranks": [rank._asdict() for rank in self.ranks],
        }

    def _decision(self, name: str) -> dict[str, Any]:
        if name not in self.decisions:
            return {}
        decision = self.decisions[name]
        return {"decided": decision.decided, "looks": decision.looks, "overall_level": decision.level}


def make_report(
    comparisons: dict[str, Comparison],
    data: dict[str, xarray.Dataset],
    decisions: dict[str, Decision] | None = None,
) -> ComparisonReport:
    """Return the report of comparisons by problem, with ranks if there are several problems."""
    ranks = rank_policies(comparisons) if len(comparisons) > 1 else []
    return ComparisonReport(comparisons, data, ranks, decisions or {})


def write_report(folder: Path, report: ComparisonReport, facts: Mapping[str, Any], seconds: float) -> None:
    """Write tables, figures, page and manifest into ``folder``; ``facts`` go into the manifest."""
    page = Report("Who won?", _lead(report))
    if report.ranks:
        page.heading("Over all problems")
        page.table(*ranks_table(report.ranks))
        plot.save(figures.plot_suite(ratios(report.comparisons)), folder, "suite")
        page.figure(
            folder / "suite.png", "Regret divided by the least regret on each problem; the best policy has 1."
        )
    for number, name in enumerate(report.comparisons, start=1):
        prefix = "" if len(report.comparisons) == 1 else f"{number:02d}-"
        _add_problem(page, folder, prefix, name, report)
    page.footer(f"hrprob {hrprob.__version__}; every number of this page is in comparison.json.")
    (folder / "report.html").write_text(page.render(), encoding="utf-8")
    write_json(folder / "comparison.json", report.to_dict())
    write_manifest(folder, {"program": "hrprob", **facts, "wall_seconds": seconds} | environment())


def _lead(report: ComparisonReport) -> str:
    problems = len(report.comparisons)
    trials = sorted({comparison.trials for comparison in report.comparisons.values()})
    count = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return (
        f"{problems} problem{'s' if problems > 1 else ''}, {count} trials each. All policies of a problem met the "
        "same users, contexts, levels and noise, so they are compared trial by trial."
    )


def _add_problem(page: Report, folder: Path, prefix: str, name: str, report: ComparisonReport) -> None:
    comparison = report.comparisons[name]
    data = figures.best_first(report.data[name], comparison)
    shown = figures.shown_policies(data)
    page.heading(name)
    if name in report.decisions:
        page.text(decision_in_words(report.decisions[name]))
    page.table(*standings_table(comparison))
    page.table(*pairs_table(comparison), [comparison.different(pair) for pair in comparison.pairs])
    drawn = {
        "regret": plot.plot_regret(shown),
        "differences": figures.plot_differences(shown, comparison),
        "final": figures.plot_final(data, comparison),
        "lifetimes": figures.plot_lifetimes(data, comparison),
        "optimal": figures.plot_optimal(shown),
    }
    for kind, figure in drawn.items():
        plot.save(figure, folder, f"{prefix}{kind}")
        caption = _CAPTIONS[kind].format(against=comparison.baseline or comparison.leader, at=comparison.at)
        if kind in _CURVES and len(shown.policy) < len(data.policy):
            caption += f" The best {len(shown.policy)} of {len(data.policy)} policies."
        page.figure(folder / f"{prefix}{kind}.png", caption)
