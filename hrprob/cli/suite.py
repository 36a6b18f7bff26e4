"""``hrprob suite``: play a suite of problems and rank the policies over all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrprob.cli.compare import print_report
from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.shared import SIZES, Command, add_sizes, named_as_options, printer, shows_progress

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="only this problem; may be given more than once"
    )
    parser.add_argument(
        "--out", metavar="DIR", default="results/suite", help="folder for all results (%(default)s)"
    )
    add_sizes(
        parser,
        users="users who arrive, instead of the files' number",
        trials="trials, instead of the files' number",
        seed="seed, instead of the files'",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no tables")


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    from hrprob.comparison.play import play_suite

    say = printer(arguments)
    with named_as_options("only", *SIZES):
        report = play_suite(
            arguments.out,
            only=arguments.only,
            users=arguments.users,
            trials=arguments.trials,
            seed=arguments.seed,
            say=say,
            progress=shows_progress(arguments),
        )
    print_report(report, say, pairs=False)
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


COMMAND = Command(
    "suite", "play a suite of problems and rank the policies over all of them", _add_arguments, _run
)
