"""The error for an input that cannot be used, and the checks that raise it.

Every message has three parts: what the field must be, which value it has, and a
remedy. The command line turns :class:`InvalidInput` into exit code 2.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["InvalidInput", "check_choice", "check_count", "check_number", "check_vector", "nearest"]


class InvalidInput(ValueError):
    """An input that cannot be used: the field, the value and the remedy.

    Parameters
    ----------
    field : str
        Name of the offending field, as the user wrote it.
    must : str
        What the field must be, a verb phrase ("must lie in (0, 1)").
    got : object
        The value that was given.
    remedy : str
        What to do instead, or why the field has this limit.

    Examples
    --------
    >>> print(InvalidInput("delta", "must lie in (0, 1)", 1.2, "it is the probability that the set misses"))
    `delta` must lie in (0, 1), got 1.2: it is the probability that the set misses
    """

    def __init__(self, field: str, must: str, got: object, remedy: str) -> None:
        self.field, self.must, self.got, self.remedy = field, must, got, remedy
        super().__init__(printable(f"`{field}` {must}, got {_show(got)}: {remedy}"))

    def __reduce__(self) -> tuple[Callable[[str, str, str, str], InvalidInput], tuple[str, str, str, str]]:
        # Another process raised it, and this one reports it: the value itself may not travel, its text does.
        return _unpickled, (self.field, self.must, _show(self.got), self.remedy)

    def within(self, parent: str) -> InvalidInput:
        """Return the same error with the field named inside ``parent``."""
        return InvalidInput(f"{parent}.{self.field}", self.must, self.got, self.remedy)


def printable(text: str) -> str:
    r"""Return a text with escapes for what a terminal would not print but obey; lines stay lines.

    Examples
    --------
    >>> printable("a \x1b[31mred name")
    'a \\x1b[31mred name'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


class _Shown(str):
    """The text of a value, which an error shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def _unpickled(field: str, must: str, shown: str, remedy: str) -> InvalidInput:
    return InvalidInput(field, must, _Shown(shown), remedy)


def _show(value: object) -> str:
    try:
        text = repr(value.tolist()) if isinstance(value, np.ndarray | np.generic) else repr(value)
    except RecursionError:
        text = f"a {type(value).__name__} nested too deeply"
    except ValueError:
        # Python writes no whole number of several thousand digits.
        text = "a number of too many digits"
    return text if len(text) <= 120 else text[:117] + "..."


def check_number(
    field: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    remedy: str,
) -> float:
    """Return ``value`` as a float, or raise unless it is a finite number in the stated range."""
    left, right = ("(" if open_low else "["), (")" if open_high else "]")
    if low == -math.inf and high == math.inf:
        must = "must be a finite number"
    elif high == math.inf:
        must = f"must be {'above' if open_low else 'at least'} {low:g}"
    else:
        must = f"must lie in {left}{low:g}, {high:g}{right}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInput(field, must, value, remedy)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(field, must, value, remedy)
    too_low = number <= low if open_low else number < low
    too_high = number >= high if open_high else number > high
    if too_low or too_high:
        raise InvalidInput(field, must, value, remedy)
    return number


def check_count(field: str, value: object, *, low: int = 1, high: int | None = None, remedy: str) -> int:
    """Return ``value`` as an int, or raise unless it is a whole number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise InvalidInput(field, f"must be a whole number of at least {low}", value, remedy)
    if high is not None and int(value) > high:
        raise InvalidInput(field, f"must be a whole number of at most {high}", value, remedy)
    return int(value)


def nearest(name: object, names: list[str]) -> str:
    """Return "did you mean ...?" with the most similar name, or an empty string if none is similar."""
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"did you mean `{near[0]}`?" if near else ""


def check_choice(field: str, value: object, choices: Sequence[str], *, remedy: str = "") -> str:
    """Return ``value``, or raise unless it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        remedy = nearest(value, list(choices)) or remedy
        raise InvalidInput(field, f"must be one of {known}", value, remedy or "choose one of these")
    return value


def check_vector(field: str, value: object, *, dimension: int | None = None, remedy: str) -> np.ndarray:
    """Return ``value`` as a float64 vector, or raise unless it is a list of finite numbers."""
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(field, "must be a list of numbers", value, remedy) from None
    if np.asarray(value).dtype.kind not in "iuf":
        raise InvalidInput(field, "must be a list of numbers", value, remedy)
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput(field, "must be a list of at least one number", value, remedy)
    if dimension is not None and vector.size != dimension:
        raise InvalidInput(field, f"must have {dimension} entries", value, remedy)
    if not np.all(np.isfinite(vector)):
        raise InvalidInput(field, "must hold finite numbers only", value, remedy)
    return vector
