"""``hrprob policies``: describe the policies that a configuration can name."""

from __future__ import annotations

import argparse

from hrprob.cli.describe import kinds_of, print_descriptions
from hrprob.cli.shared import Command, add_import, add_json, import_modules, named_as_options

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    kind = parser.add_argument("kind", metavar="NAME", nargs="?", help="one policy, in full; by default all")
    # What argcomplete offers in the shell.
    kind.completer = lambda **_: kinds_of("policies")  # type: ignore[attr-defined]
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    import_modules(arguments.modules)
    from hrprob.kinds import describe

    with named_as_options(kind="NAME"):
        described = describe("policies", arguments.kind)
    print_descriptions(described, arguments)


COMMAND = Command("policies", "describe the policies that a configuration can name", _add_arguments, _run)
