"""``hrprob suite``: play a suite of problems and rank the policies over all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrprob.cli.compare import print_report
from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer, progress_printer, shows_progress
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
)

__all__ = ["COMMAND"]

_OUT, _HELD_OUT = "results/suite", "results/held-out"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        help="only this problem; may be given more than once (d32, a large one, is played by name only)",
    )
    parser.add_argument(
        "--held-out",
        type=int,
        metavar="N",
        help="instead of the suite, N random problems on which no policy was chosen",
    )
    add_out(
        parser, "folder for all results", f"{_OUT}, with --held-out {_HELD_OUT}; finished parts are reused"
    )
    add_sizes(
        parser,
        users="users who arrive, instead of the files' number",
        trials="trials, instead of the files' number",
        seed="seed, instead of the files'",
    )
    add_scheduler(parser)
    add_resume(parser)
    add_quiet(parser, "no progress and no tables")
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, "the suite"):
        prepare_jax()
        from hrprob.comparison.play import play_suite

    say = printer(arguments)
    out = arguments.out or (_OUT if arguments.held_out is None else _HELD_OUT)
    with named_as_options("only", "held_out", "scheduler", *SIZES):
        report = play_suite(
            out,
            only=arguments.only,
            held_out=arguments.held_out,
            users=arguments.users,
            trials=arguments.trials,
            seed=arguments.seed,
            resume=arguments.resume,
            scheduler=arguments.scheduler,
            prepare=prepare_jax,
            say=progress_printer(arguments),
            progress=shows_progress(arguments),
        )
    print_report(report, say, pairs=False)
    say(f"\nreport in {Path(out, 'report.html')}")
    print_result(arguments, out, report.to_dict())


COMMAND = Command(
    "suite", "play a suite of problems and rank the policies over all of them", _add_arguments, _run
)
