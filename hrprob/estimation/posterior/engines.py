"""The registry of posterior engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, dataclass_transform

from hrprob._core.registry import Registry

if TYPE_CHECKING:
    from hrprob.estimation.posterior.base import Engine

__all__ = ["ENGINES", "make_engine", "register"]

E = TypeVar("E", bound=type)

ENGINES: Registry[Engine] = Registry(
    "engines",
    field="engine",
    package="hrprob.estimation.posterior",
    requires=("streaming", "runs_programs", "init", "fit", "draw"),
)
"""All posterior engines."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[E], E]:
    """Make a class a posterior engine, as :meth:`hrprob._core.registry.Registry.register` does.

    The class inherits from :class:`~hrprob.estimation.posterior.base.StreamingEngine` or
    :class:`~hrprob.estimation.posterior.base.BatchEngine`.
    """
    return ENGINES.register(kind, static=static)


def make_engine(engine: object) -> Engine:
    """Return an engine: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_engine("laplace").kind
    'laplace'
    """
    return ENGINES.make(engine)
