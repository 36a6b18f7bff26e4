"""``hrprob describe``: describe any kind that a configuration can name, with its parameters."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from hrprob.cli.printing import print_json, print_text
from hrprob.cli.shared import Command, add_import, add_json, import_modules, named_as_options

if TYPE_CHECKING:
    from hrprob.kinds import Description

__all__ = ["COMMAND", "kinds_of", "print_descriptions"]

_WIDTH = 100


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    family = parser.add_argument(
        "family",
        metavar="FAMILY",
        nargs="?",
        help="policies, contexts, levels, noises, objectives, links, engines, models, priors, radii, "
        "predictives, checks or diagnostics; by default all of them, by name",
    )
    kind = parser.add_argument(
        "kind", metavar="KIND", nargs="?", help="one kind, in full; by default all, in brief"
    )
    # What argcomplete offers in the shell.
    family.completer = lambda **_: list(_families())  # type: ignore[attr-defined]
    kind.completer = lambda parsed_args, **_: kinds_of(parsed_args.family)  # type: ignore[attr-defined]
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    import_modules(arguments.modules)
    from hrprob.kinds import FAMILIES, describe

    if arguments.family is not None:
        with named_as_options(name="FAMILY", kind="KIND"):
            described = describe(arguments.family, arguments.kind)
        print_descriptions(described, arguments)
        return
    if arguments.json:
        print_json({name: [kind.to_plain() for kind in describe(name)] for name in FAMILIES})
        return
    for name, (_, _, place) in FAMILIES.items():
        print_text(f"{name} ({place})")
        for kind in describe(name):
            print_text(f"    {kind.kind}")


def kinds_of(family: str | None) -> list[str]:
    """Return the kinds of a family, for completion in the shell; none where there is no such family."""
    from hrprob import kinds

    return list(kinds.family(family)) if family in kinds.FAMILIES else []


def _families() -> list[str]:
    from hrprob.kinds import FAMILIES

    return list(FAMILIES)


def print_descriptions(kinds: list[Description], arguments: argparse.Namespace) -> None:
    """Print kinds with their parameters: one in full, several in brief, or as JSON."""
    if arguments.json:
        print_json([kind.to_plain() for kind in kinds])
        return
    for kind in kinds:
        _print_in_full(kind) if arguments.kind is not None else _print_in_brief(kind)


def _print_in_brief(kind: Description) -> None:
    from hrprob._core.docstrings import plain_text

    print_text(f"{kind.kind}\n    {plain_text(kind.description)}")
    for parameter in kind.parameters:
        text = parameter.default_text
        given = parameter.required or parameter.default is None
        print_text(f"    {parameter.name} " + (f"({text})" if given else f"= {text}"))


def _print_in_full(kind: Description) -> None:
    from hrprob._core.docstrings import plain_text

    print_text(f"{kind.kind} ({kind.name} in Python)")
    for paragraph in (kind.description, *kind.text.split("\n\n")):
        if paragraph:
            _print_wrapped(plain_text(paragraph), "    ")
    for parameter in kind.parameters:
        print_text(f"\n    {parameter.name} : {parameter.type}, {_default(parameter.default_text)}")
        _print_wrapped(plain_text(parameter.meaning), "        ")
    if kind.references:
        print_text("\n    references")
    for reference in kind.references:
        _print_wrapped(plain_text(reference), "        ")


def _default(text: str) -> str:
    return text if text in ("required", "optional") else f"default {text}"


def _print_wrapped(text: str, indent: str) -> None:
    print_text(textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent))


COMMAND = Command(
    "describe", "describe any kind that a configuration can name, with its parameters", _add_arguments, _run
)
