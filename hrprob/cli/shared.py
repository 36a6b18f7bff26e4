"""What several commands share: options, the names of options in error messages."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "SIZES",
    "Command",
    "add_import",
    "add_json",
    "add_keep",
    "add_out",
    "add_quiet",
    "add_resume",
    "add_scheduler",
    "add_sizes",
    "add_trust",
    "import_modules",
    "named_as_options",
    "own_kinds",
    "result_folder",
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


def add_out(parser: argparse.ArgumentParser, meaning: str, default: str) -> None:
    """Add ``--out DIR``, the folder that a command writes, with what it is by default in words."""
    parser.add_argument("--out", metavar="DIR", help=f"{meaning}; by default {default}")


def result_folder(arguments: argparse.Namespace, name: str = "") -> str:
    """Return the folder of ``--out``; by default results/COMMAND, and in it one named like the file or folder ``name``.

    Examples
    --------
    >>> result_folder(argparse.Namespace(command="run", out=None), "experiments/paper.toml")
    'results/run/paper'
    """
    if arguments.out is not None:
        return str(arguments.out)
    place = Path(name).resolve()
    own = [place.name if place.is_dir() else place.stem] if name else []
    return "/".join(["results", str(arguments.command), *own])


def add_quiet(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add ``--quiet``, with what is not printed then."""
    parser.add_argument("--quiet", action="store_true", help=meaning)


def own_kinds(folder: str) -> str:
    """Return the kinds that the modules of a folder of the package register, separated by commas.

    They are read from the text of the modules: importing these would load JAX, which help texts must not wait for.

    Examples
    --------
    >>> own_kinds("models/priors")
    'gaussian, uniform, with-intercept'
    """
    modules = Path(__file__).parents[1].joinpath(folder).glob("*.py")
    found = (
        re.findall(r'^@(?:\w+\.)?register\("(.+?)"', module.read_text("utf-8"), re.M) for module in modules
    )
    return ", ".join(sorted(kind for kinds in found for kind in kinds))


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


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Add ``--resume``."""
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with what an interrupted call of the same command left unfinished",
    )


def add_keep(parser: argparse.ArgumentParser, where: str) -> None:
    """Add ``--keep``, which users the result has, and in which file."""
    parser.add_argument(
        "--keep",
        type=_keep,
        default="auto",
        metavar="WHICH",
        help=f'users to keep in {where}: "all", each N-th, or as many as fit ("auto", the default)',
    )


def _keep(text: str) -> str | int:
    if text in ("auto", "all"):
        return text
    # More digits than any number of users has.
    if text.isascii() and text.isdecimal() and len(text) <= 18 and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f'must be "auto", "all" or a whole number from 1 on, got {text!r}')


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add ``--scheduler``."""
    parser.add_argument(
        "--scheduler",
        metavar="WHERE",
        help="where to compute, with Dask: local (a process per core here), local:N, or the address of a cluster's "
        "scheduler, tcp://host:8786; by default in this process. The results are the same",
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add ``--trust``."""
    parser.add_argument(
        "--trust", action="store_true", help="run functions of your own that a result's manifest names"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON, for programs")


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
        Options by field, where their names differ; in capitals the name of an argument, ``FILE``.

    What stands in backticks in the remedy is renamed too: ``scale`` becomes ``--scale``.
    """
    from hrprob._core.errors import InvalidInput

    def typed(field: str) -> str | None:
        if field in options:
            return options[field] if options[field].isupper() else f"--{options[field]}"
        return f"--{field.replace('_', '-')}" if field.partition(".")[0] in names else None

    try:
        yield
    except InvalidInput as error:
        remedy = re.sub(r"`([\w.]+)`", lambda found: f"`{typed(found[1]) or found[1]}`", error.remedy)
        field = typed(error.field)
        if field is None and remedy == error.remedy:
            raise
        renamed = InvalidInput(field or error.field, error.must, error.got, remedy)
        renamed.__notes__ = list(getattr(error, "__notes__", ()))
        raise renamed from None
