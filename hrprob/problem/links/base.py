"""What every link from φᵀx to the variance offers: protocol and registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeGuard, TypeVar, dataclass_transform

from hrprob._core.registry import Registry
from hrprob._core.types import Numeric

__all__ = ["LINKS", "AffineLink", "Link", "as_affine", "is_affine", "register"]


class Link(Protocol):
    """What the engine and the Bayesian policies ask of a link.

    The GLSE and the paper's confidence sets need an affine link: one that has ``slope`` and ``offset`` too.
    """

    kind: ClassVar[str]

    def __call__(self, z: Numeric) -> Numeric:
        """Return f(z), the variance where φᵀx = z."""
        ...

    def inverse(self, variance: Numeric) -> Numeric:
        """Return z with f(z) = ``variance``."""
        ...

    def check_bound(self, bound: float) -> None:
        """Raise unless f >= 0 on [-bound, bound]."""
        ...


class AffineLink(Link, Protocol):
    """A link f(z) = ``slope``·z + ``offset``."""

    @property
    def slope(self) -> float:
        """M_f."""
        ...

    @property
    def offset(self) -> float:
        """The variance where φᵀx = 0."""
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


def is_affine(link: Link) -> TypeGuard[AffineLink]:
    """Say whether a link is affine: it has ``slope`` and ``offset``.

    Examples
    --------
    >>> from hrprob.problem.links import Affine
    >>> is_affine(Affine(slope=1.0, offset=2.0))
    True
    """
    return hasattr(link, "slope") and hasattr(link, "offset")


def as_affine(link: Link) -> AffineLink:
    """Return a link that is known to be affine, for those that need its slope: they refuse others beforehand."""
    assert is_affine(link)
    return link
