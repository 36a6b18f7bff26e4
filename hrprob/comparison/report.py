"""The report of a comparison: tables, figures, ``comparison.json`` and a page in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import xarray
from matplotlib.figure import Figure

import hrprob
from hrprob import plot
from hrprob._core.formatting import format_number
from hrprob.comparison import figures
from hrprob.comparison.answer import answer_of, answer_over
from hrprob.comparison.records import Comparison, plain_record
from hrprob.comparison.sequential import Decision
from hrprob.comparison.suite import Ratios, SuiteRank, rank_policies, ratios
from hrprob.comparison.tables import (
    decision_in_words,
    pairs_table,
    ranks_table,
    standings_table,
    summary_table,
)
from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.page import Report
from hrprob.io.verdicts import Answer

__all__ = ["ComparisonReport", "make_report", "write_report"]

_CAPTIONS = {
    "regret": "Mean regret along the users, with 95 % bands over trials: lower is better.",
    "differences": "Regret of every policy minus that of {against}, paired by trial, with 95 % bands: below 0 is better.",
    "final": "Distribution over trials of the regret at user {at}: a mean can hide a heavy tail.",
    "lifetimes": "Mean realised lifetime, and its difference from the longest, paired by trial, with 95 % intervals: "
    "longer is better.",
    "optimal": "Share of users whose first action was the best for them, with 95 % bands: higher is better.",
}
# With many policies, these figures show the best only.
_CURVES = ("regret", "differences", "optimal")


class ComparisonReport(NamedTuple):
    """Comparisons on one or several problems, with the data behind them."""

    comparisons: dict[str, Comparison]  # by problem
    data: dict[str, xarray.Dataset]  # by problem
    ranks: list[SuiteRank]  # over all problems; empty if there is one
    ratios: Ratios  # by problem and policy; empty if there is one problem
    decisions: dict[str, Decision]  # by problem, where trials were added

    @property
    def answer(self) -> Answer:
        """Whether one policy is the best: yes, no or cannot tell, and why."""
        if self.ranks:
            return answer_over(self.comparisons, self.ranks)
        return answer_of(next(iter(self.comparisons.values())))

    def to_dict(self) -> dict[str, object]:
        """Return the content of ``comparison.json``."""
        return {
            "answer": self.answer.to_plain(),
            "problems": {
                name: comparison.to_dict() | self._decision(name)
                for name, comparison in self.comparisons.items()
            },
            "ranks": [rank.to_dict() for rank in self.ranks],
            "ratios": {
                problem: {policy: plain_record(ratio) for policy, ratio in row.items()}
                for problem, row in self.ratios.items()
            },
        }

    def _decision(self, name: str) -> dict[str, object]:
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
    table = ratios(comparisons, data) if len(comparisons) > 1 else {}
    return ComparisonReport(comparisons, data, rank_policies(table), table, decisions or {})


def write_report(folder: Path, report: ComparisonReport, facts: Mapping[str, object], seconds: float) -> None:
    """Write tables, figures, page and manifest into ``folder``; ``facts`` go into the manifest."""
    answer = report.answer
    page = Report(answer.question, _lead(report))
    page.answer(answer)
    if report.ranks:
        page.heading("Over all problems")
        page.result_table(ranks_table(report.ranks))
        plot.save(_suite_figure(report), folder, "suite")
        page.figure(
            folder / "suite.png",
            "Regret divided by the least mean regret on each problem; the best policy has 1.",
        )
    for number, name in enumerate(report.comparisons, start=1):
        prefix = "" if len(report.comparisons) == 1 else f"{number:02d}-"
        _add_problem(page, folder, prefix, name, report)
    page.footer(f"hrprob {hrprob.__version__}; every number of this page is in comparison.json.")
    (folder / "report.html").write_text(page.render(), encoding="utf-8")
    write_json(folder / "comparison.json", report.to_dict())
    write_manifest(folder, {"program": "hrprob", **facts, "wall_seconds": seconds} | environment())


def _suite_figure(report: ComparisonReport) -> Figure:
    policies = {policy for comparison in report.comparisons.values() for policy in comparison.rivals}
    with plot.style():
        figure = plot.new_figure(1.4 + 0.2 * len(policies), plot.PAGE_WIDTH)
        plot.suite(report.comparisons, figure.subplots())
    return figure


def _lead(report: ComparisonReport) -> str:
    problems = len(report.comparisons)
    trials = sorted({comparison.trials for comparison in report.comparisons.values()})
    count = format_number(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return (
        f"{problems} problem{'s' if problems > 1 else ''}, {count} trials each. All policies of a problem met the "
        "same users, contexts, levels and noise, so they are compared trial by trial."
    )


def _add_problem(page: Report, folder: Path, prefix: str, name: str, report: ComparisonReport) -> None:
    comparison = report.comparisons[name]
    data = figures.best_first(report.data[name], comparison)
    shown = figures.shown_policies(data)
    page.heading(name)
    if len(report.comparisons) > 1:
        page.text(comparison.headline)
    if name in report.decisions:
        page.text(decision_in_words(report.decisions[name]))
    for note in comparison.notes():
        page.text(note)
    page.result_table(summary_table(comparison))
    page.result_table(standings_table(comparison))
    with page.folded("Every pair of policies"):
        page.result_table(pairs_table(comparison))
    for kind, figure in figures.comparison_figures(data, comparison).items():
        plot.save(figure, folder, f"{prefix}{kind}")
        against, at = comparison.baseline or comparison.leader, format_number(comparison.at)
        caption = _CAPTIONS[kind].format(against=against, at=at)
        if kind in _CURVES and len(shown.policy) < len(data.policy):
            caption += f" The best {len(shown.policy)} of {len(data.policy)} policies."
        page.figure(folder / f"{prefix}{kind}.png", caption)
