"""Tables of plain data, as a configuration has them, and what is said of those that cannot be used."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from hrprob._core.errors import InvalidInput

__all__ = [
    "NOTHING",
    "check_keys",
    "check_numbers",
    "given",
    "inside",
    "kind_or_table",
    "names_of",
    "nearest",
    "required_of",
    "table_of",
    "within",
]

T = TypeVar("T")


class _Nothing:
    """What was got where a required field is missing."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()


def names_of(cls: type[Any]) -> list[str]:
    """Return the fields that a record is made from."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def required_of(cls: type[Any]) -> list[str]:
    """Return those of them that have no default."""
    return [
        field.name
        for field in dataclasses.fields(cls)
        if field.init
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]


def given(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a table gives: a field that is None counts as not given."""
    return {name: value for name, value in table.items() if value is not None}


def within(parent: str, make: Callable[[], T]) -> T:
    """Return what ``make`` makes; a complaint of it names its field inside ``parent``."""
    try:
        return make()
    except InvalidInput as error:
        raise error.within(parent) from None


def kind_or_table(option: str, text: str) -> Any:
    """Return a kind by its name, or the table of TOML that an option of the command line has in its place.

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
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(option, must, text, f"{error}; {remedy}") from None
    if list(read) != ["value"]:
        raise InvalidInput(option, f"{must}, and nothing after it", text, remedy)
    return read["value"]


def table_of(field: str, tables: Mapping[str, Any], remedy: str) -> Mapping[str, Any]:
    """Return the table that ``tables`` has under the last part of ``field``."""
    table = tables.get(field.rpartition(".")[2])
    if table is None:
        raise InvalidInput(field, "must be given", NOTHING, remedy)
    if not isinstance(table, Mapping):
        raise InvalidInput(field, "must be a table", table, remedy)
    return table


def check_keys(field: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise if a table has a key that is not known."""
    names = list(known)
    for key, value in table.items():
        if key not in names:
            remedy = nearest(key, names) or f"the keys here are {', '.join(names)}"
            raise InvalidInput(inside(field, key), "must be a known key", value, remedy)


def nearest(name: object, names: list[str]) -> str:
    """Return "did you mean ...?" for the nearest of some names, or nothing."""
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"did you mean `{near[0]}`?" if near else ""


def inside(field: str, key: str) -> str:
    """Return the name of ``key`` inside ``field``."""
    return f"{field}.{key}" if field else key


def check_numbers(field: str, value: Any) -> None:
    """Refuse entries that NumPy would turn into numbers: truth values and text."""
    if isinstance(value, list):
        for place, entry in enumerate(value, start=1):
            check_numbers(f"{field}[{place}]", entry)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, "must be a number", value, "write numbers without quotes")
