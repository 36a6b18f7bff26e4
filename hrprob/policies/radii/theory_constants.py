"""The constants of the confidence sets: σ²_max, C₁ to C₄, as given or computed for a problem."""

from __future__ import annotations

import math

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.records import set_frozen
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.estimation.lipschitz import LipschitzConstants, lipschitz_constants
from hrprob.estimation.versions import VERSIONS
from hrprob.noise import Noise
from hrprob.noise.sub_gaussian import scale_of
from hrprob.policies.radii.parameters import ConstantsOfSets, OptimistParameters
from hrprob.problem import Known
from hrprob.problem.links.base import as_affine
from hrprob.problem.objectives.base import counts_rounds

__all__ = [
    "COMPUTED",
    "check_constants",
    "confidence_sets",
    "lipschitz_weights",
    "noise_scale_of",
    "variance_max_of",
]

COMPUTED = "computed"
"""In place of C₃ or C₄: to be computed from the derivatives of h."""


def check_constants(policy: ConstantsOfSets) -> None:
    """Check σ²_max and C₁ to C₄, and convert them to floats, so that 3 and 3.0 share one program."""
    if policy.variance_max is not None:
        remedy = "it is σ²_max, the largest variance of an outcome"
        largest = check_number("variance_max", policy.variance_max, low=0, open_low=True, remedy=remedy)
        set_frozen(policy, variance_max=largest)
    for name in ("c1", "c2"):
        remedy = "the theory gives no value for it"
        number = check_number(name, getattr(policy, name), low=0, open_low=True, remedy=remedy)
        set_frozen(policy, **{name: number})
    for name in ("c3", "c4"):
        value = getattr(policy, name)
        if value != COMPUTED:
            remedy = 'a number, or "computed" from the derivatives of h'
            set_frozen(policy, **{name: check_number(name, value, low=0, remedy=remedy)})


def variance_max_of(known: Known, variance_max: float | None) -> float:
    """Return σ²_max as given; by default f at the bound of ‖φ‖."""
    return float(known.link(known.bounds.phi)) if variance_max is None else variance_max


def confidence_sets(policy: OptimistParameters, known: Known, version: str) -> ConfidenceSets:
    """Return the confidence sets with the policy's parameters."""
    return ConfidenceSets(
        variance_max=variance_max_of(known, policy.variance_max),
        dimension=known.dimension,
        ridge=policy.ridge,
        slope=as_affine(known.link).slope,
        bound=known.bounds.phi,
        bound_theta=known.bounds.theta,
        c1=policy.c1,
        c2=policy.c2,
        version=version,
        noise_scale=noise_scale_of(known.noise, version),
        **lipschitz_weights(policy, known),
    )


def noise_scale_of(noise: Noise, version: str) -> float:
    """Return the sub-Gaussian scale of the noise, where this version of the sets uses one; else 1."""
    return scale_of(noise) if VERSIONS[version].needs_scale else 1.0


def lipschitz_weights(policy: OptimistParameters, known: Known) -> dict[str, float]:
    """Return C₃ and C₄ by name, each as given or computed."""
    given = {name: getattr(policy, name) for name in ("c3", "c4")}
    if COMPUTED not in given.values():
        return given
    computed = _computed(policy, known)
    return {name: getattr(computed, name) if value == COMPUTED else value for name, value in given.items()}


def _computed(policy: OptimistParameters, known: Known) -> LipschitzConstants:
    low, high = known.satisfaction.support
    levels = known.satisfaction
    # Levels that are hidden and kept are covered: the value is a mean of h, whose derivatives are bounded by the
    # same suprema.
    if not counts_rounds(known.objective) or not (levels.seen or levels.value_is_mean):
        remedy = (
            "the constants bound the derivatives of h, and the value of an action is another function here"
        )
        raise InvalidInput("c3", "must be a number with this objective and these levels", COMPUTED, remedy)
    if not (math.isfinite(low) and math.isfinite(high)):
        remedy = "the suprema are over the range of β"
        raise InvalidInput("c3", "must be a number where β is unbounded", COMPUTED, remedy)
    return lipschitz_constants(
        as_affine(known.link),
        known.bounds.phi,
        beta_low=low,
        beta_high=high,
        bound_theta=known.bounds.theta,
        variance_floor=policy.variance_floor,
        noise=known.noise,
    )
