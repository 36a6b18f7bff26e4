"""The radii of the paper's confidence sets as printed: α⁽¹⁾_n(δ) for θ, ρ_n(δ/n²) for φ."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.records import record
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.policies.learners import GLSEState
from hrprob.policies.radii.base import Radii, Radius, Width, register
from hrprob.policies.radii.parameters import OptimistParameters
from hrprob.policies.radii.theory_constants import confidence_sets
from hrprob.problem import Known

__all__ = ["Paper", "TheoreticalWidth"]


@record()
class TheoreticalWidth(Width[tuple[()], GLSEState]):
    """The radii of confidence sets, as functions of the sample size."""

    confidence: ConfidenceSets
    delta: float

    def radii(self, state: tuple[()], learned: GLSEState) -> Radii:
        """Return α⁽¹⁾ and ρ."""
        n = jnp.maximum(learned.sample_size, 1.0)
        return Radii(self.confidence.alpha1(n, self.delta), self.confidence.rho_simultaneous(n, self.delta))

    def xi(self, state: tuple[()], learned: GLSEState) -> jax.Array:
        """Return ξ."""
        return self.confidence.xi(jnp.maximum(learned.sample_size, 1.0), self.delta)


@register("paper")
class Paper(Radius[OptimistParameters]):
    """The confidence sets as printed."""

    version: ClassVar[str] = "paper"

    def width(self, policy: OptimistParameters, known: Known) -> TheoreticalWidth:
        """Return the width of the confidence sets in this version."""
        return TheoreticalWidth(confidence_sets(policy, known, self.version), policy.delta)
