"""Reading contexts and levels from CSV files.

=====================  ==============================  ===========================================
what                   columns                         rows
=====================  ==============================  ===========================================
context sets           context, action, x1, ..., xd    one per context set and action
contexts of users      user, action, x1, ..., xd       one per user and action
levels                 beta                            one per level
=====================  ==============================  ===========================================

Contexts, users and actions are numbered from 1 and may stand in any order. An error names the line. A file has at most
:data:`MOST_BYTES` bytes.
"""

from __future__ import annotations

import csv
import hashlib
import math
from pathlib import Path

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.files import read_bytes
from hrprob._core.tables import read_number

__all__ = ["MOST_BYTES", "check_digest", "read_context_sets", "read_contexts", "read_levels"]

MOST_BYTES = 500_000_000
"""Largest file that is read."""


def read_context_sets(path: str | Path) -> np.ndarray:
    """Return the context sets (sets, actions, d) of a CSV file.

    Every context set must have the same number of actions.
    """
    return read_contexts("sets", path, "context")


def read_contexts(field: str, path: str | Path, first: str) -> np.ndarray:
    """Return the contexts (..., actions, d) of a CSV file whose first column is named ``first``."""
    header, rows = _table(field, path)
    dimension = len(header) - 2
    if dimension < 1 or header != [first, "action", *(f"x{j + 1}" for j in range(dimension))]:
        raise InvalidInput(
            field, f"must have the columns {first}, action, x1, ..., xd", ",".join(header), f"see {path}"
        )
    points: dict[tuple[int, int], list[float]] = {}
    for line, row in rows:
        try:
            if len(row) != dimension + 2:
                raise ValueError
            place = (_whole(row[0]), _whole(row[1]))
            points[place] = [_finite(entry) for entry in row[2:]]
        except ValueError:
            remedy = f"line {line} of {path} needs two whole numbers and {dimension} finite numbers"
            raise InvalidInput(field, "must hold numbers only", ",".join(row), remedy) from None
    sets, actions = (max((place[axis] for place in points), default=0) for axis in (0, 1))
    # Counted before an array is made: a single mistyped number would make it huge.
    complete = 0 < len(points) == sets * actions == len(rows) and min(min(place) for place in points) >= 1
    if not complete:
        raise InvalidInput(
            field,
            f"must have one row for every {first} and action",
            f"{len(rows)} rows",
            f"number {first}s and actions from 1, each pair once, in {path}",
        )
    return np.array([[points[s + 1, a + 1] for a in range(actions)] for s in range(sets)])


def read_levels(field: str, path: str | Path) -> list[float]:
    """Return the levels of a CSV file with the one column beta."""
    header, rows = _table(field, path)
    if header != ["beta"]:
        raise InvalidInput(field, "must have the one column beta", ",".join(header), f"see {path}")
    levels = []
    for line, row in rows:
        try:
            (entry,) = row
            levels.append(_finite(entry))
        except ValueError:
            remedy = f"line {line} of {path} needs one finite number"
            raise InvalidInput(field, "must hold numbers only", ",".join(row), remedy) from None
    return levels


def check_digest(path: str | Path, wanted: object) -> str | None:
    """Return the SHA-256 digest of a file, or None if there is no file; raise if it is not ``wanted``."""
    file = Path(path)
    try:
        got = hashlib.sha256(read_bytes(file, MOST_BYTES)).hexdigest() if file.is_file() else None
    except OSError:
        # The one who reads its numbers says why it cannot be read.
        got = None
    if wanted is not None and got is not None and wanted != got:
        raise InvalidInput("sha256", f"must be {got}", wanted, f"{path} is not the file that was meant")
    return got


def _table(field: str, path: str | Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header of a CSV file, and the rows after it, each with the number of its line."""
    reader = csv.reader(_text(field, path).splitlines())
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InvalidInput(field, "must be a CSV file", str(path), str(error)) from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    return header, rows[1:]


def _text(field: str, path: str | Path) -> str:
    try:
        return read_bytes(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InvalidInput(field, "must be a file that can be read", str(path), reason) from None


def _whole(entry: str) -> int:
    number = read_number(entry)
    if not number.is_integer():
        raise ValueError(entry)
    return int(number)


def _finite(entry: str) -> float:
    number = read_number(entry)
    if not math.isfinite(number):
        raise ValueError(entry)
    return number
