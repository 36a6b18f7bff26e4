"""A table of rounds: contexts, outcomes, and optionally users and satisfaction levels.

As a file it is a CSV with one line per round and the columns x1, ..., xd and r, and optionally ``user`` and
``beta``, or columns of other names (:mod:`.columns`); :mod:`.csv_files` reads it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.types import AsWritten
from hrprob.fitting.columns import Columns, Picked
from hrprob.fitting.csv_files import parse_csv, read_file
from hrprob.fitting.scaling import Scaling, find_scaling
from hrprob.observations import as_array, as_numbers, check_rounds, too_large, too_large_at
from hrprob.observations import features as default_features

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray

__all__ = ["Table", "TableLike", "as_table", "parse_table", "read_file", "read_table", "write_table"]

# Unit vectors that are rounded to four decimals may be this long; the variance is positive all the same.
_LONGEST = 1.0 + 1e-4
# Missing labels of Python, NumPy and pandas, as text.
_MISSING = ("None", "nan", "NaT", "<NA>")


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
    features : sequence of str, optional
        The names of the features, by default x1, ..., xd.
    scale : array_like, shape (d,), optional
        What contexts in their own units were divided by to give ``x``; by default nothing.
    centre : array_like, shape (d,), optional
        What was subtracted before; by default nothing.
    intercept : bool
        Whether the first entry of every context is 1, outside the norm and its bounds; see :meth:`with_intercept`.
    further : mapping of str to array_like, shape (n,), optional
        Further columns, which programs of one's own may use.
    unused : tuple of str
        Columns of the data that are not part of the table.

    Examples
    --------
    >>> table = Table(x=[[0.6, 0.0], [0.6, 0.0], [0.0, 1.0]], r=[0.4, -1.2, 0.3], user=[7, 7, 8])
    >>> len(table), table.dimension
    (3, 2)
    """

    x: AsWritten
    r: AsWritten
    user: AsWritten = None
    beta: AsWritten = None
    features: AsWritten = None
    scale: AsWritten = None
    centre: AsWritten = None
    intercept: bool = False
    further: AsWritten = None
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        x, r = check_rounds(self.x, self.r)
        if not len(r):
            raise InvalidInput("r", "must have at least one outcome", "none", "there is nothing to fit")
        lengths = np.linalg.norm(x[:, 1:] if self.intercept else x, axis=1)
        for row in np.flatnonzero(lengths > _LONGEST)[:1]:
            raise _too_long(float(lengths[row]), f"in row {row + 1}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "r", r)
        if self.user is not None:
            object.__setattr__(self, "user", _labels(self.user, len(r)))
        if self.beta is not None:
            object.__setattr__(self, "beta", _levels(self.beta, len(r)))
        names = default_features(x.shape[1])["feature"] if self.features is None else map(str, self.features)
        object.__setattr__(self, "features", tuple(names))
        for name in ("scale", "centre"):
            if getattr(self, name) is not None:
                entries = np.broadcast_to(as_numbers(name, getattr(self, name)), x.shape[1:])
                object.__setattr__(self, name, entries)
        columns = {name: _further(name, values, len(r)) for name, values in (self.further or {}).items()}
        object.__setattr__(self, "further", columns)

    def __len__(self) -> int:
        return len(self.r)

    @property
    def dimension(self) -> int:
        """d, the length of a context."""
        return int(self.x.shape[1])

    def with_intercept(self) -> Table:
        """Return the table with a first entry 1 in every context.

        Examples
        --------
        >>> Table(x=[[0.6], [0.8]], r=[0.4, -1.2], features=["dose"]).with_intercept().features
        ('intercept', 'dose')
        """
        if self.intercept:
            return self
        return replace(
            self,
            x=np.insert(self.x, 0, 1.0, axis=1),
            features=("intercept", *self.features),
            scale=None if self.scale is None else np.insert(self.scale, 0, 1.0),
            centre=None if self.centre is None else np.insert(self.centre, 0, 0.0),
            intercept=True,
        )

    @property
    def scaling(self) -> Scaling:
        """Centre and divisors of contexts in their own units, without the intercept."""
        first = int(self.intercept)
        return Scaling(*(None if part is None else part[first:] for part in (self.centre, self.scale)))

    def in_units(self, x: np.ndarray) -> np.ndarray:
        """Return contexts (m, d) of the form of ``x``, without the intercept, in their own units."""
        centre, divisors = self.scaling
        own = x if divisors is None else x * divisors
        return own if centre is None else own + centre


TableLike: TypeAlias = "Table | str | Path | Mapping[str, ArrayLike] | xarray.Dataset | pandas.DataFrame | polars.DataFrame | tuple[ArrayLike, ...]"
"""What :func:`as_table` takes as a table of rounds; a tuple is (x, r), (x, r, user) or (x, r, user, beta)."""


def as_table(data: TableLike, columns: Columns | None = None, scale: object = False) -> Table:
    """Return a table of rounds from any supported form of data.

    Parameters
    ----------
    data : Table, path, mapping, xarray.Dataset, data frame or tuple
        A mapping (or dataset, or data frame of pandas, polars or pyarrow) has ``x`` or the columns
        x1, ..., xd, and ``r``, and optionally ``user`` and ``beta``, or the columns that ``columns``
        names; a tuple is (x, r), (x, r, user) or (x, r, user, beta).
    columns : Columns, optional
        The names of the columns, where they are others.
    scale : bool, "columns" or "standardise"
        Divide contexts of norm above 1; see :func:`~hrprob.fitting.scaling.find_scale`.

    Examples
    --------
    >>> len(as_table({"x1": [0.6, 0.0], "x2": [0.0, 1.0], "r": [0.4, 0.3]}))
    2
    >>> as_table({"dose": [3.0, 4.0], "gain": [0.4, 0.3]}, Columns("gain", "dose"), scale=True).x.tolist()
    [[0.75], [1.0]]
    """
    columns = columns or Columns()
    if isinstance(data, str | Path):
        return read_table(data, columns, scale)
    if isinstance(data, Table) or (isinstance(data, tuple) and 2 <= len(data) <= 4):
        if columns.given and not (isinstance(data, Table) and columns.only_further(data.further)):
            remedy = "its columns have no names; give a data frame, a dictionary or a file"
            raise InvalidInput("data", "must have named columns", type(data).__name__, remedy)
        x, r, user, beta = (*astuple(data)[:4],) if isinstance(data, Table) else (*data, None, None)[:4]
        if isinstance(data, Table) and scale is False:
            return data
        return _scaled(x, r, user, beta, scale)
    named = _named_columns(data)
    picked = columns.pick("data", list(named))
    contexts = [named[name] for name in picked.context]
    if len({column.shape for column in contexts}) > 1:
        shapes = [column.shape for column in contexts]
        raise InvalidInput(", ".join(picked.context), "must be of one length", shapes, "one entry per round")
    x = contexts[0] if contexts[0].ndim == 2 else np.stack(contexts, axis=-1)
    user, beta = (None if name is None else named[name] for name in (picked.user, picked.level))
    further = {name: named[name] for name in picked.further}
    return _scaled(x, named[picked.outcome], user, beta, scale, picked, further)


def _named_columns(data: AsWritten) -> dict[str, np.ndarray]:
    """Return the columns of a mapping, dataset or data frame by their names."""
    if isinstance(data, Mapping):
        names = list(data)
    elif hasattr(data, "column_names"):  # pyarrow
        names = list(data.column_names)
    elif hasattr(data, "columns"):  # pandas, polars
        names = list(data.columns)
    else:
        remedy = (
            "give (x, r), a dictionary of columns, an xarray dataset, a data frame, the path of a CSV file, "
            "or a Problem"
        )
        raise InvalidInput("data", "must be a table of rounds", type(data).__name__, remedy)
    # The coordinates of a dataset may hold the labels.
    names += [name for name in getattr(data, "coords", ()) if name not in names]
    return {str(name): as_array(str(name), data[name]) for name in names}


def read_table(path: str | Path, columns: Columns | None = None, scale: object = False) -> Table:
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
    return parse_table(read_file(path), path, columns, scale)


def parse_table(
    content: bytes, path: str | Path, columns: Columns | None = None, scale: object = False
) -> Table:
    r"""Return the table in the bytes of a CSV file; errors name its path.

    Examples
    --------
    >>> parse_table(b"x1,r\n0.6,0.4\n", "rounds.csv").r.tolist()
    [0.4]
    """
    parsed = parse_csv(content, path, columns or Columns())
    lengths = np.linalg.norm(find_scaling(scale, parsed.x).apply(parsed.x), axis=1)
    for row in np.flatnonzero(lengths > _LONGEST)[:1]:
        raise _too_long(float(lengths[row]), parsed.place(row, path))
    for row in too_large(parsed.r)[:1]:
        raise too_large_at(parsed.r[row], parsed.place(row, path))
    return _scaled(parsed.x, parsed.r, parsed.user, parsed.beta, scale, parsed.picked, parsed.further)


def _scaled(
    x: ArrayLike,
    r: ArrayLike,
    user: ArrayLike | None,
    beta: ArrayLike | None,
    scale: object,
    picked: Picked | None = None,
    further: Mapping[str, np.ndarray] | None = None,
) -> Table:
    """Return the table with its contexts divided as ``scale`` says, and the names of the columns picked."""
    contexts, outcomes = check_rounds(x, r)
    scaling = find_scaling(scale, contexts)
    contexts = scaling.apply(contexts)
    named = picked is not None and len(picked.context) == contexts.shape[1] and picked.context != ["x"]
    return Table(
        contexts,
        outcomes,
        user,
        beta,
        features=tuple(picked.context) if picked is not None and named else None,
        scale=scaling.divisors,
        centre=scaling.centre,
        further=further,
        unused=() if picked is None else tuple(picked.unused),
    )


def write_table(table: Table, path: str | Path) -> None:
    """Write a table as a CSV file that :func:`read_table` reads back."""
    slopes = table.x[:, int(table.intercept) :]
    names = [*(f"x{j + 1}" for j in range(slopes.shape[1])), "r"]
    columns = [*slopes.T, table.r]
    for name in ("user", "beta"):
        if getattr(table, name) is not None:
            names.append(name)
            columns.append(getattr(table, name))
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))


