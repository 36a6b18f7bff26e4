"""A table of rounds: contexts, outcomes, and optionally users and satisfaction levels.

As a file it is a CSV with the columns x1, ..., xd and r, and optionally ``user`` and
``beta``; one line per round.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob.observations import as_array, as_numbers, check_rounds, too_large, too_large_at

__all__ = ["Table", "as_table", "parse_table", "read_file", "read_table", "write_table"]

# Unit vectors that are rounded to four decimals may be this long; the variance is positive all the same.
_LONGEST = 1.0 + 1e-4
_READABLE = "must be a CSV file that can be read"
# Missing labels of Python, NumPy and pandas, as text.
_MISSING = ("None", "nan", "NaT", "<NA>")
_COLUMNS = "it has the columns x1, ..., xd and r, and optionally user and beta"


@dataclass(frozen=True, eq=False)
class Table:
    """Rounds that were played, checked on construction.

    Parameters
    ----------
    x : array_like, shape (n, d)
        The context of each round, of norm at most 1.
    r : array_like, shape (n,)
        Its outcome.
    user : array_like, shape (n,), optional
        A label of the user: rounds of one user under one context then are summed as one stay.
        The posterior is the same without it.
    beta : array_like, shape (n,) or (), optional
        The user's satisfaction level; ∞ for a user who leaves after one round. Whether a user leaves depends
        on outcomes that are in the table, so levels do not change the posterior; they are kept for
        later analyses.

    Examples
    --------
    >>> table = Table(x=[[0.6, 0.0], [0.6, 0.0], [0.0, 1.0]], r=[0.4, -1.2, 0.3], user=[7, 7, 8])
    >>> len(table), table.dimension
    (3, 2)
    """

    x: Any
    r: Any
    user: Any = None
    beta: Any = None

    def __post_init__(self) -> None:
        x, r = check_rounds(self.x, self.r)
        if not len(r):
            raise InvalidInput("r", "must have at least one outcome", "none", "there is nothing to fit")
        lengths = np.linalg.norm(x, axis=1)
        for row in np.flatnonzero(lengths > _LONGEST)[:1]:
            raise _too_long(float(lengths[row]), f"in row {row + 1}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "r", r)
        if self.user is not None:
            object.__setattr__(self, "user", _labels(self.user, len(r)))
        if self.beta is not None:
            object.__setattr__(self, "beta", _levels(self.beta, len(r)))

    def __len__(self) -> int:
        return len(self.r)

    @property
    def dimension(self) -> int:
        """d, the length of a context."""
        return int(self.x.shape[1])


def as_table(data: Any) -> Table:
    """Return a table of rounds from any supported form of data.

    Parameters
    ----------
    data : Table, path, mapping, xarray.Dataset, data frame or tuple
        A mapping (or dataset, or data frame) has ``x`` or the columns x1, ..., xd, and ``r``,
        and optionally ``user`` and ``beta``; a tuple is (x, r), (x, r, user) or (x, r, user, beta).

    Examples
    --------
    >>> len(as_table({"x1": [0.6, 0.0], "x2": [0.0, 1.0], "r": [0.4, 0.3]}))
    2
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        return read_table(data)
    if isinstance(data, tuple) and 2 <= len(data) <= 4:
        return Table(*data)
    if isinstance(data, Mapping):
        columns = {str(name): as_array(str(name), data[name]) for name in data}
    elif hasattr(data, "columns"):  # a data frame
        columns = {str(name): as_array(str(name), data[name]) for name in data.columns}
    else:
        remedy = (
            "give (x, r), a dictionary of columns, an xarray dataset, the path of a CSV file, or a Problem"
        )
        raise InvalidInput("data", "must be a table of rounds", type(data).__name__, remedy)
    # The coordinates of a dataset may hold the labels.
    columns |= {
        name: as_array(name, data[name])
        for name in ("user", "beta")
        if name not in columns and name in getattr(data, "coords", ())
    }
    _check_columns("data", list(columns))
    if "x" not in columns:
        contexts = [columns[name] for name in _context_columns(list(columns))]
        if len({column.shape for column in contexts}) > 1:
            shapes = [column.shape for column in contexts]
            raise InvalidInput("x1, ..., xd", "must be of one length", shapes, "one entry per round")
        columns["x"] = np.stack(contexts, axis=-1)
    return Table(columns["x"], columns["r"], columns.get("user"), columns.get("beta"))


def read_table(path: str | Path) -> Table:
    """Return the table in a CSV file.

    Raises
    ------
    InvalidInput
        If the file cannot be read or used, with the line and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "rounds.csv")
    >>> write_table(Table(x=[[0.6, 0.0], [0.0, 1.0]], r=[0.4, 0.3], user=["a", "b"]), file)
    >>> read_table(file).user.tolist()
    ['a', 'b']
    """
    return parse_table(read_file(path), path)


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file, or raise :class:`InvalidInput`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput("data", _READABLE, str(path), error.strerror or str(error)) from None


