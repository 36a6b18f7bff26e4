"""``hrprob diagnose``: run all diagnostics on a configuration and write the report."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hrprob._core.errors import InvalidInput
from hrprob._core.tables import kind_or_table
from hrprob.diagnostics.base import Diagnostic
from hrprob.diagnostics.report import draw_figures, write_data, write_summary
from hrprob.diagnostics.runner import diagnose
from hrprob.diagnostics.study import DEFAULT, QUICK, study_of
from hrprob.io import config, output

__all__ = ["run"]

_MARKS = {True: "✓", False: "✗", None: "·"}


def run(arguments: Namespace, say: Callable[[str], None], command: list[str], progress: bool = False) -> None:
    """Diagnose what the arguments of the command line ask for, and write the report to ``--out``."""
    from hrprob.plot import plots

    wall, cpu = time.perf_counter(), time.process_time()
    experiment = config.read(arguments.file)
    if arguments.seed is not None:
        try:
            experiment = experiment.replace(seed=arguments.seed)
        except InvalidInput as error:
            raise InvalidInput("--seed", error.must, error.got, error.remedy) from None
    engine = None if arguments.engine is None else kind_or_table("--engine", arguments.engine)
    study = study_of(
        experiment.problem, experiment.policies, policy=arguments.policy, engine=engine, seed=experiment.seed
    )
    with output.staged(arguments.out, job="diagnose") as folder:
        if arguments.quick:
            say("QUICK: too few data sets to detect small differences; this shows that it works.")
        with plots.saving_aside() as save:

            def draw(diagnostic: Diagnostic[Any], result: Any) -> None:
                # Figures are drawn while diagnostics that take longer still run.
                for name, figure in draw_figures(diagnostic, result):
                    save(figure, folder, name)

            sizes = QUICK if arguments.quick else DEFAULT
            done = diagnose(study, sizes, say=say, progress=progress, finished=draw)
            write_data(folder, done)  # while the last figures are being written
        facts = {
            "quick": arguments.quick,
            "configuration": config.resolved(experiment),
            "command": command,
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        write_summary(folder, done, facts, arguments.quick)
    say("")
    for verdict in done.verdicts:
        say(f"  {_MARKS[verdict.good]} {verdict.words}")
    say(f"\nreport in {Path(arguments.out, 'report.html')}")
