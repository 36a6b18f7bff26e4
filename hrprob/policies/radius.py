r"""How wide the optimism of HR-UCB is: ξ in the index, by name.

===========  ==================================================================
name         ξ before a user, with n = |S|, at least 1
===========  ==================================================================
paper        C₃ α⁽¹⁾_n(δ) + C₄ ρ_n(δ/n²) as printed
corrected    the same with the slips of Lemma 1 and Theorem 1 mended
released     α⁽¹⁾_n(δ) at n = K·T throughout: what the released program computes
constant     the number ``xi``
===========  ==================================================================
"""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from hrprob.errors import InvalidInput, check_choice, check_number
from hrprob.estimation.confidence import VERSIONS, ConfidenceSets, lipschitz_constants
from hrprob.problem import Known, Lifetime, Redrawn
from hrprob.record import record, settle

__all__ = ["RADII", "ConstantWidth", "TheoreticalWidth", "check_radius", "width_of"]

RADII = (*VERSIONS, "released", "constant")


@record()
class ConstantWidth:
    """ξ is the same for every user."""

    xi: Any

    def __call__(self, samples: jax.Array) -> jax.Array:
        """Return ξ."""
        return jnp.asarray(self.xi)


@record()
class TheoreticalWidth:
    """ξ follows from the confidence sets."""

    sets: ConfidenceSets
    delta: Any

    def __call__(self, samples: jax.Array) -> jax.Array:
        """Return ξ with ``samples`` rounds in S."""
        return self.sets.xi(jnp.maximum(samples, 1.0), self.delta)


def check_radius(policy: Any) -> None:
    """Check the parameters of a policy that bear on its width."""
    check_choice("radius", policy.radius, RADII)
    check_number(
        "delta",
        policy.delta,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        remedy="it is the chance that the set misses",
    )
    if (policy.radius == "constant") != (policy.xi is not None):
        raise InvalidInput(
            "xi",
            'must be given with radius = "constant" and only then',
            policy.xi,
            f"the radius is {policy.radius!r}",
        )
    if policy.xi is not None:
        check_number("xi", policy.xi, low=0, remedy="it multiplies the norm of a context")
    if policy.radius == "released" and policy.growth is None:
        raise InvalidInput(
            "growth", 'must be given with radius = "released"', None, "its ξ is taken at n = growth · users"
        )
    if policy.variance_max is not None:
        remedy = "it is σ²_max, the largest variance of an outcome"
        check_number("variance_max", policy.variance_max, low=0, open_low=True, remedy=remedy)
    for name in ("c1", "c2"):
        check_number(name, getattr(policy, name), low=0, open_low=True, remedy="the theory leaves it open")
    for name in ("c3", "c4"):
        value = getattr(policy, name)
        if value != "computed":
            check_number(name, value, low=0, remedy='a number, or "computed" from the derivatives of h')
    _settle_numbers(policy)


def _settle_numbers(policy: Any) -> None:
    # As floats, so that 3 and 3.0 are the same program.
    for name in ("delta", "xi", "variance_max", "c1", "c2", "c3", "c4"):
        value = getattr(policy, name)
        if value is not None and value != "computed":
            settle(policy, **{name: float(value)})


def variance_max_of(known: Known, variance_max: float | None) -> float:
    """Return σ²_max: as told, or else f at the bound of φ."""
    return float(known.link(known.bounds.phi)) if variance_max is None else variance_max


def width_of(policy: Any, known: Known) -> ConstantWidth | TheoreticalWidth:
    """Return the width that a policy's ``radius`` names."""
    if policy.radius == "constant":
        return ConstantWidth(float(policy.xi))
    computed = {name: getattr(policy, name) for name in ("c3", "c4")}
    if "computed" in computed.values():
        constants = _computed_constants(policy, known)
        computed = {
            name: getattr(constants, name) if value == "computed" else value
            for name, value in computed.items()
        }
    version: Literal["paper", "corrected"] = "corrected" if policy.radius == "corrected" else "paper"
    sets = ConfidenceSets(
        variance_max=variance_max_of(known, policy.variance_max),
        dimension=known.dimension,
        ridge=policy.ridge,
        slope=known.link.slope,
        bound=known.bounds.phi,
        bound_theta=known.bounds.theta,
        c1=policy.c1,
        c2=policy.c2,
        version=version,
        **computed,
    )
    if policy.radius == "released":
        return ConstantWidth(float(sets.alpha1(policy.growth * known.users, policy.delta)))
    return TheoreticalWidth(sets, policy.delta)


def _computed_constants(policy: Any, known: Known) -> Any:
    low, high = known.satisfaction.support
    if not isinstance(known.objective, Lifetime) or isinstance(known.satisfaction, Redrawn):
        # Where levels are hidden and kept the value is a mean of h, and its derivatives are below the suprema.
        remedy = (
            "the suprema are of the derivatives of h, and the value of an action is another function here"
        )
        raise InvalidInput("c3", "must be a number with this objective and these levels", "computed", remedy)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput(
            "c3", "must be a number where β is unbounded", "computed", "the suprema are over the levels of β"
        )
    return lipschitz_constants(
        known.link,
        known.bounds.phi,
        beta_low=low,
        beta_high=high,
        bound_theta=known.bounds.theta,
        variance_floor=policy.variance_floor,
        noise=known.noise,
    )
