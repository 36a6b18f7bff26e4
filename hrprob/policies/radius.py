r"""How wide the optimism of HR-UCB and its kin is, by name.

===========  ==================================================================
name         radii of the sets for θ and φ before a user, with n = |S|, at least 1
===========  ==================================================================
paper        α⁽¹⁾_n(δ) and ρ_n(δ/n²) as printed
corrected    the same with the slips of Lemma 1 and Theorem 1 mended
released     α⁽¹⁾_n(δ) at n = K·T throughout, for both: what the released program computes
constant     the number ``xi``, for both
calibrated   1 − δ quantiles of a parametric bootstrap (:mod:`hrprob.policies.calibrated`)
===========  ==================================================================

The paper's index adds ξ‖x‖ in the norm of V⁻¹, with ξ = C₃·(radius for θ) + C₄·(radius for φ);
"released" and "constant" give ξ itself.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal, NamedTuple, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_choice, check_number
from hrprob._core.records import record, set_frozen, with_fields
from hrprob.estimation.confidence import VERSIONS, ConfidenceSets, lipschitz_constants
from hrprob.policies.base import Learner, Seen
from hrprob.problem import Known, Lifetime, Problem, RedrawnLevels

__all__ = [
    "RADII",
    "ConstantWidth",
    "Optimist",
    "OptimistState",
    "Radii",
    "TheoreticalWidth",
    "Width",
    "check_delta",
    "check_xi",
    "variance_max_of",
]

RADII = (*VERSIONS, "released", "constant", "calibrated")
# What `bind` turns into a width, and no program needs to know after that.
_SPENT = ("delta", "xi", "variance_max", "c1", "c2", "c3", "c4")


class Radii(NamedTuple):
    """How far θ* and φ* may be from their estimates, in the norm of V."""

    theta: jax.Array  # ()
    phi: jax.Array  # ()


class Width:
    """How wide optimism is; one that learns keeps what it needs in a state of its own."""

    def init(self, known: Known) -> Any:
        """Return the state before the first user."""
        return ()

    def update(self, state: Any, learned: Any, seen: Seen) -> Any:
        """Return the state after what was seen, ``learned`` being the estimator's state before it."""
        return state

    def depart(self, state: Any, learned: Any, user: jax.Array) -> Any:
        """Return the state once ``user`` has left."""
        return state

    def radii(self, state: Any, samples: jax.Array) -> Radii:
        """Return the radii with ``samples`` rounds in S."""
        raise NotImplementedError

    def xi(self, state: Any, samples: jax.Array) -> jax.Array:
        """Return ξ with ``samples`` rounds in S."""
        raise NotImplementedError


@record()
class ConstantWidth(Width):
    """The same number for every user."""

    value: Any

    def radii(self, state: Any, samples: jax.Array) -> Radii:
        """Return the number, twice."""
        return Radii(jnp.asarray(self.value), jnp.asarray(self.value))

    def xi(self, state: Any, samples: jax.Array) -> jax.Array:
        """Return the number."""
        return jnp.asarray(self.value)


@record()
class TheoreticalWidth(Width):
    """What follows from the confidence sets."""

    sets: ConfidenceSets
    delta: Any

    def radii(self, state: Any, samples: jax.Array) -> Radii:
        """Return α⁽¹⁾ and ρ."""
        n = jnp.maximum(samples, 1.0)
        return Radii(self.sets.alpha1(n, self.delta), self.sets.rho_simultaneous(n, self.delta))

    def xi(self, state: Any, samples: jax.Array) -> jax.Array:
        """Return ξ."""
        return self.sets.xi(jnp.maximum(samples, 1.0), self.delta)


class OptimistState(NamedTuple):
    """What an estimator has learned, and the state of the width around it."""

    learned: Any
    width: Any

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size

    @property
    def inverse(self) -> jax.Array:
        """V⁻¹."""
        return self.learned.inverse

    @property
    def statistics(self) -> Any:
        """The sums that the estimates come from."""
        return self.learned.statistics

    @property
    def estimates(self) -> Any:
        """The estimates."""
        return self.learned.estimates


