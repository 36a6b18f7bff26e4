"""``hrprob theory``: every inequality of the paper on data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.shared import Command, named_as_options, printer

__all__ = ["COMMAND"]

_MARKS = {True: "✓", False: "✗", None: "·"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="DIR", default="results/theory", help="folder for the report (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", default=0, help="seed of all random numbers (%(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="few replications: to see that it works")
    parser.add_argument("--quiet", action="store_true", help="no verdicts")


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    from hrprob.theory.page import verdicts_in_words
    from hrprob.theory.report import write_theory

    say = printer(arguments)
    with named_as_options("seed"):
        theory = write_theory(
            arguments.out, quick=arguments.quick, seed=arguments.seed, command=sys.argv, say=say
        )
    say("")
    for good, words in verdicts_in_words(theory):
        say(f"  {_MARKS[good]} {words}")
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


COMMAND = Command(
    "theory",
    "look at every inequality of the paper on data: how tight it is, how often it fails",
    _add_arguments,
    _run,
    less_memory="--quick",
)
