"""``hrprob diagnose``: say whether learned variances can be trusted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.shared import (
    Command,
    add_import,
    import_modules,
    named_as_options,
    printer,
    shows_progress,
)

__all__ = ["COMMAND"]

_MARKS = {True: "✓", False: "✗", None: "·"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration, a TOML file")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the report")
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help="policy that gathers the data; by default the first in FILE that has a posterior, else Thompson "
        "sampling",
    )
    parser.add_argument(
        "--engine",
        metavar="NAME",
        help="posterior engine to diagnose: laplace, smc, nuts or svi, or a table, "
        '{kind = "...", ...}; by default that of the policy',
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of all random numbers; by default as in FILE"
    )
    parser.add_argument("--quick", action="store_true", help="few data sets: to see that it works")
    parser.add_argument("--quiet", action="store_true", help="no progress and no verdicts")
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    import_modules(arguments.modules)
    from hrprob._core.tables import kind_or_table
    from hrprob.diagnostics.experiment import diagnose_experiment
    from hrprob.io import config

    say = printer(arguments)
    experiment = config.read(arguments.file)
    if arguments.seed is not None:
        with named_as_options("seed"):
            experiment = experiment.replace(seed=arguments.seed)
    engine = None if arguments.engine is None else kind_or_table("--engine", arguments.engine)
    diagnosis = diagnose_experiment(
        experiment,
        arguments.out,
        policy=arguments.policy,
        engine=engine,
        quick=arguments.quick,
        command=sys.argv,
        say=say,
        progress=shows_progress(arguments),
    )
    say("")
    for verdict in diagnosis.verdicts:
        say(f"  {_MARKS[verdict.good]} {verdict.words}")
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


COMMAND = Command(
    "diagnose",
    "say whether learned variances can be trusted: calibration, coverage, ranks, in one report",
    _add_arguments,
    _run,
    less_memory="--quick or a smaller --engine",
)
