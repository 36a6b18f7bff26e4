"""``hrprob reproduce``: the paper's figures, compared with the published curves."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_answer, print_result, printer, progress_printer, shows_progress
from hrprob.cli.shared import (
    SIZES,
    Command,
    add_json,
    add_out,
    add_quiet,
    add_resume,
    add_scheduler,
    add_sizes,
    named_as_options,
    result_folder,
)

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--panel",
        dest="panels",
        action="append",
        choices=("a", "b", "c", "d", "index"),
        help="only this panel; may be given more than once",
    )
    add_out(parser, "folder for all results", "results/reproduce, where finished parts are reused")
    add_sizes(parser, users="users instead of 30000", trials="trials instead of 20", seed="seed instead of 0")
    parser.add_argument("--quick", action="store_true", help="few users and trials: to see that it works")
    add_scheduler(parser)
    add_resume(parser)
    add_quiet(parser, "no progress and no verdicts")
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, "the experiments"):
        prepare_jax()
        from hrprob.reproduce.parts import PANELS
        from hrprob.reproduce.play import reproduce

    out = result_folder(arguments)
    with named_as_options("scheduler", *SIZES):
        reproduction = reproduce(
            out,
            panels=arguments.panels or PANELS,
            users=arguments.users,
            trials=arguments.trials,
            seed=arguments.seed,
            quick=arguments.quick,
            resume=arguments.resume,
            scheduler=arguments.scheduler,
            prepare=prepare_jax,
            say=progress_printer(arguments),
            progress=shows_progress(arguments),
        )
    print_answer(printer(arguments), reproduction.answer, Path(out, "report.html"))
    print_result(arguments, out, reproduction.to_dict())


COMMAND = Command(
    "reproduce", "play the paper's figures and compare them with the published curves", _add_arguments, _run
)
