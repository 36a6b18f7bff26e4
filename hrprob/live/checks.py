"""Checks of what a caller of an agent gives, in NumPy: they are made at every call."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number
from hrprob.live.stays import User

__all__ = [
    "check_contexts",
    "check_left",
    "check_level",
    "check_outcome",
    "check_path",
    "check_row",
    "check_time",
    "check_user",
]

# Sums of squares of such outcomes, and their products with contexts, are finite.
_LARGEST_OUTCOME = 1e100
# JSON writes larger ones, and nobody reads them.
_MOST_BITS = 1024


def check_user(user: object) -> None:
    """Raise unless a name can be written to a log and read again."""
    if isinstance(user, bool) or not isinstance(user, str | int):
        raise InvalidInput("user", "must be text or a whole number", user, "it names one user")
    if isinstance(user, int) and user.bit_length() > _MOST_BITS:
        must = f"must be text or a whole number of at most {_MOST_BITS} bits"
        raise InvalidInput("user", must, user, "it names one user")


def check_path(field: str, path: str | Path) -> Path:
    """Return the path of a file, or raise unless it can be one."""
    if "\0" in str(path):
        remedy = "it has a control character, and no path has one"
        raise InvalidInput(field, "must be the path of a file", str(path), remedy)
    return Path(path)


def check_row(row: object) -> tuple[User, float, bool | None]:
    """Return user, outcome and whether the user left, from two or three of them."""
    if not isinstance(row, tuple | list) or len(row) not in (2, 3):
        must = "must be (user, outcome) or (user, outcome, left) each"
        raise InvalidInput("outcomes", must, row, "left is needed where levels are hidden")
    check_user(row[0])
    return (row[0], row[1], row[2] if len(row) == 3 else None)


def check_time(time: object, now: float) -> float:
    """Return a time in seconds, by default ``now``."""
    return now if time is None else check_number("time", time, remedy="it is a number of seconds")


def check_contexts(
    contexts: ArrayLike | None, offered: Iterable[int] | None, actions: int, dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts (actions, d) and the action that each row is served as.

    Rows of actions that are not offered are copies of those that are, in turn.
    """
    numbers = None if offered is None else _check_offered(offered, actions)
    rows = actions if numbers is None else len(numbers)
    try:
        array = np.asarray(contexts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("contexts", "must hold numbers only", contexts, "one row per action") from None
    if array.shape != (rows, dimension) or not np.all(np.isfinite(array)):
        must = f"must be a finite array {(rows, dimension)}"
        remedy = "one row per action; with fewer, give the numbers of those that are offered as `actions`"
        raise InvalidInput("contexts", must, array.shape, remedy)
    longest = math.sqrt(float(np.einsum("ij,ij->i", array, array).max()))
    if longest > 1 + 1e-9:
        remedy = "scale all of them by one factor"
        raise InvalidInput("contexts", "must have norms of at most 1", longest, remedy)
    if numbers is None:
        return array, np.arange(actions)
    served_as = np.resize(np.sort(numbers), actions)
    served_as[numbers] = numbers
    place = np.zeros(actions, int)
    place[numbers] = np.arange(rows)
    return array[place[served_as]], served_as


def _check_offered(offered: Iterable[int], actions: int) -> np.ndarray:
    given = list(offered)
    fits = all(isinstance(one, numbers.Integral) and not isinstance(one, bool) for one in given)
    if not given or not fits or len(set(given)) < len(given) or min(given) < 0 or max(given) >= actions:
        must = f"must be different numbers from 0 to {actions - 1}"
        raise InvalidInput("actions", must, given, "one per row of `contexts`, at least one")
    return np.asarray(given, int)


def check_level(beta: float | None, *, given: bool) -> float:
    """Return a user's level; NaN where levels are not ``given``."""
    if not given:
        if beta is not None:
            remedy = "this agent's levels are hidden; see `satisfaction`"
            raise InvalidInput("beta", "must be left out", beta, remedy)
        return math.nan
    if isinstance(beta, numbers.Real) and beta == math.inf:
        return math.inf
    return check_number("beta", beta, remedy="a number, or infinity for a user who leaves at once")


def check_left(left: bool | None, *, level_given: bool) -> None:
    """Raise unless it is said whether a user left exactly where that does not follow from the level."""
    if (left is None) != level_given:
        wanted = "be left out: it follows from the level" if level_given else "be given: the level is hidden"
        raise InvalidInput("left", f"must {wanted}", left, "see `satisfaction` of the agent")
    if not isinstance(left, bool | np.bool_ | None):
        raise InvalidInput("left", "must be true or false", left, "it says whether the user left")


def check_outcome(outcome: object) -> float:
    """Return an outcome as a number."""
    remedy = "it is what the round gave, in units in which squares can be added up"
    return check_number("outcome", outcome, low=-_LARGEST_OUTCOME, high=_LARGEST_OUTCOME, remedy=remedy)
