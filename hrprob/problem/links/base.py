"""What every link from φᵀx to the variance offers: protocol and registry."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import ClassVar, Protocol, TypeGuard, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.registry import Registry
from hrprob._core.types import Numeric

__all__ = [
    "LINKS",
    "AffineLink",
    "Link",
    "as_affine",
    "check_exponent",
    "is_affine",
    "is_positive",
    "numbers_of",
    "register",
]

# e^±20 are variances that differ from f(0) by a factor of half a billion: data in sensible units have none such.
_LARGEST_EXPONENT = 20.0


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
    """Return a link if it is affine, for those that need its slope; raise for others.

    Examples
    --------
    >>> from hrprob.problem.links import LogLink
    >>> as_affine(LogLink())
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `link` must be affine, got 'log': the GLSE, ρ_n and likelihood-ratio sets are defined for affine links only; take a posterior, or a policy on one such as thompson
    """
    if not is_affine(link):
        remedy = (
            "the GLSE, ρ_n and likelihood-ratio sets are defined for affine links only; take a posterior, or a policy on "
            "one such as thompson"
        )
        raise InvalidInput("link", "must be affine", link.kind, remedy)
    return link


def is_positive(link: Link) -> bool:
    """Say whether a link is positive on the whole line, so that φᵀx may be any number: it has ``is_positive``.

    Examples
    --------
    >>> from hrprob.problem.links import Affine, LogLink
    >>> is_positive(Affine()), is_positive(LogLink())
    (False, True)
    """
    return bool(getattr(link, "is_positive", False))


def numbers_of(*values: object) -> ModuleType:
    """Return ``jax.numpy`` where one of the values is an array of JAX, else NumPy, which compiles nothing.

    Examples
    --------
    >>> numbers_of(1.0, 2.0).__name__
    'numpy'
    """
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def check_exponent(bound: float) -> None:
    """Raise unless e^±bound are factors of a variance that can be computed with.

    Examples
    --------
    >>> check_exponent(30.0)
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `bounds.phi` must be at most 20 with this link, got 30.0: variances would differ by more than e^20 from f(0); lower it, and set the link's `scale` to about the variance of outcomes
    """
    if bound > _LARGEST_EXPONENT:
        remedy = (
            f"variances would differ by more than e^{_LARGEST_EXPONENT:g} from f(0); lower it, and set the link's `scale` "
            "to about the variance of outcomes"
        )
        must = f"must be at most {_LARGEST_EXPONENT:g} with this link"
        raise InvalidInput("bounds.phi", must, bound, remedy)
