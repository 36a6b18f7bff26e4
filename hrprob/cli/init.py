"""``hrprob init``: write a configuration to start from."""

from __future__ import annotations

import argparse

from hrprob.cli.printing import loading, printer
from hrprob.cli.shared import Command, add_quiet, named_as_options

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="experiment.toml",
        help="the new file (%(default)s); one that exists is not replaced",
    )
    add_quiet(parser, "print nothing")
    parser.set_defaults(json=False)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, "policies"):
        from hrprob.io.template import write_template

    with named_as_options(path="FILE"):
        write_template(arguments.file)
    say = printer(arguments)
    say(f"{arguments.file} is a configuration with comments; change it, then: hrprob run {arguments.file}")


COMMAND = Command("init", "write a configuration with comments, to start from", _add_arguments, _run)
