"""What a registered class says of itself, as typed data: for listings, documentation and templates."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable
from typing import NamedTuple

from hrprob._core.docstrings import Entry, parameters_of, plain_text, references_of, summary_of, text_of
from hrprob._core.records import describe
from hrprob._core.tables import to_toml
from hrprob._core.types import Decoded

__all__ = ["Description", "Parameter", "describe_class", "short_toml", "values_as_html"]


# A table of hundreds of contexts is cut to its beginning.
_LONGEST_VALUE = 200
# What a docstring would say of a field that is annotated with one of these.
_IN_WORDS = {"AsWritten": "", "Integer": "int", "Number": "float", "Number | None": "float"}


class Parameter(NamedTuple):
    """One parameter of a kind.

    Attributes
    ----------
    name : str
        Its name, the key in a configuration.
    type : str
        Its type in words, as numpydoc writes it: ``float``, ``{"first", "informative"}``.
    default : object
        Its default as plain data, None where it may be left out, ``dataclasses.MISSING`` where it is required.
    meaning : str
        Its meaning, with the markup of docstrings.
    """

    name: str
    type: str
    default: Decoded
    meaning: str

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is dataclasses.MISSING

    @property
    def default_text(self) -> str:
        """The default as it would be written in a configuration; "required" or "optional" where there is none.

        Examples
        --------
        >>> Parameter("radius", "str", "released", "").default_text
        '"released"'
        >>> Parameter("xi", "float", None, "").default_text
        'optional'
        """
        if self.required:
            return "required"
        return "optional" if self.default is None else to_toml(self.default)

    def to_plain(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "type": self.type,
            "required": self.required,
            "default": None if self.required else self.default,
            "meaning": self.meaning,
        }


def short_toml(value: object) -> str:
    """Return a value as a configuration has it, cut where it is long; nothing where there is none.

    Examples
    --------
    >>> short_toml({"kind": "ball", "actions": 5}), len(short_toml(list(range(1000))))
    ('{ kind = "ball", actions = 5 }', 201)
    """
    text = "" if value is None else to_toml(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def values_as_html(title: str, described: Iterable[tuple[Parameter, object]]) -> str:
    """Return parameters with their values and meanings as a table, for notebooks."""
    head = "<tr><th>parameter</th><th>value</th><th>meaning</th></tr>"
    left = '<td style="text-align: left">'
    rows = "".join(
        f"<tr><td>{one.name}</td>{left}{html.escape(short_toml(value))}</td>"
        f"{left}{html.escape(plain_text(one.meaning))}</td></tr>"
        for one, value in described
    )
    return f"<p>{title}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


class Description(NamedTuple):
    """One kind of a family.

    Attributes
    ----------
    family, kind : str
        Its family and its kind.
    name : str
        The name of its class in Python.
    description : str
        The first line of its docstring.
    text : str
        The further paragraphs of its docstring.
    parameters : tuple of Parameter
        Its parameters, those that it has from its bases included.
    references : tuple of str
        The publications that it is from.
    """

    family: str
    kind: str
    name: str
    description: str
    text: str
    parameters: tuple[Parameter, ...]
    references: tuple[str, ...]

    def to_plain(self) -> dict[str, object]:
        """Return it as plain data."""
        return self._asdict() | {"parameters": [parameter.to_plain() for parameter in self.parameters]}


def describe_class(family: str, kind: str, cls: type) -> Description:
    """Return what a registered class says of itself; its own parameters come before those of its bases."""
    documented = parameters_of(cls)
    declared = [vars(base).get("__annotations__", {}) for base in cls.__mro__]
    fields = [field for field in dataclasses.fields(cls) if field.init]
    fields.sort(key=lambda field: [field.name in names for names in declared].index(True))
    return Description(
        family,
        kind,
        cls.__name__,
        summary_of(cls),
        text_of(cls),
        tuple(_parameter(field, documented.get(field.name)) for field in fields),
        tuple(references_of(cls)),
    )


def _parameter(field: dataclasses.Field[object], entry: Entry | None) -> Parameter:
    default = field.default
    if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    kind, meaning = (_IN_WORDS.get(str(field.type), str(field.type)), "") if entry is None else entry
    return Parameter(
        field.name, kind, default if default is dataclasses.MISSING else describe(default), meaning
    )
