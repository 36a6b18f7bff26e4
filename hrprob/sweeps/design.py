"""Which points a sweep has: a grid, random draws, or a Latin hypercube.

=====================  ================================================================
method                 points
=====================  ================================================================
``"grid"``             every combination of the fields' values
``"random"``           each point draws every field independently and uniformly
``"latin-hypercube"``  the same, but the draws of a field are spread: one in each of as many
                       equal shares of its range as there are points [1]_
=====================  ================================================================

The draws of a field depend on the seed, on the field's name and on the number of draws, on nothing else.

References
----------
.. [1] M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three methods for selecting values of
   input variables in the analysis of output from a computer code", Technometrics 21(2), 1979.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput, check_choice, check_count
from hrprob._core.random_numbers import LARGEST_SEED
from hrprob._core.tables import inside, nearest, to_toml
from hrprob._core.types import Decoded
from hrprob.sweeps.values import Range, Values, read_values

__all__ = ["METHODS", "Design", "make_design", "read_design"]

METHODS = ("grid", "random", "latin-hypercube")
MOST_POINTS = 100_000
"""Most points of a sweep."""

_OPTIONS = ("method", "draws", "seed")
# Whole numbers up to this one have a double of their own.
_EXACT = 2**53


class Design(NamedTuple):
    """The points of a sweep."""

    fields: tuple[str, ...]
    points: list[tuple[Decoded, ...]]  # the value of every field at every point
    axes: (
        tuple[list[Decoded], ...] | None
    )  # the values of every field, of a grid whose last field varies fastest
    method: str
    seed: int
    folder: Path = Path()  # that relative paths in values start from

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of every field of a grid; else the number of points."""
        return (len(self.points),) if self.axes is None else tuple(map(len, self.axes))

    def label(self, point: int) -> str:
        """Return a point in words.

        Examples
        --------
        >>> make_design({"run.seed": [1, 2]}).label(1)
        'run.seed = 2'
        """
        values = zip(self.fields, self.points[point], strict=True)
        return ", ".join(f"{field} = {to_toml(value)}" for field, value in values)


def read_design(table: Mapping[str, Decoded], folder: Path = Path()) -> Design:
    """Return the design that a table ``[sweep]`` describes: ``method``, ``draws``, ``seed``, and fields, which have a dot.

    Relative paths in values start from ``folder``.

    Examples
    --------
    >>> read_design({"problem.link.offset": [2, 3], "run.seed": [0, 1]}).points
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    fields = {key: value for key, value in table.items() if "." in key}
    for key, value in table.items():
        if key not in fields and key not in _OPTIONS:
            remedy = nearest(key, list(_OPTIONS)) or (
                'a field has its whole name in quotes, "problem.link.offset"; '
                f"the other keys here are {', '.join(_OPTIONS)}"
            )
            raise InvalidInput(inside("sweep", key), "must be a field or a known key", value, remedy)
    options = {key: table[key] for key in _OPTIONS if key in table}
    return make_design(fields, **options)._replace(folder=folder)


def make_design(
    fields: Mapping[str, object], *, method: str = "grid", draws: int | None = None, seed: int = 0
) -> Design:
    """Return the points of a sweep.

    Parameters
    ----------
    fields : mapping
        By the name of a field: a list of values, or a range as a dictionary with ``low``, ``high`` and, as far
        as needed, ``points`` or ``draws`` (how many values a grid takes), ``scale`` ("linear" or "log") and
        ``whole`` (whole numbers only).
    method : {"grid", "random", "latin-hypercube"}
        How the fields are combined.
    draws : int, optional
        The number of points, where they are not a grid.
    seed : int
        Of the draws.
    """
    method = check_choice("sweep.method", method, METHODS)
    seed = check_count("sweep.seed", seed, low=0, high=LARGEST_SEED, remedy="it is the seed of the draws")
    if not fields:
        remedy = 'for example "problem.link.offset" = [2.0, 3.0]'
        raise InvalidInput("sweep", "must name at least one field", dict(fields), remedy)
    values = {field: read_values(inside("sweep", field), entry) for field, entry in fields.items()}
    if method == "grid":
        if draws is not None:
            remedy = 'a grid has none; write method = "random", or draws inside a field\'s range'
            raise InvalidInput("sweep.draws", "must not be given for a grid", draws, remedy)
        axes = tuple(_axis(field, entry, seed) for field, entry in values.items())
        _check_count(math.prod(map(len, axes)))
        return Design(tuple(fields), list(itertools.product(*axes)), axes, method, seed)
    if draws is None:
        raise InvalidInput("sweep.draws", "must be given", draws, f"it is the number of points of {method}")
    _check_count(check_count("sweep.draws", draws, remedy="it is the number of points"))
    columns = [entry.at(_shares(field, draws, seed, method)) for field, entry in values.items()]
    return Design(tuple(fields), list(zip(*columns, strict=True)), None, method, seed)


def _axis(field: str, values: Range | Values, seed: int) -> list[Decoded]:
    """Return the values of a field of a grid, which must differ."""
    name = inside("sweep", field)
    if isinstance(values, Values):
        axis = list(values.values)
    elif values.number is None:
        remedy = "a grid needs to know how many values: points = 5 (evenly spaced) or draws = 5 (random)"
        raise InvalidInput(inside(name, "points"), "must be given", None, remedy)
    elif values.drawn:
        axis = sorted(dict.fromkeys(values.at(_shares(field, values.number, seed, "random"))))
    else:
        axis = values.even()
    texts: dict[str, str] = {}
    for value in axis:
        text, same = to_toml(value), to_toml(_as_played(value))
        if same in texts:
            raise InvalidInput(name, "must have values that differ", axis, f"{_twice(texts[same], text)}")
        texts[same] = text
    return axis


def _as_played(value: Decoded) -> Decoded:
    """Return a value with whole numbers as fractions: a field that takes both plays 2 and 2.0 alike."""
    if isinstance(value, Mapping):
        return {key: _as_played(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_as_played(entry) for entry in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _EXACT:
        return float(value)
    return value


def _twice(first: str, second: str) -> str:
    return f"{first} is there twice" if first == second else f"{first} and {second} are one value"


def _shares(field: str, count: int, seed: int, method: str) -> np.ndarray:
    """Return draws between 0 and 1 for a field."""
    rng = np.random.Generator(np.random.PCG64([seed, zlib.crc32(field.encode()), count]))
    uniform = rng.uniform(size=count)
    return uniform if method == "random" else (rng.permutation(count) + uniform) / count


def _check_count(points: int) -> None:
    if points > MOST_POINTS:
        remedy = "take fewer values, or draws instead of a grid"
        raise InvalidInput("sweep", f"must have at most {MOST_POINTS} points", points, remedy)
