"""The reference of the command line, made from its parser: ``{commands}`` in a page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hrprob.cli.main import make_parser


def subparsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command."""
    actions = make_parser()._actions
    return next(dict(one.choices) for one in actions if isinstance(one, argparse._SubParsersAction))


def section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of a command's section."""
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=80)
    yield from (f"(command-{name})=", f"## `hrprob {name}`", "", _sentence(parser.description or ""), "")
    yield from ("```text", *parser.format_usage().removeprefix("usage: ").splitlines(), "```", "")
    yield from ("| argument | meaning |", "|---|---|")
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
            continue
        yield f"| {_typed(action)} | {_meaning(parser, action)} |"
    yield ""


def _typed(action: argparse.Action) -> str:
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    value = " ".join(value) if isinstance(value, tuple) else value
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{f'{option} {value}'.strip()}`" for option in action.option_strings)


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    text = " ".join(text.split()).replace("|", r"\|").replace("*", r"\*").replace("_", r"\_")
    return text + (" (required)" if action.required and action.option_strings else "")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


class Commands(SphinxDirective):
    """``{commands}``: a section for every command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        lines = [line for name, parser in subparsers().items() for line in section(name, parser)]
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, "<commands>"), 0, node, match_titles=True)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
