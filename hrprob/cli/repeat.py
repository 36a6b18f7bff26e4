"""``hrprob repeat``: play a run again from its manifest, and compare."""

from __future__ import annotations

import argparse

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import print_result, printer, shows_progress
from hrprob.cli.shared import (
    Command,
    add_import,
    add_json,
    add_quiet,
    add_trust,
    import_modules,
    named_as_options,
)

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="result of `hrprob run`, or its manifest.json; nothing is written"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="NUMBER",
        default=1e-6,
        help="largest relative difference if versions or the processor differ (%(default)s); otherwise every bit counts",
    )
    add_trust(parser)
    add_quiet(parser, "no progress and no report")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    import_modules(arguments.modules)
    from hrprob._core.errors import InvalidInput
    from hrprob.comparison.repeat import repeat

    with named_as_options("tolerance"):
        repetition = repeat(
            arguments.folder,
            trust=arguments.trust,
            tolerance=arguments.tolerance,
            progress=shows_progress(arguments),
        )
    lines = repetition.in_words()
    if not repetition.agrees:
        raise InvalidInput("DIR", "must be what its manifest gives", arguments.folder, "; ".join(lines))
    for line in lines:
        printer(arguments)(line)
    found = {name: one._asdict() for name, one in repetition.variables.items()}
    print_result(arguments, None, {"agrees": True, "variables": found}, lines)


COMMAND = Command(
    "repeat", "play a run again from its manifest, and compare bit for bit", _add_arguments, _run
)
