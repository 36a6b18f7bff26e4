"""What a named radius is: a check of the policy's parameters, and a width for a given problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

import jax

from hrprob._core.errors import InvalidInput, check_choice, check_number
from hrprob._core.records import set_frozen
from hrprob._core.registry import Registry
from hrprob._core.types import Learned, PyTree, State
from hrprob.estimation.weighted import Belief, Estimates
from hrprob.policies.base import Seen
from hrprob.policies.learners import GLSEState, norm_of
from hrprob.policies.radii.parameters import ConstantsOfSets, OptimistParameters, RadiusParameters
from hrprob.policies.radii.rectangle import largest_value
from hrprob.problem import Known
from hrprob.problem.links.base import as_affine

__all__ = ["RADII", "Radii", "Radius", "Width", "check_delta", "check_radius", "check_scale", "register"]


if TYPE_CHECKING:
    import typing_extensions

    from hrprob.policies.optimism import OptimistState

    Parameters = typing_extensions.TypeVar("Parameters", contravariant=True, default=PyTree)
else:
    Parameters = TypeVar("Parameters")

C = TypeVar("C", bound=type)


class Radii(NamedTuple):
    """Bounds on the distances of θ* and φ* from their estimates, in the norm of V."""

    theta: jax.Array  # ()
    phi: jax.Array  # ()


class Width(Generic[State, Learned]):
    """The radii of a policy on one problem; a width that is estimated has a state of its own."""

    def init(self, known: Known) -> State:
        """Return the state before the first user."""
        return ()  # type: ignore[return-value]  # a width without a state of its own

    def update(self, state: State, learned: Learned, seen: Seen) -> State:
        """Return the state after an observation; ``learned`` is the estimator's state before it."""
        return state

    def depart(self, state: State, learned: Learned, user: jax.Array) -> State:
        """Return the state once ``user`` has left."""
        return state

    def radii(self, state: State, learned: Learned) -> Radii:
        """Return the radii around the estimates of ``learned``."""
        raise NotImplementedError

    def xi(self, state: State, learned: Learned) -> jax.Array:
        """Return ξ, the width of the index, at the estimates of ``learned``."""
        raise NotImplementedError

    def bonus(
        self: Width[State, GLSEState],
        policy: OptimistParameters,
        state: OptimistState[GLSEState],
        contexts: jax.Array,
    ) -> jax.Array:
        """Return what the paper's index adds to the value of each context (actions, d): ξ‖x‖ in the norm of V⁻¹."""
        return self.xi(state.width, state.learned) * norm_of(state.inverse, contexts)

    def largest_values(
        self: Width[State, GLSEState],
        policy: OptimistParameters,
        state: OptimistState[GLSEState],
        contexts: jax.Array,
        beta: jax.Array,
    ) -> jax.Array:
        """Return the largest value of each context (actions, d) within the confidence sets."""
        u, w = policy.plug_in(state.learned, contexts)
        norm, radii = norm_of(state.inverse, contexts), self.radii(state.width, state.learned)
        half_u, half_w = radii.theta * norm, as_affine(policy.known.link).slope * radii.phi * norm
        return largest_value(policy.known, contexts, beta, (u, half_u), (w, half_w), policy.variance_floor)

    def confidence_sets(
        self: Width[State, GLSEState], state: OptimistState[GLSEState]
    ) -> tuple[Estimates, Radii]:
        """Return the confidence sets for θ and φ: centres and shapes of two ellipsoids, and their radii."""
        theta, phi, inverse = state.learned.estimates
        shapes = Estimates(Belief(theta, inverse), Belief(phi, inverse))
        return shapes, self.radii(state.width, state.learned)


class Radius(Generic[Parameters]):
    """A named choice of the radii."""

    kind: ClassVar[str]
    # Whether it requires the parameter ``xi``, which is refused otherwise.
    takes_xi: ClassVar[bool] = False
    # Whether a factor on the radius, ``scale``, may be given.
    takes_scale: ClassVar[bool] = False
    # Whether it rests on all rounds that were ever sampled, and so cannot go with a policy that forgets.
    needs_all_rounds: ClassVar[bool] = False
    # Whether it requires a policy that estimates φ.
    needs_phi: ClassVar[bool] = False

    def check(self, policy: Parameters) -> None:
        """Check the policy's parameters that this choice uses."""

    def width(self, policy: Parameters, known: Known) -> Width:
        """Return the width of a policy with these parameters on a problem of which this is known."""
        raise NotImplementedError


RADII: Registry[Radius] = Registry(
    "radii", field="radius", package="hrprob.policies.radii", requires=("check", "width")
)
"""The radii of policies on the GLSE or on ridge regression."""


def register(kind: str) -> Callable[[C], C]:
    """Register a class as the radius ``kind``.

    Examples
    --------
    >>> list(RADII)
    ['calibrated', 'constant', 'corrected', 'explicit', 'likelihood-ratio', 'paper', 'released']
    """
    return RADII.register(kind)


def check_radius(policy: RadiusParameters, choices: Mapping[str, Radius]) -> None:
    """Check ``radius``, ``delta``, ``xi``, and what the chosen radius requires."""
    check_choice("radius", policy.radius, tuple(choices))
    chosen = choices[policy.radius]
    check_delta(policy)
    _check_xi(policy, required=chosen.takes_xi)
    chosen.check(policy)


def check_delta(policy: RadiusParameters) -> None:
    """Check δ."""
    remedy = "it is the probability that the confidence set misses the truth"
    delta = check_number("delta", policy.delta, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    set_frozen(policy, delta=delta)


def _check_xi(policy: RadiusParameters, *, required: bool) -> None:
    if required != (policy.xi is not None):
        must = 'must be given with radius = "constant" and only then'
        raise InvalidInput("xi", must, policy.xi, f"the radius is {policy.radius!r}")
    if policy.xi is not None:
        remedy = "it multiplies the norm of a context"
        set_frozen(policy, xi=check_number("xi", policy.xi, low=0, remedy=remedy))


def check_scale(policy: ConstantsOfSets, *, allowed: bool) -> None:
    """Check the factor on the radius, which only some radii have."""
    remedy = "it multiplies the radius of the set; below 1 the set promises nothing"
    scale = check_number("scale", policy.scale, low=0, remedy=remedy)
    if scale != 1.0 and not allowed:
        must = 'must be 1 unless radius = "likelihood-ratio"'
        raise InvalidInput("scale", must, policy.scale, f"the radius is {policy.radius!r}")
    set_frozen(policy, scale=scale)
