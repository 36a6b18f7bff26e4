"""What several commands share: options, the names of options in error messages, and printing."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = [
    "SIZES",
    "Command",
    "add_import",
    "add_sizes",
    "import_modules",
    "named_as_options",
    "print_text",
    "printer",
    "shows_progress",
]

SIZES = ("users", "trials", "seed")
"""Options that replace what a configuration says."""


class Command(NamedTuple):
    """A command: what it is for, its arguments, and the function that runs it."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    less_memory: str = "fewer trials"  # what to try when there is too little memory


def add_sizes(parser: argparse.ArgumentParser, **meanings: str) -> None:
    """Add integer options such as ``--users``, each with its help text."""
    for name, meaning in meanings.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=meaning)


def add_import(parser: argparse.ArgumentParser) -> None:
    """Add ``--import MODULE``."""
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module first, for what it registers; may be given more than once",
    )


def import_modules(modules: list[str]) -> None:
    """Import the modules of ``--import``, which may lie in the current folder."""
    from hrprob._core.errors import InvalidInput

    if modules and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    for name in modules:
        must = "must be a module that can be imported"
        if not all(part.isidentifier() for part in name.split(".")):
            raise InvalidInput("--import", must, name, "give its name, not its file: package.module")
        try:
            importlib.import_module(name)
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:
            # Whatever a third-party module does when it is imported, the error is in that module.
            raise InvalidInput("--import", must, name, f"{type(error).__name__}: {error}") from None


@contextlib.contextmanager
def named_as_options(*names: str, **options: str) -> Iterator[None]:
    """Let an error about one of these fields name the option that was typed: ``--users``, ``--most-trials``.

    Parameters
    ----------
    names : str
        Fields whose options have the same name. A field inside one of them keeps its path:
        ``engine.particles`` becomes ``--engine.particles``.
    options : str
        Options by field, where their names differ.
    """
    from hrprob._core.errors import InvalidInput

    try:
        yield
    except InvalidInput as error:
        if error.field in options:
            option = options[error.field]
        elif error.field.partition(".")[0] in names:
            option = error.field.replace("_", "-")
        else:
            raise
        raise InvalidInput(f"--{option}", error.must, error.got, error.remedy) from None


def print_text(text: str) -> None:
    """Print to stdout; characters that the terminal's encoding lacks are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding))


def printer(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that prints a line, or does nothing with ``--quiet``."""
    return (lambda line: None) if arguments.quiet else print_text


def shows_progress(arguments: argparse.Namespace) -> bool:
    """Say whether to show a progress bar: on a terminal, without ``--quiet``."""
    return sys.stderr.isatty() and not arguments.quiet
