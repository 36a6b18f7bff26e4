"""Which configurations may name code.

A configuration that a user writes may name a function, ``function = "module:name"``, and importing a
module runs it. The manifest of somebody else's result folder is a configuration too, and it may name any
module that Python finds. So code that such a manifest names is imported only if the user says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from hrprob._core.errors import InvalidInput

__all__ = ["check_trusted", "trusting"]

_TRUSTED: ContextVar[bool] = ContextVar("_TRUSTED", default=True)


@contextlib.contextmanager
def trusting(trust: bool) -> Iterator[None]:
    """Say whether code may be imported that configurations name in this context.

    Examples
    --------
    >>> with trusting(False):
    ...     check_trusted("function", "os:getcwd")
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `function` must be trusted to be run, got 'os:getcwd': the result folder names this code; look at it, then add --trust (in Python: trust=True)
    """
    before = _TRUSTED.set(trust)
    try:
        yield
    finally:
        _TRUSTED.reset(before)


def check_trusted(field: str, code: str) -> None:
    """Raise if code that a configuration names must not be imported here."""
    if not _TRUSTED.get():
        remedy = "the result folder names this code; look at it, then add --trust (in Python: trust=True)"
        raise InvalidInput(field, "must be trusted to be run", code, remedy)
