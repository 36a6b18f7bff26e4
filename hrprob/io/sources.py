"""The source of one's own code that an experiment is made of: results depend on it, as they do on hrprob's own.

Covered are the modules with the kinds and functions that a configuration names, the modules of the classes that these
kinds inherit from, and those of ``--import``. What such a module imports itself is not.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["sources"]

# Enough that no two files have the same, and short enough for a message.
_DIGITS = 16
# Their versions are part of every plan; hrprob's own code is, too.
_KNOWN = {"hrprob", "jax", "jaxlib", "numpy", "numpyro", *sys.stdlib_module_names} - {"__main__"}


def sources(*parts: object, modules: Sequence[str] = ()) -> dict[str, str]:
    """Return a digest of the source of every module that parts of an experiment come from and hrprob does not have.

    Parameters
    ----------
    parts : object
        Experiments, policies, problems, functions, or lists and mappings of them.
    modules : sequence of str
        Further modules, by name.

    Examples
    --------
    >>> import hrprob
    >>> sources(hrprob.Problem(), hrprob.HRUCB())
    {}
    """
    named = {*modules, *_modules_of(parts, set())}
    digests = {name: _digest(name) for name in sorted(named) if name.partition(".")[0] not in _KNOWN}
    return {name: digest for name, digest in digests.items() if digest is not None}


def _modules_of(part: object, seen: set[int]) -> Iterator[str]:
    if id(part) in seen:
        return
    seen.add(id(part))
    inner: Iterable[object] = ()
    if isinstance(part, type):
        yield from (one.__module__ for one in part.__mro__)
        return
    if isinstance(part, Mapping):
        inner = part.values()
    elif isinstance(part, list | tuple):
        inner = part
    elif isinstance(part, functools.partial):
        inner = (part.func, part.args, part.keywords)
    elif dataclasses.is_dataclass(part):
        inner = [getattr(part, field.name) for field in dataclasses.fields(part)]
    if callable(part) and isinstance(getattr(part, "__module__", None), str):
        # A function; of an instance that can be called, this is the module of its class.
        yield part.__module__
    yield from (one.__module__ for one in type(part).__mro__)
    for one in inner:
        yield from _modules_of(one, seen)


def _digest(module: str) -> str | None:
    """Return a digest of the file of a module; None if there is none: one that was typed, or is compiled in."""
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()[:_DIGITS]
    except OSError:
        return None
