"""One registry for every family of kinds: policies, models, priors, engines, noises, contexts, ...

A family is a set of classes that a configuration names by their *kind*. The classes of hrprob's own
package are found by importing its modules; a third party adds a class in one of three ways:

==============================  ========================================================
where                           how
==============================  ========================================================
in a program                    decorate the class with the family's ``register("kind")``
on the command line             ``--import MODULE``, a module that does the same
in an installed distribution    an entry point of the group ``hrprob.<family>`` that names
                                such a module
==============================  ========================================================

A registered class is a record (:mod:`hrprob._core.records`): frozen, checked when it is made, and a
pytree, so that its numbers are arguments of compiled programs.

:meth:`Registry.make` builds an instance from what somebody wrote: an instance, a kind, or a table with a
kind and its parameters. Two class attributes say what it cannot guess:

=============  =========================================================================
``FILES``      fields that hold numbers or the path of a file with them
``PARTS``      fields that are themselves of a registered family, by its registry
=============  =========================================================================
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from hrprob._core.errors import InvalidInput
from hrprob._core.records import record
from hrprob._core.tables import (
    NOTHING,
    check_keys,
    check_numbers,
    given,
    names_of,
    nearest,
    required_of,
    within,
)

__all__ = ["Registry"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """The kinds of one family.

    Parameters
    ----------
    family : str
        Its name in the plural; ``hrprob.<family>`` is its entry-point group.
    field : str
        What a configuration calls one of them.
    package : str
        The package whose modules register hrprob's own kinds. Nothing of it is imported before a kind is
        looked up.
    requires : tuple of str
        Attributes that every member has, by which an instance is recognised.
    remedy : str
        What to do about a kind that does not exist, where nothing similar does.

    Examples
    --------
    >>> shapes = Registry("shapes", field="shape", package="", requires=("area",))
    >>> @shapes.register("square")
    ... class Square:
    ...     side: float = 1.0
    ...     area = property(lambda self: self.side**2)
    >>> shapes.make({"kind": "square", "side": 3.0}).area
    9.0
    >>> shapes.make("sqare")
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `shape` must be one of 'square', got 'sqare': did you mean `square`?
    """

    def __init__(
        self, family: str, *, field: str, package: str, requires: tuple[str, ...], remedy: str = ""
    ) -> None:
        self.family, self.field, self.requires = family, field, requires
        self._package = package
        self._given_remedy = remedy
        self._classes: dict[str, type[T]] = {}

    def register(self, kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
        """Return a decorator that makes a class a record known as ``kind``.

        ``static`` fields are part of a compiled program, not arguments of it. A class of the same
        module and name replaces the one before it, as when a cell of a notebook is run again.
        """

        def decorate(cls: C) -> C:
            other = self._classes.get(kind)
            if other is not None and _address(other) != _address(cls):
                remedy = f"it belongs to {other.__qualname__} of {other.__module__}"
                raise InvalidInput("kind", "must not be in use", kind, remedy)
            made: Any = record(static=static)(cls)
            made.kind = kind
            self._classes[kind] = made
            return made

        return decorate

    def kinds(self) -> dict[str, type[T]]:
        """Return all classes by kind: hrprob's own, those of entry points, those registered by hand."""
        self._load_all()
        # In one order, whatever was imported first.
        return dict(sorted(self._classes.items()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds())

    def get(self, kind: Any, field: str | None = None) -> type[T]:
        """Return the class of a kind, or raise with the nearest name."""
        if isinstance(kind, str) and kind not in self._classes:
            self._load_one(kind)
        if isinstance(kind, str) and kind in self._classes:
            return self._classes[kind]
        known = list(self.kinds())
        must = f"must be one of {', '.join(map(repr, known))}"
        if isinstance(kind, str) and kind in known:
            return self._classes[kind]
        shown = NOTHING if kind is None else kind
        raise InvalidInput(
            field or self.field, must, shown, nearest(kind, known) or self._remedy(field or self.field)
        )

    def is_instance(self, value: Any) -> bool:
        """Say whether a value is a member of the family; a class is none."""
        return not isinstance(value, type) and all(hasattr(value, name) for name in self.requires)

    def make(self, written: Any, *, field: str | None = None, folder: Path | None = None) -> T:
        """Return a member of the family from what somebody wrote.

        Parameters
        ----------
        written : instance, str or mapping
            A member itself, its kind, or a table with its kind and parameters.
        field : str, optional
            What it is called where it was written; the family's own field by default.
        folder : Path, optional
            Where relative paths begin; without one, paths begin in the current folder.
        """
        field = field or self.field
        kind: Any
        if isinstance(written, Mapping):
            table = dict(written)
            kind, named = table.get("kind"), f"{field}.kind"
        elif isinstance(written, str) or not self.is_instance(written):
            if isinstance(written, type) and all(hasattr(written, name) for name in self.requires):
                raise InvalidInput(
                    field, f"must be one of the {self.family}", written, f"call it: {written.__name__}()"
                )
            if not isinstance(written, str):
                raise InvalidInput(
                    field, f"must be one of the {self.family}, or name one", written, self._remedy(field)
                )
            table, kind, named = {}, written, field
        else:
            return written
        return self._build(self.get(kind, named), kind, table, field, folder)

    def describe(self) -> list[dict[str, Any]]:
        """Return kind, one line and parameters with their defaults, for every kind."""
        return [
            {
                "kind": kind,
                "description": (inspect.getdoc(cls) or "").split("\n")[0],
                "parameters": {
                    field.name: field.default
                    for field in dataclasses.fields(cls)  # type: ignore[arg-type]
                    if field.init
                },
            }
            for kind, cls in self.kinds().items()
        ]

    def _remedy(self, field: str) -> str:
        first = next(iter(self.kinds()))
        name = field.removesuffix(".kind").rpartition(".")[2].lstrip("-")
        return self._given_remedy or f'write {name} = "{first}", or a table {{ kind = "{first}", ... }}'

    def _build(self, cls: type[T], kind: str, table: dict[str, Any], field: str, folder: Path | None) -> T:
        check_keys(field, table, ("kind", *names_of(cls)))
        parameters = {name: value for name, value in given(table).items() if name != "kind"}
        for name in required_of(cls):
            if name not in parameters:
                raise InvalidInput(
                    f"{field}.{name}", "must be given", NOTHING, f"{kind!r} has no default for it"
                )
        for name in getattr(cls, "FILES", ()):
            if name in parameters:
                parameters[name] = _numbers(f"{field}.{name}", parameters[name], folder or Path())
        for name, registry in getattr(cls, "PARTS", {}).items():
            if name in parameters:
                parameters[name] = registry.make(parameters[name], field=f"{field}.{name}", folder=folder)
        return within(field, lambda: cls(**parameters))

    def _load_one(self, kind: str) -> None:
        """Import the module of hrprob's own that is named as the kind, if there is one: most are."""
        module = f"{self._package}.{kind.replace('-', '_')}"
        if self._package and kind.replace("-", "_").isidentifier() and importlib.util.find_spec(module):
            importlib.import_module(module)

    def _load_all(self) -> None:
        if self._package:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")
        _load_entry_points(f"hrprob.{self.family}")


@functools.cache
def _load_entry_points(group: str) -> None:
    for entry in importlib.metadata.entry_points(group=group):
        try:
            entry.load()
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:
            # Whatever an installed distribution does when it is imported, it must be mended there.
            remedy = f"{type(error).__name__}: {error}; mend or uninstall the distribution that has it"
            raise InvalidInput(f"entry point {group}", "must be importable", entry.value, remedy) from error


def _address(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _numbers(field: str, written: Any, folder: Path) -> Any:
    """Return numbers as they were written, or the path of the file that has them."""
    if isinstance(written, str):
        if not (written and written.isprintable()):
            remedy = (
                "it has a character that no path needs" if written else "name a CSV file, or give the numbers"
            )
            raise InvalidInput(field, "must be the path of a file", written, remedy)
        return folder / written
    if isinstance(written, list | int | float | bool):
        check_numbers(field, written)
    return written
