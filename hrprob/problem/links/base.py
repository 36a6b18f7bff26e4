"""What every link from φᵀx to the variance offers: protocol and registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

from hrprob._core.registry import Registry

__all__ = ["LINKS", "Link", "is_affine", "register"]


class Link(Protocol):
    """What the engine and the Bayesian policies ask of a link.

    The GLSE and the paper's confidence sets need an affine link: one that has ``slope`` and ``offset`` too.
    """

    kind: ClassVar[str]

    def __call__(self, z: Any) -> Any:
        """Return f(z), the variance where φᵀx = z."""
        ...

    def inverse(self, variance: Any) -> Any:
        """Return z with f(z) = ``variance``."""
        ...

    def check_bound(self, bound: float) -> None:
        """Raise unless f >= 0 on [-bound, bound]."""
        ...


C = TypeVar("C", bound=type)

LINKS: Registry[Link] = Registry(
    "links", field="link", package="hrprob.problem.links", requires=("inverse", "check_bound")
)
"""All links."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a kind of link, as :meth:`hrprob._core.registry.Registry.register` does."""
    return LINKS.register(kind, static=static)


def is_affine(link: Link) -> bool:
    """Say whether a link is affine: it has ``slope`` and ``offset``.

    Examples
    --------
    >>> from hrprob.problem.links import Affine
    >>> is_affine(Affine(slope=1.0, offset=2.0))
    True
    """
    return hasattr(link, "slope") and hasattr(link, "offset")
