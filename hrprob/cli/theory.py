"""``hrprob theory``: every inequality of the paper on data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_answer, print_result, printer, progress_printer
from hrprob.cli.shared import Command, add_json, add_out, add_quiet, named_as_options, result_folder

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_out(parser, "folder for the report", "results/theory, replacing an earlier result")
    parser.add_argument(
        "--seed", type=int, metavar="N", default=0, help="seed of all random numbers (%(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="few replications: to see that it works")
    add_quiet(parser, "no progress and no verdicts")
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, "the experiments"):
        prepare_jax()
        from hrprob.theory.page import answer_of
        from hrprob.theory.report import to_plain, write_theory

    out = result_folder(arguments)
    with named_as_options("seed"):
        theory = write_theory(
            out,
            quick=arguments.quick,
            seed=arguments.seed,
            command=sys.argv,
            say=progress_printer(arguments),
        )
    print_answer(printer(arguments), answer_of(theory), Path(out, "report.html"))
    if arguments.json:
        print_result(arguments, out, to_plain(theory))


COMMAND = Command(
    "theory",
    "look at every inequality of the paper on data: how tight it is, how often it fails",
    _add_arguments,
    _run,
    less_memory="--quick",
)
