"""``hrprob reproduce``: the paper's figures, compared with the published curves."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.shared import SIZES, Command, add_sizes, named_as_options, printer, shows_progress

__all__ = ["COMMAND"]

_MARKS = {True: "✓", False: "✗", None: "?"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--panel",
        dest="panels",
        action="append",
        choices=("a", "b", "c", "d", "index"),
        help="only this panel; may be given more than once",
    )
    parser.add_argument(
        "--out", metavar="DIR", default="results/reproduce", help="folder for all results (%(default)s)"
    )
    add_sizes(parser, users="users instead of 30000", trials="trials instead of 20", seed="seed instead of 0")
    parser.add_argument("--quick", action="store_true", help="few users and trials: to see that it works")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no verdicts")


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    from hrprob.reproduce.parts import PANELS
    from hrprob.reproduce.play import reproduce

    say = printer(arguments)
    with named_as_options(*SIZES):
        reproduction = reproduce(
            arguments.out,
            panels=arguments.panels or PANELS,
            users=arguments.users,
            trials=arguments.trials,
            seed=arguments.seed,
            quick=arguments.quick,
            say=say,
            progress=shows_progress(arguments),
        )
    for good, words in reproduction.verdicts():
        say(f"  {_MARKS[good]} {words}")
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


COMMAND = Command(
    "reproduce", "play the paper's figures and compare them with the published curves", _add_arguments, _run
)
