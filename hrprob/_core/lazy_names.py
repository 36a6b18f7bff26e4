"""Packages whose public names are loaded when first used, and that answer a misspelt name with the nearest."""

from __future__ import annotations

from collections.abc import Callable

import lazy_loader

__all__ = ["names_of_stub"]

Names = tuple[Callable[[str], object], Callable[[], list[str]], list[str]]


def names_of_stub(package: str, file: str) -> Names:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names stand in its ``__init__.pyi``.

    Examples
    --------
    >>> import hrprob
    >>> hrprob.HRUBC
    Traceback (most recent call last):
    ...
    AttributeError: module 'hrprob' has no attribute 'HRUBC': did you mean `HRUCB`?
    """
    load, listing, public = lazy_loader.attach_stub(package, file)

    def named(name: str) -> object:
        if name in public or name.startswith("_"):
            return load(name)
        # Imported here, because importing hrprob alone should load nothing.
        from hrprob._core.errors import nearest

        hint = nearest(name, public)
        raise AttributeError(f"module {package!r} has no attribute {name!r}" + (f": {hint}" if hint else ""))

    return named, listing, public
