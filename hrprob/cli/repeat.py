"""``hrprob repeat``: play a run again from its manifest, and compare."""

from __future__ import annotations

import argparse
import sys

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import print_result, printer, shows_progress
from hrprob.cli.shared import (
    Command,
    add_import,
    add_json,
    add_out,
    add_quiet,
    add_trust,
    import_modules,
    named_as_options,
)

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="result of `hrprob run`, or its manifest.json")
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="NUMBER",
        default=1e-6,
        help="largest relative difference if versions or the processor differ (%(default)s); otherwise every bit counts",
    )
    add_trust(parser)
    add_out(parser, "folder for repetition.json, what was compared, if the two agree", "nothing is written")
    add_quiet(parser, "no progress and no report")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    import_modules(arguments.modules)
    from hrprob._core.errors import InvalidInput
    from hrprob.comparison.repeat import repeat
    from hrprob.io.numbers import numbers_folder

    with (
        named_as_options("tolerance"),
        numbers_folder(arguments.out, "repeat", "repetition.json", sys.argv) as write,
    ):
        repetition = repeat(
            arguments.folder,
            trust=arguments.trust,
            tolerance=arguments.tolerance,
            progress=shows_progress(arguments),
        )
        lines = repetition.in_words()
        if not repetition.agrees:
            raise InvalidInput("DIR", "must be what its manifest gives", arguments.folder, "; ".join(lines))
        write(repetition.to_plain())
    for line in lines:
        printer(arguments)(line)
    print_result(arguments, arguments.out, repetition.to_plain(), lines)


COMMAND = Command(
    "repeat", "play a run again from its manifest, and compare bit for bit", _add_arguments, _run
)