def _labels(user: ArrayLike, rounds: int) -> np.ndarray:
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
    if np.issubdtype(labels.dtype, np.floating) and np.all(
        (labels == np.floor(labels)) & (np.abs(labels) < 2.0**63)
    ):
        return labels.astype(np.int64)
    return labels.astype(np.str_)


def _further(name: str, values: ArrayLike, rounds: int) -> np.ndarray:
    column = as_numbers(name, values, "further columns of a program hold one number per round")
    if column.shape != (rounds,):
        raise InvalidInput(name, f"must have {rounds} entries", column.shape, "one entry per round")
    for row in np.flatnonzero(~np.isfinite(column))[:1]:
        remedy = f"in row {row + 1}; drop or impute such rounds"
        raise InvalidInput(name, "must be a finite number", column[row], remedy)
    return column


def _levels(beta: ArrayLike, rounds: int) -> np.ndarray:
    remedy = "one level per round, or one for all; ∞ for a user who leaves at once"
    levels = as_numbers("beta", beta, remedy)
    if levels.shape not in ((), (rounds,)):
        raise InvalidInput("beta", f"must have {rounds} entries", levels.shape, remedy)
    levels = np.broadcast_to(levels, (rounds,)).copy()
    for row in np.flatnonzero(np.isnan(levels) | np.isneginf(levels))[:1]:
        raise InvalidInput("beta", "must be a number, or ∞", levels[row], f"in row {row + 1}")
    return levels


def _too_long(length: float, where: str) -> InvalidInput:
    remedy = f"{where}; let `scale` divide all contexts by the largest norm (features in units of their own: standardise, with an intercept): f is a variance for those only"
    return InvalidInput("x", "must have norms of at most 1", float(f"{length:.6g}"), remedy)
