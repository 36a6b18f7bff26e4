"""Tables of plain data, as a configuration contains them, and their checks."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from hrprob._core.errors import InvalidInput, nearest
from hrprob._core.types import Decoded

__all__ = [
    "NOTHING",
    "check_keys",
    "check_numbers",
    "given",
    "inside",
    "kind_or_table",
    "kinds_or_tables",
    "names_of",
    "nearest",
    "read_number",
    "required_of",
    "table_of",
    "to_toml",
    "within",
]

T = TypeVar("T")
V = TypeVar("V")


class _Nothing:
    """The value that an error message shows for a missing field."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()


def names_of(cls: type) -> list[str]:
    """Return the names of the fields from which a record is made."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def required_of(cls: type) -> list[str]:
    """Return the names of the fields that must be given: those without a default."""
    return [
        field.name
        for field in dataclasses.fields(cls)
        if field.init
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]


def given(table: Mapping[str, V]) -> dict[str, V]:
    """Return the fields that a table gives; one that is None counts as not given."""
    return {name: value for name, value in table.items() if value is not None}


def within(parent: str, make: Callable[[], T]) -> T:
    """Return ``make()``; an error that it raises names its field inside ``parent``."""
    try:
        return make()
    except InvalidInput as error:
        raise error.within(parent) from None


def kind_or_table(option: str, text: str) -> Decoded:
    """Return the kind that an option of the command line names, or the table that it contains in TOML.

    Examples
    --------
    >>> kind_or_table("--model", '{kind = "student-t", df = 6.0}')
    {'kind': 'student-t', 'df': 6.0}
    """
    if not text.lstrip().startswith("{"):
        return text
    must, remedy = "must be a name, or a table of TOML", "for example {kind = 'nuts', chains = 2}"
    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(option, must, text, f"{error}; {remedy}") from None
    if list(read) != ["value"]:
        raise InvalidInput(option, f"{must}, and nothing after it", text, remedy)
    return read["value"]


def kinds_or_tables(option: str, text: str) -> list[Decoded]:
    """Return the kinds and tables that an option of the command line lists, separated by commas.

    Examples
    --------
    >>> kinds_or_tables("--compare", 'mixture, {kind = "student-t", df = 3.0}')
    ['mixture', {'kind': 'student-t', 'df': 3.0}]
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[") - (character in "}]")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [kind_or_table(option, part.strip()) for part in parts]


def table_of(field: str, tables: Mapping[str, object], remedy: str) -> Mapping[str, Decoded]:
    """Return the table in ``tables`` whose key is the last part of ``field``, or raise."""
    table = tables.get(field.rpartition(".")[2])
    if table is None:
        raise InvalidInput(field, "must be given", NOTHING, remedy)
    if not isinstance(table, Mapping):
        raise InvalidInput(field, "must be a table", table, remedy)
    return table


def check_keys(field: str, table: Mapping[str, object], known: Iterable[str]) -> None:
    """Raise if a table has an unknown key, and name the nearest known one."""
    names = list(known)
    for key, value in table.items():
        if key not in names:
            remedy = nearest(key, names) or f"the keys here are {', '.join(names)}"
            raise InvalidInput(inside(field, key), "must be a known key", value, remedy)


def inside(field: str, key: str) -> str:
    """Return the name of ``key`` inside ``field``."""
    return f"{field}.{key}" if field else key


def check_numbers(field: str, value: object) -> None:
    """Raise if an entry of a nested list is a truth value or text, which NumPy would turn into a number."""
    if isinstance(value, list):
        for place, entry in enumerate(value, start=1):
            check_numbers(f"{field}[{place}]", entry)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, "must be a number", value, "write numbers without quotes")


def read_number(text: str) -> float:
    """Return the number that a cell of a CSV file holds, or raise ``ValueError``.

    Python's ``float`` also reads ``1_0`` and digits of other scripts, which no other program would.

    Examples
    --------
    >>> read_number("-1.5e3"), read_number("inf")
    (-1500.0, inf)
    >>> read_number("1_0")
    Traceback (most recent call last):
    ...
    ValueError: not a number: '1_0'
    """
    if not text.isascii() or "_" in text:
        raise ValueError(f"not a number: {text!r}")
    return float(text)


def to_toml(value: object) -> str:
    """Return plain data as a value of TOML; tables are written inline.

    Examples
    --------
    >>> print(to_toml({"kind": "uniform", "low": -1.0, "of": ["a", True]}))
    { kind = "uniform", low = -1.0, of = ["a", true] }
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {to_toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    # JSON writes numbers, truth values and text as TOML does.
    return json.dumps(value, ensure_ascii=False, default=str)
