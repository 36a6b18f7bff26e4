"""``hrprob diagnose``: say whether learned variances can be trusted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer, progress_printer, shows_progress
from hrprob.cli.shared import (
    Command,
    add_import,
    add_json,
    add_out,
    add_quiet,
    add_resume,
    add_scheduler,
    import_modules,
    named_as_options,
    own_kinds,
    result_folder,
)

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration, a TOML file")
    add_out(
        parser, "folder for the report", "results/diagnose/NAME for NAME.toml, replacing an earlier result"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help="policy that gathers the data; by default the first in FILE that has a posterior, else Thompson "
        "sampling",
    )
    parser.add_argument(
        "--engine",
        metavar="NAME",
        help=f"posterior engine to diagnose: {own_kinds('estimation/posterior')}, auto; or a table, "
        '{kind = "...", ...}; by default that of the policy',
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of all random numbers; by default as in FILE"
    )
    parser.add_argument(
        "--fit-as",
        metavar="TABLE",
        help="fit something else than FILE generates, to see what a wrong assumption does: "
        "{model = ..., prior = ..., link = {offset = ...}, bounds = {phi = ...}, contexts = 0.5, user_effect = 0.4}",
    )
    parser.add_argument("--quick", action="store_true", help="few data sets: to see that it works")
    add_scheduler(parser)
    add_resume(parser)
    add_quiet(parser, "no progress and no verdicts")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, arguments.file):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob._core.tables import kind_or_table
        from hrprob.diagnostics.experiment import diagnose_experiment
        from hrprob.diagnostics.report import to_plain
        from hrprob.io import config

    say = printer(arguments)
    experiment = config.read(arguments.file)
    if arguments.seed is not None:
        with named_as_options("seed"):
            experiment = experiment.replace(seed=arguments.seed)
    out = result_folder(arguments, arguments.file)
    engine = None if arguments.engine is None else kind_or_table("--engine", arguments.engine)
    # Without --engine an error about the engine is one about the policy's own.
    asked = () if engine is None else ("engine",)
    fit_as = None if arguments.fit_as is None else kind_or_table("--fit-as", arguments.fit_as)
    with named_as_options(*asked, "fit_as", "scheduler", policy="policy"):
        diagnosis = diagnose_experiment(
            experiment,
            out,
            policy=arguments.policy,
            engine=engine,
            quick=arguments.quick,
            fit_as=fit_as,
            command=sys.argv,
            say=progress_printer(arguments),
            progress=shows_progress(arguments),
            scheduler=arguments.scheduler,
            modules=arguments.modules,
            prepare=prepare_jax,
            resume=arguments.resume,
        )
    say("")
    for line in diagnosis.answer.lines():
        say(line)
    say(f"\nreport in {Path(out, 'report.html')}")
    if arguments.json:
        print_result(arguments, out, to_plain(diagnosis))


COMMAND = Command(
    "diagnose",
    "say whether learned variances can be trusted: calibration, coverage, ranks, in one report",
    _add_arguments,
    _run,
    less_memory="--quick or a smaller --engine",
)
