"""What commands print: lines, JSON, and progress on stderr."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob.simulation.progress import print_line

if TYPE_CHECKING:
    from hrprob.io.verdicts import Answer

__all__ = [
    "loading",
    "note",
    "print_answer",
    "print_json",
    "print_result",
    "print_text",
    "printer",
    "progress_printer",
    "shows_progress",
]

# Seconds after which a line says that a command is loading, where stderr is no terminal.
_LOADING_PAUSE = 0.5


def print_text(text: str) -> None:
    """Print a line; characters that the encoding of stdout lacks are replaced."""
    print_line(text, sys.stdout)


def print_json(data: object) -> None:
    """Print plain data as JSON; what JSON does not know is written as its text."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Escapes keep the data where the encoding lacks a character.
        text = json.dumps(data, indent=2, allow_nan=False, default=str)
    print(text)


def print_result(
    arguments: argparse.Namespace, out: object, result: object, notes: list[str] | None = None
) -> None:
    """Print the result of a command as JSON, if ``--json`` was given: its folder, its numbers, and notes on them."""
    if arguments.json:
        print_json({"out": None if out is None else str(out), "result": result, "notes": notes or []})


def print_answer(say: Callable[[str], None], answer: Answer, page: Path) -> None:
    """Print an answer, the first clause of at most five verdicts, and the page that has everything."""
    say("")
    for line in answer.lines(short=True):
        say(line)
    say(f"\nreport in {page}")


def printer(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that prints a line of the result, or does nothing with ``--quiet`` or ``--json``."""
    return (lambda line: None) if arguments.quiet or arguments.json else print_text


def progress_printer(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that prints a line about what is being done: on stderr with ``--json``, nowhere with ``--quiet``."""
    return (lambda line: note(arguments, line)) if arguments.json else printer(arguments)


def note(arguments: argparse.Namespace, line: str) -> None:
    """Print a line on stderr, unless ``--quiet`` was given."""
    if not arguments.quiet:
        print_line(line, sys.stderr)


@contextlib.contextmanager
def loading(arguments: argparse.Namespace, what: str) -> Iterator[None]:
    """Say what is being loaded if that takes long, as JAX does: on a terminal until the block ends, elsewhere as a line."""
    on_terminal = sys.stderr.isatty()
    line = threading.Timer(
        0.0 if on_terminal else _LOADING_PAUSE,
        lambda: print_line(f"loading {what} …", end="" if on_terminal else "\n"),
    )
    line.daemon = True
    if not arguments.quiet:
        line.start()
    try:
        yield
    finally:
        line.cancel()
        if on_terminal and not arguments.quiet:
            line.join()
            # Back to the first column, and clear the line.
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def shows_progress(arguments: argparse.Namespace) -> bool:
    """Say whether to show progress: a bar on a terminal, lines elsewhere, nothing with ``--quiet``."""
    return not arguments.quiet
