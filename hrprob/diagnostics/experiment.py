"""Run all diagnostics on an experiment and write the report, as ``hrprob diagnose`` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from hrprob import plot
from hrprob._core.types import Decoded
from hrprob.diagnostics.base import Diagnostic
from hrprob.diagnostics.report import draw_figures, write_data, write_summary
from hrprob.diagnostics.runner import Diagnosis, diagnose
from hrprob.diagnostics.study import DEFAULT, QUICK, make_study
from hrprob.io import config
from hrprob.io.staging import staged

__all__ = ["diagnose_experiment"]


def diagnose_experiment(
    experiment: config.Experiment,
    out: str | Path,
    *,
    policy: str | None = None,
    engine: object = None,
    quick: bool = False,
    fit_as: Mapping[str, Decoded] | None = None,
    command: list[str] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Diagnosis:
    """Run all diagnostics on an experiment and write report, data and figures into the folder ``out``.

    Parameters
    ----------
    experiment : Experiment
        Problem, policies and seed, for example from :func:`hrprob.io.config.read`.
    out : str or Path
        The folder, written whole or not at all.
    policy : str, optional
        The policy that gathers the data; by default the first with a posterior, or else Thompson sampling.
    engine : str, table or engine, optional
        The engine whose posterior is examined; by default that of the policy, or else ``laplace``.
    quick : bool
        Few data sets, to see that it works.
    fit_as : mapping, optional
        What is fitted instead of what the problem generates; see :mod:`.mismatch`.
    command : list of str, optional
        The command line, for the manifest.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show progress.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    study = make_study(
        experiment.problem,
        experiment.policies,
        policy=policy,
        engine=engine,
        seed=experiment.seed,
        fit_as=fit_as,
    )
    with staged(out, job="diagnose") as folder:
        if quick:
            say("QUICK: too few data sets to detect small differences; this shows that it works.")
        with plot.save_in_background() as save:

            def draw(diagnostic: Diagnostic, result: object) -> None:
                # Figures are drawn while diagnostics that take longer still run.
                for name, figure in draw_figures(diagnostic, result):
                    save(figure, folder, name)

            diagnosis = diagnose(
                study, QUICK if quick else DEFAULT, say=say, progress=progress, finished=draw
            )
            write_data(folder, diagnosis)  # while the last figures are being written
        facts = {
            "quick": quick,
            "fit_as": dict(fit_as or {}),
            "configuration": config.resolved(experiment),
            "command": command or [],
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        write_summary(folder, diagnosis, facts, quick)
    return diagnosis
