"""The base of policies with confidence sets around the GLSE or ridge regression: a named radius."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar

import jax

from hrprob._core.errors import InvalidInput
from hrprob._core.records import record, set_later, with_fields
from hrprob._core.types import PyTree
from hrprob.estimation import glse
from hrprob.policies.base import Seen
from hrprob.policies.offers import Prediction
from hrprob.policies.radii.base import RADII, Radius, Width, check_radius, check_scale
from hrprob.policies.radii.theory_constants import COMPUTED, check_constants
from hrprob.policies.sample_set import Learner, SampleState
from hrprob.problem import Problem

__all__ = ["Optimist", "OptimistState"]

# Parameters that `bind` turns into a width, and that no program needs after that.
_ABSORBED = ("delta", "xi", "scale", "variance_max", "c1", "c2", "c3", "c4")


Learned = TypeVar("Learned", bound=SampleState)


class OptimistState(NamedTuple, Generic[Learned]):
    """The state of the estimator, and the state of the width."""

    learned: Learned
    width: PyTree  # of the radius

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size

    @property
    def inverse(self) -> jax.Array:
        """V⁻¹."""
        return self.learned.inverse

    @property
    def statistics(self) -> glse.Statistics:
        """The sums from which the estimates are computed."""
        return self.learned.statistics  # type: ignore[attr-defined]  # of the GLSE

    @property
    def estimates(self) -> glse.Estimates:
        """The estimates."""
        return self.learned.estimates  # type: ignore[attr-defined]  # of the GLSE


@record(static=("radius",))
class Optimist(Learner[Learned]):
    """A policy with confidence sets around its estimates; among the bases it precedes the estimator.

    Parameters
    ----------
    growth : float, default 5
        K, the growth of the sample set per user.
    delta : float, default 0.1
        δ, the probability that a confidence set misses the truth.
    radius : {"paper", "corrected", "explicit", "released", "constant", "calibrated", "likelihood-ratio"}, default "released"
        The radii of the sets; see :mod:`hrprob.policies.radii`.
    xi : float, optional
        The radius itself, with ``radius="constant"``.
    scale : float, default 1
        Factor on the radius, with ``radius="likelihood-ratio"``; below 1 nothing is promised.
    variance_max : float, optional
        σ²_max; by default f at the bound of ‖φ‖.
    c1, c2, c3, c4 : float, default 1
        Constants for which the theory gives no values; c3 and c4 may be "computed".
    """

    # Whether the estimator has an estimate of φ, which some radii require.
    estimates_phi: ClassVar[bool] = True
    needs_affine_link: ClassVar[bool] = True

    growth: float = dataclasses.field(default=5.0, kw_only=True)
    delta: float = 0.1
    radius: str = "released"
    xi: float | None = None
    scale: float = dataclasses.field(default=1.0, kw_only=True)
    variance_max: float | None = None
    c1: float = 1.0
    c2: float = 1.0
    c3: float | str = 1.0
    c4: float | str = 1.0
    width: Width = set_later()

    @classmethod
    def radius_choices(cls) -> dict[str, Radius]:
        """Return the radii that this policy can have, by name."""
        return {
            kind: radius()
            for kind, radius in RADII.kinds().items()
            if cls.estimates_phi or not radius.needs_phi
        }

    @property
    def uses_level_range(self) -> bool:
        """Whether C₃ or C₄ is computed: they are suprema over all levels that are assumed possible."""
        return COMPUTED in (self.c3, self.c4)

    def check(self) -> None:
        """Check the parameters of the radii."""
        choices = self.radius_choices()
        check_radius(self, choices)
        check_scale(self, allowed=choices[self.radius].takes_scale)
        check_constants(self)
        if choices[self.radius].needs_all_rounds and getattr(self, "forgetting", None) is not None:
            remedy = (
                "its sets are of all rounds that were ever sampled; take another radius, or forget nothing"
            )
            raise InvalidInput("radius", "must go with a policy that forgets", self.radius, remedy)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its width for this problem."""
        bound = super().bind(problem, users)
        width = self.radius_choices()[self.radius].width(bound, bound.known)
        # Without the parameters that are absorbed in the width, all constant radii share a program.
        return with_fields(bound, width=width, radius="bound", **dict.fromkeys(_ABSORBED))

    def init(self) -> OptimistState[Learned]:
        """Return the state before the first user."""
        return OptimistState(super().init(), self.width.init(self.known))

    def update(self, state: OptimistState[Learned], seen: Seen) -> OptimistState[Learned]:
        """Update the estimates and the width."""
        width = self.width.update(state.width, state.learned, seen)
        return OptimistState(super().update(state.learned, seen), width)

    def predict(
        self, state: OptimistState[Learned], contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the estimates."""
        return super().predict(state.learned, contexts, beta, action)

    def depart(self, state: OptimistState[Learned], user: jax.Array) -> OptimistState[Learned]:
        """Update a width that is estimated."""
        return state._replace(width=self.width.depart(state.width, state.learned, user))
