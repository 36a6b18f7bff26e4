"""What every objective offers: protocol, registry, and the value of a stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from hrprob._core.precision import float64
from hrprob._core.registry import Registry
from hrprob._core.types import Numbers
from hrprob.noise import Noise

__all__ = ["OBJECTIVES", "Objective", "counts_rounds", "register", "total"]


class Objective(Protocol):
    """What the engine and the policies ask of an objective.

    One under which every round earns 1, so that values are expected lifetimes, says so by ``counts_rounds = True``; see
    :func:`counts_rounds`.
    """

    kind: ClassVar[str]
    unit: ClassVar[str]
    """The unit of a value, and so of the regret."""

    def earning(self, u: Numbers, w: Numbers, noise: Noise) -> Numbers:
        """Return g, what one round earns in expectation, from the mean and the variance of its outcome."""
        ...


C = TypeVar("C", bound=type)

OBJECTIVES: Registry[Objective] = Registry(
    "objectives", field="objective", package="hrprob.problem.objectives", requires=("unit", "earning")
)
"""All objectives."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a kind of objective, as :meth:`hrprob._core.registry.Registry.register` does."""
    return OBJECTIVES.register(kind, static=static)


def counts_rounds(objective: Objective) -> bool:
    """Say whether the value of an action is its expected lifetime itself, which the paper's theory is about.

    Examples
    --------
    >>> from hrprob.problem.objectives import Lifetime, Reward
    >>> counts_rounds(Lifetime()), counts_rounds(Reward())
    (True, False)
    """
    return bool(getattr(objective, "counts_rounds", False))


@float64
def total(earning: Numbers, rounds: jax.Array) -> jax.Array:
    """Return the value of a stay: ``earning`` in each of the expected ``rounds``.

    A stay that earns 0 per round has the value 0, even if it never ends.

    Examples
    --------
    >>> total(jnp.asarray([0.0, 0.5]), jnp.asarray([jnp.inf, 4.0])).tolist()
    [0.0, 2.0]
    """
    # A plain number needs no comparison in the compiled program.
    if isinstance(earning, float) and earning != 0.0:
        return earning * jnp.asarray(rounds)
    g = jnp.asarray(earning, dtype=float)
    return jnp.where(g == 0.0, 0.0, g * rounds)
