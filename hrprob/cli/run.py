"""``hrprob run``: play the policies of a configuration and write the results."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer, shows_progress
from hrprob.cli.shared import (
    SIZES,
    Command,
    add_import,
    add_json,
    add_keep,
    add_out,
    add_quiet,
    add_resume,
    add_sizes,
    import_modules,
    named_as_options,
    result_folder,
)
from hrprob.plot.drawing import BeginDrawing, drawing_process

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration, a TOML file")
    add_out(parser, "folder for the results", "results/run/NAME for NAME.toml, replacing an earlier result")
    add_sizes(
        parser,
        users="users who arrive, T; by default as in FILE",
        trials="independent trials; by default as in FILE",
        seed="seed of all random numbers; by default as in FILE",
    )
    add_keep(parser, "results.nc")
    add_resume(parser)
    add_quiet(parser, "no progress and no table")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    with contextlib.ExitStack() as beside:
        draw = None
        # Where no other process can be started, this one draws.
        with contextlib.suppress(OSError):
            draw = beside.enter_context(drawing_process()) if arguments.own_process else None
        _play(arguments, draw)


def _play(arguments: argparse.Namespace, draw: BeginDrawing | None) -> None:
    started = time.perf_counter(), time.process_time()
    with loading(arguments, arguments.file):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob.io import config
        from hrprob.io.run import run_experiment
        from hrprob.io.summary import run_notes, summary, summary_table

        experiment = config.read(arguments.file)
    given = {name: getattr(arguments, name) for name in SIZES if getattr(arguments, name) is not None}
    with named_as_options(*SIZES):
        experiment = experiment.replace(**given)
    out = result_folder(arguments, arguments.file)
    with named_as_options("keep"):
        dataset = run_experiment(
            experiment,
            out,
            keep=arguments.keep,
            command=sys.argv,
            started=started,
            resume=arguments.resume,
            progress=shows_progress(arguments),
            modules=arguments.modules,
            draw=draw,
        )
    say = printer(arguments)
    entries, remarks = summary(dataset), run_notes(dataset, experiment.problem)
    say(str(summary_table(entries, experiment.users, experiment.trials, experiment.problem.objective.unit)))
    for remark in remarks:
        say(remark)
    say(f"\nresults in {out}")
    print_result(arguments, out, entries, remarks)


COMMAND = Command(
    "run",
    "play the policies of a configuration and write the results",
    _add_arguments,
    _run,
    less_memory="fewer trials or --keep 1000",
)
