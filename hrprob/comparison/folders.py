"""Compare the results in folders, as ``hrprob compare`` does, and play more trials where they do not decide."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.trust import trusting
from hrprob.comparison.paired import compare
from hrprob.comparison.report import ComparisonReport, make_report, write_report
from hrprob.comparison.runs import Run, pool, read
from hrprob.comparison.sequential import MOST_TRIALS, Decision, decide
from hrprob.io.config import Experiment, from_data
from hrprob.io.manifest import MANIFEST
from hrprob.io.staging import staged
from hrprob.scheduling.opening import open_scheduler
from hrprob.simulation.tasks import Scheduler

__all__ = ["compare_folders"]


def compare_folders(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    baseline: str | None = None,
    at: int | None = None,
    until: float | None = None,
    most_trials: int = MOST_TRIALS,
    trust: bool = False,
    scheduler: str | Scheduler | None = None,
    modules: Sequence[str] = (),
    prepare: Callable[[], object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> ComparisonReport:
    """Compare the results in some folders, and write a report into ``out`` if it is given.

    Parameters
    ----------
    folders : sequence of str or Path
        Folders that ``hrprob run``, ``hrprob reproduce`` or ``hrprob sweep`` wrote.
    out : str or Path, optional
        Folder for tables, figures and page.
    baseline : str, optional
        Compare all others with this policy; by default all pairs.
    at : int, optional
        The user at which regrets are compared; by default the last.
    until : float, optional
        Play more trials until the leader differs significantly from all others at this level, as
        :func:`~hrprob.comparison.sequential.decide` does.
    most_trials : int
        The most trials with ``until``.
    trust : bool
        Whether ``until`` may import functions that a folder's manifest names. Importing runs them.
    scheduler, modules, prepare
        Where ``until`` plays trials, and what workers import and call first; see
        :func:`~hrprob.scheduling.opening.open_scheduler`.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.
    """
    started = time.perf_counter()
    runs = [run for folder in folders for run in read(folder)]
    data = pool(runs)

    def decided(level: float) -> dict[str, Decision]:
        decisions = {}
        with open_scheduler(scheduler, modules=modules, prepare=prepare) as opened:
            for name, part in data.items():
                say(f"{name}: adding trials until decided at {level:g}")
                with trusting(trust):
                    experiment = _experiment(name, part, runs)
                decisions[name] = decide(
                    experiment.problem,
                    {policy: experiment.policies[policy] for policy in map(str, part.policy.values)},
                    level=level,
                    users=experiment.users,
                    seed=experiment.seed,
                    most_trials=most_trials,
                    baseline=baseline,
                    at=at,
                    result=part,
                    scheduler=None if scheduler is None else opened,
                    say=say,
                    progress=progress,
                )
        return decisions

    def compared() -> ComparisonReport:
        if until is None:
            found = {name: compare(part, baseline=baseline, at=at) for name, part in data.items()}
            return make_report(found, data)
        decisions = decided(until)
        return make_report(
            {name: decision.comparison for name, decision in decisions.items()},
            {name: decision.result for name, decision in decisions.items()},
            decisions,
        )

    # The folder is opened before trials are played: one that cannot be written is named at once.
    with contextlib.nullcontext() if out is None else staged(out, job="compare") as folder:
        report = compared()
        if folder is not None:
            facts = {"job": "compare", "folders": [str(place) for place in folders]}
            write_report(folder, report, facts, time.perf_counter() - started)
    return report


def _experiment(name: str, data: xarray.Dataset, runs: list[Run]) -> Experiment:
    """Return the experiment behind a dataset, from the manifest of a single run."""
    for run in runs:
        configuration = run.facts.get("configuration")
        if run.name == name and run.facts.get("job") == "run" and configuration:
            experiment = from_data(configuration)
            if set(map(str, data.policy.values)) <= set(experiment.policies):
                return experiment
    remedy = f"only the result of one `hrprob run` can be continued, and its {MANIFEST} says how"
    raise InvalidInput("until", "must have a run to continue", name, remedy)
