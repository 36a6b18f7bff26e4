"""``hrprob frontier``: what inference costs, the regret of policies beside the coverage of intervals from their data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_answer, print_result, printer, progress_printer
from hrprob.cli.shared import (
    SIZES,
    Command,
    add_import,
    add_json,
    add_out,
    add_quiet,
    add_sizes,
    import_modules,
    named_as_options,
    result_folder,
)

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration, a TOML file; its policies are played")
    add_out(
        parser, "folder for the report", "results/frontier/NAME for NAME.toml, replacing an earlier result"
    )
    add_sizes(
        parser,
        users="users who arrive, T; by default as in FILE",
        trials="independent trials; by default as in FILE, and some hundred are needed for a verdict",
        seed="seed of all random numbers; by default as in FILE",
    )
    parser.add_argument(
        "--level",
        type=float,
        default=0.9,
        metavar="P",
        help="nominal coverage of the intervals (%(default)s)",
    )
    for option, what in (("scales", "scales of Thompson's posterior"), ("radii", "radii ξ of HR-UCB")):
        parser.add_argument(
            f"--{option}",
            type=float,
            nargs="*",
            metavar="X",
            help=f"{what} to add as a dial; without numbers none, by default four",
        )
    add_quiet(parser, "no progress and no table")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, arguments.file):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob.comparison.frontier.dials import RADII, SCALES
        from hrprob.comparison.frontier.report import to_plain, write_frontier
        from hrprob.comparison.frontier.summary import answer_of, frontier_table
        from hrprob.io import config

        experiment = config.read(arguments.file)
    given = {name: getattr(arguments, name) for name in SIZES if getattr(arguments, name) is not None}
    with named_as_options(*SIZES, "level", "scales", "radii"):
        experiment = experiment.replace(**given)
        out = result_folder(arguments, arguments.file)
        result = write_frontier(
            experiment,
            out,
            scales=SCALES if arguments.scales is None else arguments.scales,
            radii=RADII if arguments.radii is None else arguments.radii,
            level=arguments.level,
            command=sys.argv,
            say=progress_printer(arguments),
        )
    say = printer(arguments)
    say(str(frontier_table(result)))
    print_answer(say, answer_of(result), Path(out, "report.html"))
    if arguments.json:
        print_result(arguments, out, to_plain(result))


COMMAND = Command(
    "frontier",
    "what inference costs: regret of policies beside the coverage of intervals from their data",
    _add_arguments,
    _run,
)
