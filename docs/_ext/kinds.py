"""The reference of configuration keys, made from the registries: ``{kinds} FAMILY`` in a page.

Every kind has a heading, a table of its keys (type, default, meaning) and an example that has all of them. What is
said there stands in the docstrings; what the examples need besides (a key without a default) stands here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hrprob._core.tables import to_toml
from hrprob.kinds import Description, Parameter, describe, family

# Where a configuration names a kind of a family: a table of its own, or one key of another table.
_HEADERS = {"policies": "[[policy]]"}
_KEYS = {
    "contexts": ("[problem]", "contexts"),
    "levels": ("[problem]", "satisfaction"),
    "drifts": ("[problem]", "drift"),
    "noises": ("[problem]", "noise"),
    "objectives": ("[problem]", "objective"),
    "links": ("[problem]", "link"),
    "engines": ("[[policy]]", "engine"),
    "models": ("[[policy]]", "model"),
    "priors": ("[[policy]]", "prior"),
    "radii": ("[[policy]]", "radius"),
}
# Where a Python program names a kind of a family that configurations do not name.
_CALLS = {"predictives": "hrprob.LikelihoodRatioSet(predictive={})"}

EXAMPLES: dict[tuple[str, str], Any] = {
    ("finite", "sets"): "sets.csv",
    ("function", "function"): "module:name",
    ("function", "actions"): 20,
    ("function", "low"): -1.0,
    ("function", "high"): 1.0,
    ("sequence", "users"): "contexts.csv",
    ("sequence", "levels"): "levels.csv",
    ("sequence", "sha256"): "0f3a...",
    ("empirical", "levels"): [-0.5, 0.0, 0.25],
    ("", "growth"): 5.0,
    ("", "noise"): {"kind": "student-t", "df": 5.0},
    ("", "objective"): "reward",
    ("", "satisfaction"): {"kind": "hidden", "of": {"kind": "uniform", "low": -1.0, "high": 1.0}},
    ("", "discount"): 0.998,
    ("", "window"): 1000.0,
    ("", "refit"): 1.2,
    ("", "moves"): 4,
    ("", "xi"): 2.0,
    ("", "variance_max"): 4.0,
    ("", "explore"): 500,
    ("ensemble-sampling", "members"): 40,
    ("", "temper"): 0.5,
}
"""Values for keys that have no default, by kind and key; with the kind "" for every kind."""


def example_value(kind: str, parameter: Parameter) -> Any:
    """Return a value that the example of a kind shows for one of its keys."""
    if not parameter.required and parameter.default is not None:
        return parameter.default
    value = EXAMPLES.get((kind, parameter.name), EXAMPLES.get(("", parameter.name)))
    if value is None:
        raise LookupError(f"docs/_ext/kinds.py needs an example for {kind}.{parameter.name}")
    return value


def example(entry: Description) -> str:
    """Return a piece of a configuration that has every key of a kind; keys without a default are commented out.

    Of a family that configurations do not name, it is a call in Python.
    """
    if entry.family in _HEADERS:
        lines = [_HEADERS[entry.family], f'kind = "{entry.kind}"']
        for one in entry.parameters:
            optional = "# " if one.default is None and not one.required else ""
            lines.append(f"{optional}{one.name} = {to_toml(example_value(entry.kind, one))}")
        return "\n".join(lines)
    values = {one.name: example_value(entry.kind, one) for one in entry.parameters}
    if entry.family in _CALLS:
        return _CALLS[entry.family].format(json.dumps({"kind": entry.kind, **values}))
    header, key = _KEYS[entry.family]
    table = to_toml({"kind": entry.kind, **values}) if values else to_toml(entry.kind)
    return f"{header}\n{key} = {table}"


def to_markdown(text: str) -> str:
    """Return text of a docstring, in reStructuredText, as MyST Markdown."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(r":(class|func|mod|meth|data|attr|obj):`([^`]*)`", r"{py:\1}@@\2@@", text)
    text = re.sub(r" ?\[\d+\]_", "", text)
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("@@", "`")


def in_a_cell(text: str) -> str:
    """Return Markdown that fits into a cell of a table."""
    return " ".join(to_markdown(text).split()).replace("|", r"\|")


def anchor(family: str, kind: str) -> str:
    """Return the label of a kind's section."""
    return f"kind-{family}-{kind}"


def section(entry: Description) -> Iterator[str]:
    """Yield the lines of a kind's section."""
    yield from (f"({anchor(entry.family, entry.kind)})=", f"### `{entry.kind}`", "")
    cls = family(entry.family).get(entry.kind)
    python = f"{{py:class}}`{entry.name} <{cls.__module__}.{cls.__qualname__}>`"
    yield from (f"{to_markdown(entry.description)} In Python: {python}.", "")
    if entry.parameters:
        yield from ("| key | type | default | meaning |", "|---|---|---|---|")
        for one in entry.parameters:
            default = one.default_text if one.default is None or one.required else f"`{one.default_text}`"
            yield f"| `{one.name}` | {in_a_cell(one.type)} | {default} | {in_a_cell(one.meaning)} |"
        yield ""
    if entry.family in _HEADERS or entry.family in _KEYS:
        yield from ("```toml", *example(entry).splitlines(), "```", "")
    elif entry.family in _CALLS:
        yield from ("```python", example(entry), "```", "")
    for reference in entry.references:
        yield from (f"*{in_a_cell(reference)}*", "")


class Kinds(SphinxDirective):
    """``{kinds} FAMILY``: a section for every kind of a family."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        name = self.arguments[0]
        lines = [line for entry in describe(name) for line in section(entry)]
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, f"<kinds of {name}>"), 0, node, match_titles=True)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("kinds", Kinds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
