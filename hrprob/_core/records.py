"""Records: frozen dataclasses that are checked when made, and that are JAX pytrees.

The numbers of a record are the leaves of a pytree, so a compiled function takes them
as arguments, and two records that differ only in numbers share one compiled program.
Its other fields (``static``: names, switches, shapes) are part of the pytree's
structure. JAX rebuilds records from tracers without calling ``__init__``, so
``__post_init__`` sees only what a user wrote and may check it strictly.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.keywords import nearest_fields
from hrprob._core.types import Decoded, PyTree

__all__ = ["describe", "record", "set_frozen", "set_later", "with_fields"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=False)
def record(*, static: tuple[str, ...] = ()) -> Callable[[type[T]], type[T]]:
    """Return a decorator that makes a class a frozen dataclass and a pytree with these ``static`` fields.

    Examples
    --------
    >>> @record(static=("name",))
    ... class Point:
    ...     x: float
    ...     name: str = "p"
    >>> jax.tree.map(lambda leaf: 2 * leaf, Point(3.0))
    Point(x=6.0, name='p')
    """

    def decorate(cls: type[T]) -> type[T]:
        made: Any = dataclasses.dataclass(frozen=True)(cls)
        _show_forms(made.__init__.__annotations__)
        made = nearest_fields(made)
        # A field that is static in a base class is static here too.
        fixed = {*static, *(name for base in made.__mro__[1:] for name in getattr(base, "_static", ()))}
        made._static = tuple(sorted(fixed))
        names = [field.name for field in dataclasses.fields(made)]
        unknown = [name for name in static if name not in names]
        if unknown:
            raise InvalidInput(
                "static", "must name fields of the class", unknown[0], f"it has {', '.join(names)}"
            )
        dynamic = tuple(name for name in names if name not in fixed)
        kept = tuple(name for name in names if name in fixed)

        def flatten_with_keys(
            value: T,
        ) -> tuple[list[tuple[jax.tree_util.GetAttrKey, PyTree]], tuple[object, ...]]:
            children = [(jax.tree_util.GetAttrKey(name), getattr(value, name)) for name in dynamic]
            return children, tuple(getattr(value, name) for name in kept)

        def unflatten(structure: tuple[object, ...], children: Iterable[PyTree]) -> T:
            value = object.__new__(made)
            for name, child in (*zip(dynamic, children, strict=True), *zip(kept, structure, strict=True)):
                object.__setattr__(value, name, child)
            return value

        jax.tree_util.register_pytree_with_keys(made, flatten_with_keys, unflatten)
        return made

    return decorate


def _show_forms(annotations: dict[str, object]) -> None:
    """Let a signature show what may be given for each field that is ``Annotated`` with its forms.

    Examples
    --------
    >>> shown = {"engine": 'Annotated[AsWritten, "str | Engine"]', "users": "int"}
    >>> _show_forms(shown)
    >>> shown
    {'engine': 'str | Engine', 'users': 'int'}
    """
    for name, annotation in annotations.items():
        if isinstance(annotation, str) and annotation.startswith("Annotated[AsWritten, "):
            annotations[name] = ast.literal_eval(annotation[len("Annotated[AsWritten, ") : -1])


def set_later() -> Any:
    """Return a field that is not a user's: it is set by ``__post_init__``, or where a record learns its surroundings.

    Examples
    --------
    >>> @record()
    ... class Square:
    ...     side: float
    ...     area: float = set_later()
    ...
    ...     def __post_init__(self) -> None:
    ...         set_frozen(self, area=self.side**2)
    >>> Square(3.0), Square(3.0).area
    (Square(side=3.0), 9.0)
    """
    return dataclasses.field(default=None, init=False, repr=False, compare=False)


def set_frozen(value: object, **fields: object) -> None:
    """Set fields of a frozen record from within its own ``__post_init__``."""
    for name, content in fields.items():
        object.__setattr__(value, name, content)


def with_fields(value: T, **fields: object) -> T:
    """Return a copy of a record with some fields changed, without checking them.

    Examples
    --------
    >>> @record()
    ... class Point:
    ...     x: float
    >>> with_fields(Point(1.0), x=2.0)
    Point(x=2.0)
    """
    copy = object.__new__(type(value))
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        object.__setattr__(copy, field.name, fields.get(field.name, getattr(value, field.name)))
    return copy


def describe(value: object) -> Decoded:
    """Return a record as plain data: its kind, and its fields as numbers, strings, lists and dictionaries.

    Where it can be made from these, :meth:`hrprob._core.registry.Registry.make` makes the same record from them. A
    record with a method ``described`` returns its fields itself.

    Examples
    --------
    >>> @record()
    ... class Point:
    ...     x: float
    >>> describe(Point(1.0))
    {'x': 1.0}
    """
    if dataclasses.is_dataclass(value):
        kind = {"kind": value.kind} if hasattr(value, "kind") else {}
        if hasattr(value, "described"):
            return kind | value.described()
        fields = {
            field.name: describe(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.init and field.repr
        }
        return kind | fields
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    return value
