"""Misspelt keyword arguments are answered with the nearest name, as misspelt keys of a configuration are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

from hrprob._core.errors import InvalidInput, nearest

__all__ = ["UnknownKeyword", "check_keywords", "nearest_fields", "nearest_keywords"]

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class UnknownKeyword(InvalidInput, TypeError):
    """A keyword argument that does not exist; a ``TypeError``, as Python's own is."""


def check_keywords(name: str, given: Collection[str], known: Collection[str]) -> None:
    """Raise if ``name`` is called with a keyword that it does not know.

    Examples
    --------
    >>> check_keywords("HRUCB", ["grwoth"], ["growth", "delta"])
    Traceback (most recent call last):
    ...
    hrprob._core.keywords.UnknownKeyword: `grwoth` must be a parameter of HRUCB, got 'grwoth': did you mean `growth`?
    """
    for keyword in given:
        if keyword not in known:
            remedy = nearest(keyword, list(known)) or f"its parameters are {', '.join(known)}"
            raise UnknownKeyword(keyword, f"must be a parameter of {name}", keyword, remedy)


def nearest_fields(cls: C) -> C:
    """Let a dataclass name the nearest field where it is made with one that does not exist."""
    made: Any = cls
    made.__init__ = nearest_keywords(made.__init__)
    return cls


def nearest_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function name the nearest parameter where it is called with one that does not exist.

    Examples
    --------
    >>> @nearest_keywords
    ... def play(users=3):
    ...     return users
    >>> play(usrs=4)
    Traceback (most recent call last):
    ...
    hrprob._core.keywords.UnknownKeyword: `usrs` must be a parameter of play, got 'usrs': did you mean `users`?
    """
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs.keys() <= set(known):
            check_keywords(name, list(kwargs), [one for one in known if one != "self"])
        return function(*args, **kwargs)

    return checked
