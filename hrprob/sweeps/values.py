"""The values of a swept field: a list, or a range that is cut or drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.tables import check_keys, given, inside
from hrprob._core.types import Decoded

__all__ = ["Range", "Values", "read_values"]

_KEYS = ("low", "high", "points", "draws", "scale", "whole")
_EXAMPLE = 'write a list, [2, 3], or a range, { low = 0.1, high = 10.0, points = 5, scale = "log" }'
MOST_VALUES = 100_000
"""Most values of one field."""


class Range(NamedTuple):
    """Numbers from ``low`` to ``high``.

    Attributes
    ----------
    low, high : float
        The ends.
    number : int or None
        How many values a grid takes; with None it cannot be part of a grid.
    drawn : bool
        Whether a grid draws them at random, or takes them evenly spaced with both ends.
    logarithmic, whole : bool
        Whether even means even in the logarithm, and whether values are rounded to whole numbers.
    """

    low: float
    high: float
    number: int | None
    drawn: bool
    logarithmic: bool
    whole: bool

    def at(self, shares: np.ndarray) -> list[Decoded]:
        """Return the values at these shares of the range, from 0 to 1.

        Examples
        --------
        >>> [round(x, 9) for x in Range(1.0, 100.0, None, False, True, False).at(np.array([0.0, 0.5, 1.0]))]
        [1.0, 10.0, 100.0]
        """
        if self.whole:
            # Every whole number has the same share, the ends included.
            low, high = self.low - 0.5, self.high + 0.5
            if self.logarithmic:
                low = max(low, 0.5)
        else:
            low, high = self.low, self.high
        if self.logarithmic:
            numbers = np.exp(math.log(low) + shares * (math.log(high) - math.log(low)))
        else:
            numbers = low + shares * (high - low)
        if self.whole:
            return [int(number) for number in np.clip(np.rint(numbers), self.low, self.high)]
        return [float(number) for number in np.clip(numbers, self.low, self.high)]

    def even(self) -> list[Decoded]:
        """Return ``count`` evenly spaced values with both ends; whole numbers that coincide count once.

        Examples
        --------
        >>> Range(1.0, 16.0, 3, False, True, False).even()
        [1.0, 4.0, 16.0]
        """
        assert self.number is not None
        shares = np.linspace(0.0, 1.0, self.number) if self.number > 1 else np.array([0.5])
        values = self._replace(whole=False).at(shares)
        # 12 digits are enough for a grid, and nobody reads 15.999999999999998.
        values = [min(max(float(f"{value:.12g}"), self.low), self.high) for value in values]
        return list(dict.fromkeys(round(value) for value in values)) if self.whole else values


class Values(NamedTuple):
    """The values of a list."""

    values: tuple[Decoded, ...]

    def at(self, shares: np.ndarray) -> list[Decoded]:
        """Return the values at these shares of the list, from 0 to 1: each has the same share."""
        places = np.minimum((shares * len(self.values)).astype(int), len(self.values) - 1)
        return [self.values[place] for place in places]


def read_values(field: str, given_values: object) -> Range | Values:
    """Return the values of a field from plain data: a list, or a table with the ends of a range.

    Examples
    --------
    >>> read_values("run.seed", [1, 2])
    Values(values=(1, 2))
    >>> ridges = read_values("policy.a.ridge", {"low": 1, "high": 100, "points": 3, "scale": "log"})
    >>> [round(ridge, 9) for ridge in ridges.even()]
    [1.0, 10.0, 100.0]
    """
    if isinstance(given_values, np.ndarray):
        given_values = given_values.tolist()
    if isinstance(given_values, Mapping):
        return _read_range(field, given_values)
    if not isinstance(given_values, Sequence) or isinstance(given_values, str | bytes):
        raise InvalidInput(field, "must be values to sweep over", given_values, _EXAMPLE)
    if not given_values:
        raise InvalidInput(field, "must have at least one value", given_values, _EXAMPLE)
    if len(given_values) > MOST_VALUES:
        raise InvalidInput(field, f"must have at most {MOST_VALUES} values", len(given_values), _EXAMPLE)
    return Values(tuple(given_values))


def _read_range(field: str, table: Mapping[str, Decoded]) -> Range:
    check_keys(field, table, _KEYS)
    fields = given(table)
    for end in ("low", "high"):
        if end not in fields:
            raise InvalidInput(inside(field, end), "must be given", dict(table), _EXAMPLE)
        check_number(inside(field, end), fields[end], remedy="it is an end of the range")
    low, high = float(fields["low"]), float(fields["high"])
    if low >= high:
        raise InvalidInput(inside(field, "high"), f"must be above {low:g}", high, "it is the upper end")
    if not math.isfinite(high - low):
        remedy = "no number is as large as the distance of these ends"
        raise InvalidInput(field, "must be a range whose length is a number", dict(table), remedy)
    scale = check_choice(inside(field, "scale"), fields.get("scale", "linear"), ("linear", "log"))
    if scale == "log" and low <= 0:
        remedy = "a logarithmic range has ends above 0"
        raise InvalidInput(inside(field, "low"), "must be above 0", fields["low"], remedy)
    whole = fields.get("whole", False)
    if not isinstance(whole, bool):
        raise InvalidInput(
            inside(field, "whole"), "must be true or false", whole, "it rounds to whole numbers"
        )
    if whole and not (low.is_integer() and high.is_integer()):
        raise InvalidInput(
            inside(field, "whole"), "must have ends that are whole numbers", dict(table), _EXAMPLE
        )
    if "points" in fields and "draws" in fields:
        remedy = "points are evenly spaced, draws are random"
        raise InvalidInput(inside(field, "draws"), "must not be given beside points", fields["draws"], remedy)
    name = "draws" if "draws" in fields else "points"
    count = fields.get(name)
    if count is not None:
        count = check_count(inside(field, name), count, high=MOST_VALUES, remedy="it is a number of values")
    return Range(low, high, count, name == "draws", scale == "log", whole)