def parse_table(content: bytes, path: str | Path) -> Table:
    r"""Return the table in the bytes of a CSV file; errors name its path.

    Examples
    --------
    >>> parse_table(b"x1,r\n0.6,0.4\n", "rounds.csv").r.tolist()
    [0.4]
    """
    lines = _lines(content, path)
    if not lines:
        raise InvalidInput(str(path), "must have a line of column names", "an empty file", _COLUMNS)
    header = [name.strip() for name in lines[0][1]]
    if "x" in header:
        must = "must have a column x1, ..., xd for each entry of a context"
        raise InvalidInput(str(path), must, "x", "a cell holds one number; call it x1 where d = 1")
    _check_columns(str(path), header)
    if len(lines) == 1:
        raise InvalidInput(str(path), "must have at least one round", "none", "there is nothing to fit")
    cells: dict[str, list[Any]] = {name: [] for name in header}
    for number, line in lines[1:]:
        if len(line) != len(header):
            remedy = f"line {number} of {path}; a comma inside a cell needs quotes"
            raise InvalidInput("row", f"must have {len(header)} cells", len(line), remedy)
        for name, text in zip(header, line, strict=True):
            cells[name].append(_cell(name, text.strip(), f"line {number} of {path}"))
    x = np.column_stack([cells[name] for name in _context_columns(header)])
    lengths = np.linalg.norm(x, axis=1)
    for row in np.flatnonzero(lengths > _LONGEST)[:1]:
        raise _too_long(float(lengths[row]), f"line {lines[row + 1][0]} of {path}")
    for row in too_large(np.asarray(cells["r"]))[:1]:
        raise too_large_at(cells["r"][row], f"line {lines[row + 1][0]} of {path}")
    user = np.asarray(cells["user"]) if "user" in cells else None
    return Table(x, cells["r"], user, cells.get("beta"))


def write_table(table: Table, path: str | Path) -> None:
    """Write a table as a CSV file that :func:`read_table` reads back."""
    names = [*(f"x{j + 1}" for j in range(table.dimension)), "r"]
    columns = [*table.x.T, table.r]
    for name in ("user", "beta"):
        if getattr(table, name) is not None:
            names.append(name)
            columns.append(getattr(table, name))
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))


def _lines(content: bytes, path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the lines of a CSV file that are not empty, each with its number."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        return [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except UnicodeDecodeError:
        raise InvalidInput("data", _READABLE, str(path), "it is no text in UTF-8") from None
    except csv.Error as error:
        raise InvalidInput("data", _READABLE, str(path), f"line {reader.line_num}: {error}") from None


def _check_columns(field: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(field, "must have every column once", name, "rename or drop one of them")
        if name not in ("x", "r", "user", "beta") and not re.fullmatch(r"x[1-9]\d*", name):
            raise InvalidInput(field, "must have no other columns", name, f"drop or rename it: {_COLUMNS}")
    contexts = _context_columns(names)
    if ("x" in names) == bool(contexts):
        both = "x and " + contexts[0] if contexts else "neither"
        raise InvalidInput(field, "must have contexts, as x or as x1, ..., xd", both, _COLUMNS)
    for name in [*(f"x{j + 1}" for j in range(len(contexts))), "r"]:
        if name not in names:
            raise InvalidInput(field, f"must have a column {name}", ", ".join(names), _COLUMNS)


def _context_columns(names: list[str]) -> list[str]:
    """Return the names x1, x2, ... in order."""
    return sorted((name for name in names if re.fullmatch(r"x\d+", name)), key=lambda name: int(name[1:]))


def _cell(name: str, text: str, where: str) -> Any:
    if name == "user":
        if not text:
            raise InvalidInput(name, "must be a label", text, where)
        return text
    try:
        number = float(text)
    except ValueError:
        raise InvalidInput(name, "must be a number", text, where) from None
    if math.isnan(number) or (math.isinf(number) and (name != "beta" or number < 0)):
        must = "must be a number, or inf" if name == "beta" else "must be a finite number"
        raise InvalidInput(name, must, text, f"{where}; drop or impute such rounds")
    return number


def _labels(user: Any, rounds: int) -> np.ndarray:
    labels = as_array("user", user)
    if labels.shape != (rounds,):
        raise InvalidInput("user", f"must have {rounds} entries", labels.shape, "one label per round")
    if labels.dtype.kind in "iu":
        return labels
    # Before conversion: NumPy converts a missing label among text to text.
    for row, label in enumerate(np.asarray(user, dtype=object)):
        if str(label).strip() == "" or (not isinstance(label, str) and str(label) in _MISSING):
            raise InvalidInput(
                "user", "must be a label", label, f"in row {row + 1}; name the user or drop the round"
            )
    # Numbers beyond 2⁶³ do not fit into int64.
    if labels.dtype.kind == "f" and np.all((labels == np.floor(labels)) & (np.abs(labels) < 2.0**63)):
        return labels.astype(np.int64)
    return labels.astype(np.str_)


def _levels(beta: Any, rounds: int) -> np.ndarray:
    remedy = "one level per round, or one for all; ∞ for a user who leaves at once"
    levels = as_numbers("beta", beta, remedy)
    if levels.shape not in ((), (rounds,)):
        raise InvalidInput("beta", f"must have {rounds} entries", levels.shape, remedy)
    levels = np.broadcast_to(levels, (rounds,)).copy()
    for row in np.flatnonzero(np.isnan(levels) | np.isneginf(levels))[:1]:
        raise InvalidInput("beta", "must be a number, or ∞", levels[row], f"in row {row + 1}")
    return levels


def _too_long(length: float, where: str) -> InvalidInput:
    remedy = f"{where}; divide all contexts by the largest norm: f is a variance for those only"
    return InvalidInput("x", "must have norms of at most 1", float(f"{length:.6g}"), remedy)