@record(static=("radius",))
class Optimist(Learner):
    """A policy with a width around its estimates; it stands before the estimator among the bases.

    Parameters
    ----------
    growth : float
        K, the growth of the sample set a user.
    delta : float
        δ, the probability that a confidence set misses.
    radius : {"paper", "corrected", "released", "constant", "calibrated"}
        How wide; see :mod:`hrprob.policies.radius`.
    xi : float, optional
        The number itself, with ``radius="constant"``.
    variance_max : float, optional
        σ²_max; f at the bound of φ unless given.
    c1, c2, c3, c4 : float
        Constants that the theory leaves open; c3 and c4 may be "computed".
    """

    offered: ClassVar[tuple[str, ...]] = RADII

    growth: Any = dataclasses.field(default=5.0, kw_only=True)
    delta: Any = 0.1
    radius: Any = "released"
    xi: Any = None
    variance_max: Any = None
    c1: Any = 1.0
    c2: Any = 1.0
    c3: Any = 1.0
    c4: Any = 1.0
    width: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Check what bears on the width."""
        check_choice("radius", self.radius, self.offered)
        check_delta(self)
        check_xi(self)
        if self.radius == "released" and self.growth is None:
            remedy = "its ξ is taken at n = growth · users"
            raise InvalidInput("growth", 'must be given with radius = "released"', None, remedy)
        _check_constants(self)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its width settled for this problem."""
        bound = super().bind(problem, users)
        # The width says it all from here on: without the rest, radii that are numbers share a program.
        spent = dict.fromkeys(_SPENT)
        return with_fields(bound, width=_width_of(self, bound.known), radius="settled", **spent)

    def init(self) -> Any:
        """Return the state before the first user."""
        return OptimistState(super().init(), self.width.init(self.known))

    def update(self, state: Any, seen: Seen) -> Any:
        """Learn from what was seen."""
        width = self.width.update(state.width, state.learned, seen)
        return OptimistState(super().update(state.learned, seen), width)

    def depart(self, state: OptimistState, user: jax.Array) -> OptimistState:
        """Let the width follow, where it learns."""
        return state._replace(width=self.width.depart(state.width, state.learned, user))


def check_delta(policy: Any) -> None:
    """Check δ."""
    remedy = "it is the probability that the set misses"
    delta = check_number("delta", policy.delta, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    set_frozen(policy, delta=delta)


def check_xi(policy: Any) -> None:
    """Check that ξ is given where the radius asks for it."""
    if (policy.radius == "constant") != (policy.xi is not None):
        raise InvalidInput(
            "xi",
            'must be given with radius = "constant" and only then',
            policy.xi,
            f"the radius is {policy.radius!r}",
        )
    if policy.xi is not None:
        remedy = "it multiplies the norm of a context"
        set_frozen(policy, xi=check_number("xi", policy.xi, low=0, remedy=remedy))


def _check_constants(policy: Any) -> None:
    # As floats, so that 3 and 3.0 are the same program.
    if policy.variance_max is not None:
        remedy = "it is σ²_max, the largest variance of an outcome"
        largest = check_number("variance_max", policy.variance_max, low=0, open_low=True, remedy=remedy)
        set_frozen(policy, variance_max=largest)
    for name in ("c1", "c2"):
        remedy = "the theory leaves it open"
        set_frozen(
            policy, **{name: check_number(name, getattr(policy, name), low=0, open_low=True, remedy=remedy)}
        )
    for name in ("c3", "c4"):
        value = getattr(policy, name)
        if value != "computed":
            remedy = 'a number, or "computed" from the derivatives of h'
            set_frozen(policy, **{name: check_number(name, value, low=0, remedy=remedy)})


def variance_max_of(known: Known, variance_max: float | None) -> float:
    """Return σ²_max: as told, or else f at the bound of φ."""
    return float(known.link(known.bounds.phi)) if variance_max is None else variance_max


def _width_of(policy: Any, known: Known) -> Width:
    """Return the width that a policy's ``radius`` names."""
    if policy.radius == "constant":
        return ConstantWidth(float(policy.xi))
    constants = _constants(policy, known)
    if policy.radius == "calibrated":
        from hrprob.policies.calibrated import bootstrap_width

        return bootstrap_width(policy, known, **constants)
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
        **constants,
    )
    if policy.radius == "released":
        return ConstantWidth(float(sets.alpha1(policy.growth * known.users, policy.delta)))
    return TheoreticalWidth(sets, policy.delta)


def _constants(policy: Any, known: Known) -> dict[str, float]:
    """Return C₃ and C₄, computed where asked for."""
    told = {name: getattr(policy, name) for name in ("c3", "c4")}
    if "computed" not in told.values():
        return told
    found = _computed_constants(policy, known)
    return {name: getattr(found, name) if value == "computed" else value for name, value in told.items()}


def _computed_constants(policy: Any, known: Known) -> Any:
    low, high = known.satisfaction.support
    if not isinstance(known.objective, Lifetime) or isinstance(known.satisfaction, RedrawnLevels):
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
