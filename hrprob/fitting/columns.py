"""Which columns of a table are the contexts, the outcomes, the users and the satisfaction levels.

Without further words they are x1, ..., xd (or x, with one row per round), r, user and beta; the last two may be
absent. Further columns are used where a model names them (``Model.columns``); the others are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hrprob._core.errors import InvalidInput, nearest
from hrprob._core.types import AsWritten

__all__ = ["Columns", "Picked", "context_columns"]

_DEFAULT = "it has the columns x1, ..., xd and r, and optionally user and beta"


class Picked(NamedTuple):
    """The columns of one table by their meaning."""

    context: list[str]
    outcome: str
    user: str | None
    level: str | None
    unused: list[str]
    further: list[str] = []  # noqa: RUF012  (never changed)

    @property
    def numbers(self) -> list[str]:
        """The columns of contexts and outcomes."""
        return [*self.context, self.outcome]


class Columns(NamedTuple):
    """The columns as a user named them; None where the usual name applies.

    Parameters
    ----------
    outcome : str, optional
        The column of outcomes.
    context : str or sequence of str, optional
        The columns of a context, in the order of θ and φ.
    user, level : str, optional
        The columns of users and of satisfaction levels.
    further : tuple of str
        Further columns, of numbers, that a model uses.

    Examples
    --------
    >>> Columns(outcome="gain", context=["age", "dose"]).pick("data", ["age", "dose", "gain", "date"]).unused
    ['date']
    >>> Columns(outcome="gian").pick("data", ["x1", "gain"])
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `outcome` must be a column of the data, got 'gian': did you mean `gain`?
    """

    outcome: AsWritten = None
    context: AsWritten = None
    user: AsWritten = None
    level: AsWritten = None
    further: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        """Whether any column was named."""
        return bool(self.further) or any(name is not None for name in self[:4])

    def only_further(self, there: Mapping[str, object]) -> bool:
        """Return whether no columns were named but further ones that are there already."""
        return not any(name is not None for name in self[:4]) and set(self.further) <= set(there)

    def pick(self, field: str, names: Sequence[str]) -> Picked:
        """Return the columns of a table with these names; ``field`` is the table in error messages."""
        context = self._context(field, names)
        outcome = _named("outcome", self.outcome, names)
        if outcome is None:
            if "r" not in names:
                raise _without(field, "r", "outcome", names)
            outcome = "r"
        user = _named("user", self.user, names) or ("user" if "user" in names else None)
        level = _named("level", self.level, names) or ("beta" if "beta" in names else None)
        used = [*context, outcome, *(name for name in (user, level) if name is not None)]
        further = [str(_named("model.columns", name, names)) for name in self.further]
        for name in used:
            if list(names).count(name) > 1:
                raise InvalidInput(field, "must have every column once", name, "rename or drop one of them")
            if used.count(name) > 1:
                must = "must name each column for one thing only"
                raise InvalidInput("outcome, context, user, level", must, name, "it is named twice")
        unused = [name for name in names if name not in used and name not in further]
        return Picked(context, outcome, user, level, unused, further)

    def _context(self, field: str, names: Sequence[str]) -> list[str]:
        if self.context is not None:
            listed = [self.context] if isinstance(self.context, str) else list(self.context)
            if not listed:
                raise InvalidInput("context", "must name at least one column", [], _listed(names))
            return [str(_named("context", name, names)) for name in listed]
        numbered = context_columns(names)
        if ("x" in names) == bool(numbered):
            both = "x and " + numbered[0] if numbered else f"neither: the columns are {', '.join(names)}"
            remedy = f"{_DEFAULT}, or `context` names others"
            raise InvalidInput(field, "must have contexts, as x or as x1, ..., xd", both, remedy)
        for name in (f"x{j + 1}" for j in range(len(numbered))):
            if name not in names:
                raise _without(field, name, "context", names)
        return numbered or ["x"]


def context_columns(names: Sequence[str]) -> list[str]:
    """Return the names x1, x2, ... in order.

    Examples
    --------
    >>> context_columns(["x10", "r", "x2"])
    ['x2', 'x10']
    """
    numbered = {name for name in names if re.fullmatch(r"x[1-9][0-9]*", name)}
    return sorted(numbered, key=lambda name: int(name[1:]))


def _named(field: str, name: object, names: Sequence[str]) -> str | None:
    if name is None or (isinstance(name, str) and name in names):
        return name
    remedy = nearest(name, list(names)) or _listed(names)
    raise InvalidInput(field, "must be a column of the data", name, remedy)


def _without(field: str, name: str, parameter: str, names: Sequence[str]) -> InvalidInput:
    remedy = f"{_DEFAULT}, or `{parameter}` names another"
    return InvalidInput(field, f"must have a column {name}", ", ".join(names), remedy)


def _listed(names: Sequence[str]) -> str:
    return f"the columns are {', '.join(map(str, names))}"
