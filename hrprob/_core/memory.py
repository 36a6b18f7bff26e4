"""How much memory there is, what does not fit into it, and how libraries say that there is too little."""

from __future__ import annotations

import os
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import format_number

__all__ = ["check_memory", "in_words", "is_out_of_memory", "memory_bytes"]

# JAX and XLA have no error class of their own for too little memory, and several wordings.
_WORDINGS = (
    "resource_exhausted",
    "out of memory",
    "failed to allocate",
    "unable to allocate",
    "could not allocate",
    "cannot allocate memory",
    "bad_alloc",
    "array is too big",
    "maximum allowed size exceeded",
    "maximum allowed dimension exceeded",
)
# Files with the limit of a container, of either version of Linux's control groups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_memory(field: str, value: object, size: int, remedy: str) -> None:
    """Raise if arrays of ``size`` bytes cannot fit into the memory of this machine.

    Parameters
    ----------
    field, value
        The field that the size depends on most, and its value.
    size : int
        An estimate from below: what is refused could not have worked.
    remedy : str
        What makes it less.

    Examples
    --------
    >>> check_memory("actions", 20, 10**6, "take fewer")
    >>> check_memory("actions", 10**9, 10**18, "take fewer")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `actions` must need no more memory than there is, got 1000000000: about ... TiB of ...: take fewer
    """
    there = memory_bytes()
    if there is not None and size > there:
        got = f"{value}: about {in_words(size)} of {in_words(there)}"
        raise InvalidInput(field, "must need no more memory than there is", _AsIs(got), remedy)


def memory_bytes() -> int | None:
    """Return the memory that this process may use, or None where that is not known."""
    limits = []
    try:
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None
    for file in _LIMITS:
        try:
            limits.append(int(Path(file).read_text()))
        except (OSError, ValueError):
            # Not there, or "max".
            continue
    return min(limits)


def in_words(size: int) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> in_words(3 * 2**30), in_words(10_000)
    ('3.0 GiB', '9.8 KiB')
    """
    number, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    unit = 0
    while number >= 1024 and unit < len(units) - 1:
        number, unit = number / 1024, unit + 1
    return f"{format_number(number, 0 if number >= 100 or not unit else 1)} {units[unit]}"


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error means that there is too little memory.

    Examples
    --------
    >>> is_out_of_memory(RuntimeError("INTERNAL: Failed to allocate 80000000000 bytes"))
    True
    >>> is_out_of_memory(RuntimeError("INTERNAL: no such device"))
    False
    """
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(wording in text for wording in _WORDINGS)


class _AsIs(str):
    """A text that an error shows without quotation marks."""

    def __repr__(self) -> str:
        return str(self)
