"""What a class says of itself, and whether its subclasses may still say it."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["defining", "keeps_claim"]


def defining(cls: type, name: str) -> type | None:
    """Return the class from which ``cls`` has an attribute; None if it has none."""
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def keeps_claim(cls: type, claim: str, methods: Iterable[str]) -> bool:
    """Say whether a class has the attribute ``claim``, and still the methods of the class that stated it.

    Examples
    --------
    >>> class Exact:
    ...     is_exact = True
    ...     def value(self): ...
    >>> class Approximate(Exact):
    ...     def value(self): ...
    >>> keeps_claim(Exact, "is_exact", ["value"]), keeps_claim(Approximate, "is_exact", ["value"])
    (True, False)
    """
    by = defining(cls, claim)
    places = [defining(cls, method) for method in methods]
    return by is not None and all(place is not None and issubclass(by, place) for place in places)
