"""``hrprob compare``: tables, figures, ``comparison.json`` and a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison import figures
from hrprob.comparison.paired import Comparison, Pair, compare
from hrprob.comparison.runs import Run, pool, read
from hrprob.comparison.sequential import MOST_TRIALS, Decision, decide
from hrprob.comparison.suite import Place, rank, ratios
from hrprob.io import output
from hrprob.io.config import Experiment, from_data
from hrprob.io.page import Report
from hrprob.plot import plots

__all__ = [
    "Compared",
    "compare_folders",
    "table_of_pairs",
    "table_of_places",
    "table_of_standings",
    "write_into",
]

_CAPTIONS = {
    "regret": "Mean regret with 95 % bands over trials.",
    "differences": "What every policy loses beyond {against}, trial by trial, with 95 % bands: below 0 it is better.",
    "final": "The regret at user {at} over trials.",
    "lifetimes": "Mean lifetime, realised and expected given the actions, with 95 % intervals.",
    "optimal": "Share of users whose first action was the best for them.",
}
# Of many policies only the best are drawn in these.
_CURVES = ("regret", "differences", "optimal")


class Compared(NamedTuple):
    """What came of it, by problem."""

    comparisons: dict[str, Comparison]
    data: dict[str, xarray.Dataset]
    places: list[Place]
    decisions: dict[str, Decision]


def compare_folders(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    baseline: str | None = None,
    at: int | None = None,
    until: float | None = None,
    most_trials: int = MOST_TRIALS,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Compared:
    """Compare the results in some folders, and write what came of it into ``out`` where it is given.

    Parameters
    ----------
    folders : sequence of str or Path
        What ``hrprob run`` or ``hrprob reproduce`` wrote.
    out : str or Path, optional
        Folder for tables, figures and report.
    baseline, at
        As for :func:`~hrprob.comparison.paired.compare`.
    until : float, optional
        Play further trials until the leading pairs are decided at this level.
    most_trials : int
        The most trials played then.
    say : callable
        Told what is being done, a line at a time.
    progress : bool
        Show a progress bar.
    """
    started = time.perf_counter()
    runs = [run for folder in folders for run in read(folder)]
    data = pool(runs)
    decisions: dict[str, Decision] = {}
    if until is not None:
        for name in data:
            decisions[name] = _decide(name, data[name], runs, until, most_trials, baseline, at, say, progress)
        data = {name: decisions[name].result for name in data}
        found = {name: decision.comparison for name, decision in decisions.items()}
    else:
        found = {name: compare(part, baseline=baseline, at=at) for name, part in data.items()}
    compared = Compared(found, data, rank(found) if len(found) > 1 else [], decisions)
    if out is not None:
        with output.staged(out, job="compare") as folder:
            facts = {"job": "compare", "folders": [str(place) for place in folders]}
            write_into(folder, compared, facts, time.perf_counter() - started)
    return compared


def _decide(
    name: str,
    data: xarray.Dataset,
    runs: list[Run],
    until: float,
    most_trials: int,
    baseline: str | None,
    at: int | None,
    say: Callable[[str], None],
    progress: bool,
) -> Decision:
    say(f"{name}: looking until decided at {until:g}")
    experiment = _experiment(name, data, runs)
    return decide(
        experiment.problem,
        {policy: experiment.policies[policy] for policy in map(str, data.policy.values)},
        level=until,
        users=experiment.users,
        seed=experiment.seed,
        most_trials=most_trials,
        baseline=baseline,
        at=at,
        result=data,
        say=say,
        progress=progress,
    )


def _experiment(name: str, data: xarray.Dataset, runs: list[Run]) -> Experiment:
    """Return the experiment behind a dataset, from the manifest of a single run."""
    for run in runs:
        configuration = run.facts.get("configuration")
        if run.name == name and run.facts.get("job") == "run" and configuration:
            experiment = from_data(configuration)
            if set(map(str, data.policy.values)) <= set(experiment.policies):
                return experiment
    remedy = "only what one `hrprob run` played can be played on, and its manifest.json says how"
    raise InvalidInput("--until", "must have a run to go on with", name, remedy)


def write_into(folder: Path, compared: Compared, facts: Mapping[str, Any], seconds: float) -> None:
    """Write tables, figures, report and manifest into ``folder``; ``facts`` go into the manifest."""
    page = Report("Who won?", _lead(compared))
    if compared.places:
        page.heading("Over all problems")
        page.table(*table_of_places(compared.places))
        plots.save(figures.plot_suite(ratios(compared.comparisons)), folder, "suite")
        page.figure(
            folder / "suite.png", "Regret as a multiple of the least on each problem; the best has 1."
        )
    for number, (name, found) in enumerate(compared.comparisons.items(), start=1):
        prefix = "" if len(compared.comparisons) == 1 else f"{number:02d}-"
        _write_problem(page, folder, prefix, name, found, compared)
    page.footer(f"hrprob {hrprob.__version__}; every number of this page is in comparison.json.")
    (folder / "report.html").write_text(page.render(), encoding="utf-8")
    output.write_json(folder / "comparison.json", _plain(compared))
    everything = {"program": "hrprob", **facts, "wall_seconds": seconds} | output.environment()
    files = sorted([path.name for path in folder.iterdir()] + [output.MANIFEST])
    output.write_json(folder / output.MANIFEST, everything | {"files": files})


def _lead(compared: Compared) -> str:
    problems = len(compared.comparisons)
    trials = sorted({found.trials for found in compared.comparisons.values()})
    count = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return (
        f"{problems} problem{'s' if problems > 1 else ''}, {count} trials each. All policies of a problem met the "
        "same users, contexts, levels and noise, so they are compared trial by trial."
    )


def _write_problem(
    page: Report, folder: Path, prefix: str, name: str, found: Comparison, compared: Compared
) -> None:
    data = figures.in_order(compared.data[name], found)
    few = figures.leading(data)
    page.heading(name)
    if name in compared.decisions:
        page.text(in_words(compared.decisions[name]))
    page.table(*table_of_standings(found))
    page.table(*table_of_pairs(found), [found.different(pair) for pair in found.pairs])
    drawn = {
        "regret": plots.plot_regret(few),
        "differences": figures.plot_differences(few, found),
        "final": figures.plot_final(data, found),
        "lifetimes": figures.plot_lifetimes(data, found),
        "optimal": figures.plot_optimal(few),
    }
    for kind, figure in drawn.items():
        plots.save(figure, folder, f"{prefix}{kind}")
        caption = _CAPTIONS[kind].format(against=found.baseline or found.leader, at=found.at)
        if kind in _CURVES and len(few.policy) < len(data.policy):
            caption += f" The best {len(few.policy)} of {len(data.policy)} policies."
        page.figure(folder / f"{prefix}{kind}.png", caption)


def in_words(decision: Decision) -> str:
    """Say what a sequential comparison came to."""
    found = decision.comparison
    error = f"the probability that equal policies are ever called different is at most {decision.level:g}"
    if decision.decided:
        who = (
            f"all others against {found.baseline}" if found.baseline else f"{found.leader} against all others"
        )
        return f"Decided after {found.trials} trials ({who}); {error}."
    return f"Not decided after {found.trials} trials, the most that were allowed; {error}."


Table = tuple[list[str], list[list[Any]], str]


def table_of_standings(found: Comparison) -> Table:
    """Return header, rows and caption of how every policy fared by itself."""
    header = [
        "policy",
        "regret",
        "95 %",
        "lifetime",
        "expected",
        "optimal",
        "exponent",
        "rate ratio",
        "µs a user",
    ]
    rows = [
        [
            one.policy,
            f"{one.regret.mean:,.1f} ± {one.regret.se:.1f}",
            f"[{one.regret.low:,.1f}, {one.regret.high:,.1f}]",
            f"{one.lifetime.mean:.3f}",
            f"{one.expected_lifetime.mean:.3f}",
            f"{one.optimal:.1%}",
            f"{one.exponent.mean:.2f} [{one.exponent.low:.2f}, {one.exponent.high:.2f}]",
            f"{one.ratio.mean:.2f} [{one.ratio.low:.2f}, {one.ratio.high:.2f}]",
            f"{one.microseconds:.2f}",
        ]
        for one in found.standings
    ]
    return header, rows, f"At user {found.at}, {found.trials} trials; ± standard error."


def table_of_pairs(found: Comparison) -> Table:
    """Return header, rows and caption of the pairs."""
    header = ["policy", "less", "difference", "95 % t", "95 % bootstrap", "p", "p, Holm", "wins", "verdict"]
    rows = [_pair_row(found, pair) for pair in found.pairs]
    caption = (
        "Regret of the first less that of the second. Wins: share of trials in which the first lost less, with "
        f"Wilson's 95 % interval. Different: Holm's p at most {found.level:.3g}."
    )
    return header, rows, caption


def _pair_row(found: Comparison, pair: Pair) -> list[Any]:
    d = pair.difference
    return [
        pair.policy,
        pair.other,
        f"{d.mean:+,.1f}",
        f"[{d.low:,.1f}, {d.high:,.1f}]",
        f"[{pair.bootstrap[0]:,.1f}, {pair.bootstrap[1]:,.1f}]",
        f"{pair.p_value:.2g}",
        f"{pair.p_holm:.2g}",
        f"{pair.wins:.0%} [{pair.wins_low:.0%}, {pair.wins_high:.0%}]",
        "different" if found.different(pair) else "not told apart",
    ]


def table_of_places(places: Sequence[Place]) -> Table:
    """Return header, rows and caption of the ranks over a suite."""
    header = ["policy", "problems", "mean rank", "firsts", "worst ratio", "on", "median ratio"]
    rows = [
        [
            place.policy,
            place.problems,
            f"{place.mean_rank:.1f}",
            place.firsts,
            f"{place.worst_ratio:.2f}",
            place.worst_problem,
            f"{place.median_ratio:.2f}",
        ]
        for place in places
    ]
    return header, rows, "Ratio: regret over the least regret on the same problem. Least worst ratio first."


def _plain(compared: Compared) -> Mapping[str, Any]:
    return {
        "problems": {
            name: found.to_dict()
            | (
                {
                    "decided": compared.decisions[name].decided,
                    "looks": compared.decisions[name].looks,
                    "overall_level": compared.decisions[name].level,
                }
                if name in compared.decisions
                else {}
            )
            for name, found in compared.comparisons.items()
        },
        "ranks": [place._asdict() for place in compared.places],
    }
