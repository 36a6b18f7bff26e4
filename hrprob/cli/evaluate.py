"""``hrprob evaluate``: what logged rounds say about a policy that did not serve them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer
from hrprob.cli.shared import (
    Command,
    add_import,
    add_json,
    add_out,
    add_quiet,
    import_modules,
    named_as_options,
)

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log", metavar="LOG", help="a CSV file with one line per round, or an agent's log (.jsonl)"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        required=True,
        help="what to evaluate: a policy, which learns from the first stays; a name, or a table of TOML",
    )
    parser.add_argument(
        "--learn",
        type=float,
        metavar="SHARE",
        default=0.5,
        help="share of the stays it learns from (%(default)s)",
    )
    parser.add_argument(
        "--objective", metavar="NAME", default="lifetime", help="lifetime or reward (%(default)s)"
    )
    parser.add_argument(
        "--horizon", type=int, metavar="N", help="count the first N rounds of a stay; by default all"
    )
    parser.add_argument(
        "--level", type=float, metavar="P", default=0.95, help="level of the intervals (%(default)s)"
    )
    parser.add_argument(
        "--draws",
        type=int,
        metavar="N",
        default=256,
        help="selections per user that give a policy's probabilities (%(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", default=0, help="seed of all random numbers (%(default)s)"
    )
    add_out(parser, "folder for evaluation.json, the numbers of --json", "nothing is written")
    add_import(parser)
    add_quiet(parser, "no table")
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    import_modules(arguments.modules)
    with loading(arguments, "the policy"):
        prepare_jax()
        from hrprob._core.tables import kind_or_table
        from hrprob.io.numbers import numbers_folder
        from hrprob.live.evaluation.evaluate import evaluate

    names = ("policy", "learn", "objective", "horizon", "level", "draws", "seed")
    with (
        named_as_options(*names, log="LOG", data="LOG"),
        numbers_folder(arguments.out, "evaluate", "evaluation.json", sys.argv) as write,
    ):
        policy = kind_or_table("--policy", arguments.policy)
        given = {name: getattr(arguments, name) for name in names[1:]}
        evaluation = evaluate(arguments.log, policy, **given)
        write(evaluation.to_plain())
    say = printer(arguments)
    say(str(evaluation))
    if arguments.out is not None:
        say(f"\nnumbers in {Path(arguments.out, 'evaluation.json')}")
    print_result(arguments, arguments.out, evaluation.to_plain())


COMMAND = Command(
    "evaluate",
    "estimate a policy's lifetime or reward from rounds that somebody else served",
    _add_arguments,
    _run,
    less_memory="a shorter log",
)
