"""Which policies there are, by their kinds.

A third party adds one by decorating a class with :func:`register`, in a module that
is imported before the policy is named: by the program itself, by ``hrprob run
--import MODULE``, or by itself through an entry point of the group
``hrprob.policies``.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from hrprob.errors import InvalidInput, check_choice
from hrprob.policies.base import Policy
from hrprob.record import enter

__all__ = ["describe", "kinds", "make", "register"]

P = TypeVar("P", bound=type)
_REGISTRY: dict[str, type[Policy]] = {}
_NOT_PARAMETERS = ("known",)


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[P], P]:
    """Make a class a policy that can be named ``kind``; ``static`` fields are not numbers.

    Examples
    --------
    >>> from hrprob.policies.registry import kinds
    >>> "hr-ucb" in kinds()
    True
    """

    def decorate(cls: P) -> P:
        return enter(_REGISTRY, kind, cls, static)

    return decorate


@functools.cache
def _load_entry_points() -> None:
    for entry in importlib.metadata.entry_points(group="hrprob.policies"):
        entry.load()


def kinds() -> dict[str, type[Policy]]:
    """Return the policies by kind, in the order in which they were added."""
    import hrprob.policies  # noqa: F401  (its modules register themselves)

    _load_entry_points()
    return dict(_REGISTRY)


def make(kind: str, parameters: dict[str, Any]) -> Policy:
    """Return the policy ``kind`` with these parameters.

    Examples
    --------
    >>> make("linucb", {"alpha": 0.5}).alpha
    0.5
    """
    known = kinds()
    cls = known[check_choice("kind", kind, list(known), remedy="`hrprob policies` describes them")]
    names = [field.name for field in _parameters(cls)]
    for name, value in parameters.items():
        if name not in names:
            raise InvalidInput(name, f"must be a parameter of {kind!r}", value, f"it has {', '.join(names)}")
    return cls(**parameters)


def describe() -> list[dict[str, Any]]:
    """Return kind, one line and parameters with their defaults, for every policy."""
    return [
        {
            "kind": kind,
            "description": (inspect.getdoc(cls) or "").split("\n")[0],
            "parameters": {field.name: field.default for field in _parameters(cls)},
        }
        for kind, cls in kinds().items()
    ]


def _parameters(cls: type[Policy]) -> list[Any]:
    return [field for field in dataclasses.fields(cls) if field.init and field.name not in _NOT_PARAMETERS]
