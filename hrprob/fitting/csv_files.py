r"""Tables of rounds in CSV files, whatever their separator and their decimal sign.

The separator is the one of ``,``, ``;``, tab and ``|`` that splits the line of names into most columns. A comma is
the decimal sign where some number has one and none has a point.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.files import read_bytes
from hrprob._core.tables import read_number
from hrprob.fitting.columns import Columns, Picked

__all__ = ["Parsed", "parse_csv", "read_file"]

_READABLE = "must be a CSV file that can be read"
_SEPARATORS = (",", ";", "\t", "|")
_MOST_BYTES = 2_000_000_000


class Parsed(NamedTuple):
    """The columns of a file that are used."""

    x: np.ndarray  # (n, d)
    r: np.ndarray  # (n,)
    user: np.ndarray | None
    beta: np.ndarray | None
    picked: Picked
    lines: list[int]  # the line of every round
    further: Mapping[str, np.ndarray]  # (n,) each

    def place(self, row: int, path: str | Path) -> str:
        """Return where a row stands, for an error message."""
        return f"line {self.lines[row]} of {path}"


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file, or raise :class:`InvalidInput`."""
    try:
        file = Path(path)
        if file.is_file() and file.stat().st_size > _MOST_BYTES:
            size = f"{file.stat().st_size / 1e9:.1f} GB"
            raise InvalidInput("data", f"must be at most {_MOST_BYTES / 1e9:.0f} GB", size, "thin it out")
        return read_bytes(file, _MOST_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput("data", _READABLE, str(path), reason) from None


def parse_csv(content: bytes, path: str | Path, columns: Columns) -> Parsed:
    r"""Return the columns in the bytes of a CSV file; errors name its path and the line.

    Examples
    --------
    >>> parse_csv(b"dose;gain\n0,6;0,4\n", "trial.csv", Columns("gain", ["dose"])).x.tolist()
    [[0.6]]
    """
    lines = _lines(content, path)
    if not lines:
        remedy = (
            "it has the columns x1, ..., xd and r, and optionally user and beta, or others that are named"
        )
        raise InvalidInput(str(path), "must have a line of column names", "an empty file", remedy)
    header = [name.strip() for name in lines[0][1]]
    picked = columns.pick(str(path), header)
    if columns.context is None and picked.context == ["x"]:
        must = "must have a column x1, ..., xd for each entry of a context"
        raise InvalidInput(str(path), must, "x", "a cell holds one number; call it x1 where d = 1")
    if len(lines) == 1:
        raise InvalidInput(str(path), "must have at least one round", "none", "there is nothing to fit")
    for number, line in lines[1:]:
        if len(line) != len(header):
            remedy = f"line {number} of {path}; a separator inside a cell needs quotes"
            raise InvalidInput("row", f"must have {len(header)} cells", len(line), remedy)
    cells = {
        name: _column(lines, header.index(name))
        for name in [*picked.numbers, picked.user, picked.level, *picked.further]
        if name
    }
    numbers = list(
        dict.fromkeys([*picked.numbers, *([picked.level] if picked.level else []), *picked.further])
    )
    comma = _has_decimal_commas(cells[name] for name in numbers)
    places = [f"line {number} of {path}" for number, _ in lines[1:]]
    read = {
        name: _numbers(name, cells[name], places, comma, infinite=name == picked.level) for name in numbers
    }
    return Parsed(
        np.column_stack([read[name] for name in picked.context]),
        read[picked.outcome],
        None if picked.user is None else _labels(picked.user, cells[picked.user], places),
        None if picked.level is None else read[picked.level],
        picked,
        [number for number, _ in lines[1:]],
        {name: read[name] for name in picked.further},
    )


def _lines(content: bytes, path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the lines of a CSV file that are not empty, each with its number."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("data", _READABLE, str(path), "it is no text in UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=_separator(text))
    try:
        return [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise InvalidInput("data", _READABLE, str(path), f"line {reader.line_num}: {error}") from None


def _separator(text: str) -> str:
    """Return the separator that splits the first line into most columns.

    Examples
    --------
    >>> [_separator(line) for line in ("a,b", "a;b,c;d", "a", '"a;b",c')]
    [',', ';', ',', ',']
    """
    first = re.sub(r'"[^"]*"', "", next((line for line in text.splitlines() if line.strip()), ""))
    return max(_SEPARATORS, key=first.count)


def _column(lines: Sequence[tuple[int, list[str]]], place: int) -> list[str]:
    return [line[place].strip() for _, line in lines[1:]]


def _has_decimal_commas(columns: Iterable[Sequence[str]]) -> bool:
    """Return whether some number has a comma and none a point."""
    cells = [cell for column in columns for cell in column]
    return any("," in cell for cell in cells) and not any("." in cell for cell in cells)


def _numbers(name: str, cells: list[str], places: list[str], comma: bool, infinite: bool) -> np.ndarray:
    values = []
    for text, place in zip(cells, places, strict=True):
        try:
            number = read_number(text.replace(",", ".", 1) if comma else text)
        except ValueError:
            raise InvalidInput(f"column {name}", "must be a number", text, place) from None
        if math.isnan(number) or (math.isinf(number) and (not infinite or number < 0)):
            must = "must be a number, or inf" if infinite else "must be a finite number"
            raise InvalidInput(f"column {name}", must, text, f"{place}; drop or impute such rounds")
        values.append(number)
    return np.asarray(values)


def _labels(name: str, cells: list[str], places: list[str]) -> np.ndarray:
    for text, place in zip(cells, places, strict=True):
        if not text:
            raise InvalidInput(f"column {name}", "must be a label", text, place)
    return np.asarray(cells)
