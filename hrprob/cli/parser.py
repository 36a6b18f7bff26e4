"""A parser that names the nearest command or option where one does not exist."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` whose errors say "did you mean ...?"."""

    def parse_args(  # type: ignore[override]  # the base class is overloaded
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the arguments; an unknown option ends the process with exit code 2."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            hint = _hint(unknown, list(sys.argv[1:] if args is None else args))
            self._command_parser(parsed).error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Print usage, the message and the nearest name, and end the process with exit code 2."""
        # This import loads NumPy, which --help must not wait for.
        from hrprob._core.errors import nearest

        for wrong, names in (*self._unknown_options(message), *_unknown_choice(message)):
            near = nearest(wrong, names)
            if near:
                message = f"{message}: {near}"
                break
        super().error("".join(sign if sign.isprintable() else "?" for sign in message))

    def _command_parser(self, parsed: argparse.Namespace) -> argparse.ArgumentParser:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found: argparse.ArgumentParser = action.choices.get(getattr(parsed, action.dest), self)
                return found
        return self

    def _unknown_options(self, message: str) -> list[tuple[str, list[str]]]:
        named = re.match("unrecognized arguments: ([^;]*)", message)
        options = list(self._option_string_actions)
        words = named[1].split() if named else []
        return [(word.partition("=")[0], options) for word in words if word.startswith("-")]


def _hint(unknown: Sequence[str], arguments: Sequence[str]) -> str:
    """Return how to write a list where its second entry stands alone; nothing where an option is unknown.

    Examples
    --------
    >>> _hint(["age"], ["fit", "--context", "dose", "age", "rounds.csv"])
    '; a list has commas and no spaces: --context dose,age'
    >>> _hint(["--oout"], ["fit", "--oout"])
    ''
    """
    for option in ("--context", "--compare"):
        if option in arguments:
            first = arguments.index(option) + 1
            after = list(
                itertools.takewhile(lambda word: word in unknown and word[:1] != "-", arguments[first + 1 :])
            )
            if after:
                return f"; a list has commas and no spaces: {option} {','.join([arguments[first], *after])}"
    return ""


def _unknown_choice(message: str) -> list[tuple[str, list[str]]]:
    """Return the choice that does not exist and those that do, from a message of argparse."""
    named = re.search(r"invalid choice: '?(.*?)'? \(choose from (.*)\)", message, flags=re.S)
    return [(named[1], [name.strip("'\" ") for name in named[2].split(",")])] if named else []
