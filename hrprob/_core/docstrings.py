"""What numpydoc docstrings say of a class: its summary, its parameters and its references.

A parameter is looked up in the class and then in its bases, so that a class need not repeat what its base
says. An entry without a type ("ridge, eager" under "As for every policy on the GLSE") only refers to a base
and is passed over.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from typing import NamedTuple

__all__ = [
    "Entry",
    "complete_docstring",
    "parameters_of",
    "plain_text",
    "references_of",
    "sections",
    "summary_of",
    "text_of",
]

_ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: : (?P<type>.+))?")
# "default 5" and "optional" repeat what the signature says.
_DEFAULT = re.compile(r",? ?(?:default .*|optional)$")


class Entry(NamedTuple):
    """What a docstring says of one parameter."""

    type: str
    meaning: str


def sections(text: str | None) -> dict[str, str]:
    r"""Return the sections of a numpydoc docstring by their titles; the text before the first has the title "".

    Examples
    --------
    >>> sections('''Draw.
    ...
    ... Parameters
    ... ----------
    ... n : int
    ...     How many.
    ... ''')
    {'': 'Draw.', 'Parameters': 'n : int\n    How many.'}
    """
    lines = inspect.cleandoc(text or "").splitlines()
    found: dict[str, list[str]] = {"": []}
    title = ""
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", below) and len(below) >= len(line):
            title = line
            found[title] = []
        elif not (re.fullmatch(r"-{3,}", line) and number and lines[number - 1] == title):
            found[title].append(line)
    return {name: "\n".join(body).strip("\n") for name, body in found.items()}


def summary_of(cls: type) -> str:
    """Return the first line of a class's docstring."""
    return (inspect.getdoc(cls) or "").split("\n")[0]


def text_of(cls: type) -> str:
    """Return what a class's docstring says between its first line and its first section."""
    return sections(inspect.getdoc(cls))[""].partition("\n")[2].strip("\n")


def parameters_of(cls: type) -> dict[str, Entry]:
    """Return what the docstrings of a class and its bases say of each parameter; the class itself goes first.

    Examples
    --------
    >>> class Base:
    ...     '''A base.
    ...
    ...     Parameters
    ...     ----------
    ...     size : int, default 3
    ...         How large.
    ...     '''
    >>> class Derived(Base):
    ...     '''A class.
    ...
    ...     Parameters
    ...     ----------
    ...     color : {"red", "blue"}, optional
    ...         Which color.
    ...     size
    ...         As for the base.
    ...     '''
    >>> parameters_of(Derived)["size"]
    Entry(type='int', meaning='How large.')
    >>> parameters_of(Derived)["color"].type
    '{"red", "blue"}'
    """
    found: dict[str, Entry] = {}
    for base in cls.__mro__:
        for names, entry in _entries(sections(vars(base).get("__doc__")).get("Parameters", "")):
            for name in names:
                if entry.type:
                    found.setdefault(name, entry)
    return found


def references_of(cls: type) -> list[str]:
    """Return the references of a class's docstring, or of its module's where it has none itself."""
    module = sys.modules.get(cls.__module__)
    for text in (inspect.getdoc(cls), getattr(module, "__doc__", None)):
        cited = sections(text).get("References", "")
        if cited:
            return [" ".join(part.split()) for part in re.split(r"^\.\. \[\w+\] ", cited, flags=re.M)[1:]]
    return []


def plain_text(text: str) -> str:
    r"""Return text without the markup of docstrings, for a terminal.

    Examples
    --------
    >>> plain_text("``xi``, see :mod:`hrprob.policies.radii`; :math:`M_f`")
    'xi, see hrprob.policies.radii; M_f'
    """
    text = re.sub(r":[a-z]+:`~?([^`]*)`", r"\1", text)
    text = re.sub(r"\[\d+\]_", "", text)
    return " ".join(text.replace("``", "").split())


def _entries(body: str) -> list[tuple[list[str], Entry]]:
    """Return the entries of a section of parameters: their names, their type and their meaning."""
    found: list[tuple[list[str], str, list[str]]] = []
    for line in body.splitlines():
        heading = _ENTRY.fullmatch(line)
        if heading:
            kind = _DEFAULT.sub("", heading["type"] or "")
            found.append((heading["names"].split(", "), kind, []))
        elif found:
            found[-1][2].append(line)
    return [(names, Entry(kind, inspect.cleandoc("\n".join(text)))) for names, kind, text in found]


def complete_docstring(cls: type) -> None:
    """Add to a dataclass's docstring what its bases say of fields that it does not describe itself.

    ``help`` then shows every parameter with its type and meaning, and a class need not repeat its bases.

    Examples
    --------
    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Base:
    ...     '''A base.
    ...
    ...     Parameters
    ...     ----------
    ...     size : int, default 3
    ...         How large.
    ...     '''
    ...     size: int = 3
    >>> @dataclasses.dataclass
    ... class Derived(Base):
    ...     '''A class.'''
    >>> complete_docstring(Derived)
    >>> Derived.__doc__.splitlines()[-2:]
    ['size : int, default 3', '    How large.']
    """
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    if not text:
        return
    missing = {field.name for field in dataclasses.fields(cls) if field.init}
    chosen: list[str] = []
    for base in cls.__mro__:
        body = sections(vars(base).get("__doc__")).get("Parameters", "")
        for names, entry in _written_entries(body):
            if missing & names:
                chosen.append(entry)
                missing -= names
    own = sections(text).get("Parameters")
    section = f"Parameters\n----------\n{chr(10).join(chosen)}"
    if own is not None:
        cls.__doc__ = text.replace(f"Parameters\n----------\n{own}", section, 1)
    elif chosen:
        head, *rest = re.split(r"\n(?=[A-Z]\w+(?: \w+)?\n-{3,}\n)", text, maxsplit=1)
        cls.__doc__ = "\n\n".join([head.rstrip("\n"), section, *rest])


def _written_entries(body: str) -> list[tuple[set[str], str]]:
    """Return the entries that have a type, as they are written, with the names that each describes."""
    found: list[tuple[set[str], list[str]]] = []
    for line in body.splitlines():
        heading = _ENTRY.fullmatch(line)
        if heading:
            found.append((set(heading["names"].split(", ")) if heading["type"] else set(), []))
        if found:
            found[-1][1].append(line)
    return [(names, "\n".join(lines).rstrip("\n")) for names, lines in found if names]
