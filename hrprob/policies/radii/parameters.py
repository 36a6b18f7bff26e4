"""The parameters of a policy that its radii depend on."""

from __future__ import annotations

from typing import Protocol

import jax

from hrprob.policies.learners import GLSEState
from hrprob.problem import Known

__all__ = ["ConstantsOfSets", "OptimistParameters", "RadiusParameters"]


class RadiusParameters(Protocol):
    """What every policy with a choice of radii has."""

    @property
    def radius(self) -> str:
        """The name of the choice."""
        ...

    @property
    def delta(self) -> float:
        """δ."""
        ...

    @property
    def xi(self) -> float | None:
        """The radius itself, if it is given."""
        ...


class ConstantsOfSets(RadiusParameters, Protocol):
    """What :class:`~hrprob.policies.optimism.Optimist` adds: the constants of the paper's sets."""

    @property
    def scale(self) -> float:
        """The factor on the radius."""
        ...

    @property
    def variance_max(self) -> float | None:
        """σ²_max, if it is given."""
        ...

    @property
    def c1(self) -> float:
        """C₁."""
        ...

    @property
    def c2(self) -> float:
        """C₂."""
        ...

    @property
    def c3(self) -> float | str:
        """C₃, or "computed"."""
        ...

    @property
    def c4(self) -> float | str:
        """C₄, or "computed"."""
        ...


class OptimistParameters(ConstantsOfSets, Protocol):
    """What the policy as a whole adds, and the estimator that it stands on."""

    @property
    def growth(self) -> float | None:
        """K, the growth of the sample set per user."""
        ...

    @property
    def ridge(self) -> float:
        """λ."""
        ...

    @property
    def variance_floor(self) -> float:
        """The smallest estimated variance."""
        ...

    @property
    def eager(self) -> bool:
        """Whether it updates after every round."""
        ...

    @property
    def warmup(self) -> int:
        """How many users are served at random first."""
        ...

    @property
    def known(self) -> Known:
        """What it knows of the problem."""
        ...

    def plug_in(self, state: GLSEState, contexts: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the estimated mean and variance of each context."""
        ...
