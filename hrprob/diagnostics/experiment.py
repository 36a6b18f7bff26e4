"""Run all diagnostics on an experiment and write the report, as ``hrprob diagnose`` does."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hrprob import plot
from hrprob._core.records import describe
from hrprob._core.types import Decoded
from hrprob.diagnostics.base import Diagnostic
from hrprob.diagnostics.replications import Replications
from hrprob.diagnostics.report import draw_figures, write_data, write_summary
from hrprob.diagnostics.runner import Diagnosis, diagnose
from hrprob.diagnostics.study import DEFAULT, QUICK, Sizes, Study, make_study
from hrprob.io import config
from hrprob.io.chunks import ArrayFolder
from hrprob.io.sources import sources
from hrprob.io.staging import reserved, staged_at
from hrprob.io.unfinished import fingerprint, unfinished
from hrprob.scheduling.opening import open_scheduler
from hrprob.simulation.tasks import Scheduler

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
    scheduler: str | Scheduler | None = None,
    modules: Sequence[str] = (),
    prepare: Callable[[], object] | None = None,
    resume: bool = False,
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
    scheduler : str, optional
        Where data sets are played and fitted: by default in this process; ``"local"`` or ``"local:4"`` in processes of
        this machine, ``"tcp://host:8786"`` on a Dask cluster. The results are the same, to the bit.
    modules, prepare
        What workers import and call first; see :func:`~hrprob.scheduling.opening.open_scheduler`.
    resume : bool
        Go on with what an interrupted call with the same arguments left; finished data sets and fits are not
        made again.

    Raises
    ------
    InvalidInput
        If ``resume`` finds what another call left, with the differences.
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
    sizes = QUICK if quick else DEFAULT
    own = sources(experiment, study.policy, study.engine, modules=modules)
    plan = _plan(experiment, study, sizes, fit_as) | {"sources": own}
    with (
        reserved(out, "diagnose") as destination,
        unfinished(destination, plan, resume=resume) as finished,
        staged_at(destination, "diagnose") as folder,
    ):
        if quick:
            say("QUICK: too few data sets to detect small differences; this shows that it works.")
        store = ArrayFolder(finished / "jobs", fingerprint(plan))
        with plot.save_in_background() as save:

            def draw(diagnostic: Diagnostic, result: object) -> None:
                # Figures are drawn while diagnostics that take longer still run.
                for name, figure in draw_figures(diagnostic, result):
                    save(figure, folder, name)

            with open_scheduler(scheduler, modules=modules, prepare=prepare) as opened:
                runner = Replications(None if scheduler is None else opened, store)
                diagnosis = diagnose(study, sizes, say=say, progress=progress, finished=draw, runner=runner)
            # While the last figures are being written, and without a cluster, which xarray would ask for locks.
            write_data(folder, diagnosis)
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


def _plan(
    experiment: config.Experiment, study: Study, sizes: Sizes, fit_as: Mapping[str, Decoded] | None
) -> dict[str, object]:
    """Return what decides the results, as plain data: an interrupted diagnosis goes on only with the same."""
    return {
        "job": "diagnose",
        "configuration": config.resolved(experiment),
        "policy": describe(study.policy),
        "engine": describe(study.engine),
        "fit_as": dict(fit_as or {}),
        "sizes": dataclasses.asdict(sizes),
    }
