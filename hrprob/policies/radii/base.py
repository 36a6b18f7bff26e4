"""What a named radius is: a check of the policy's parameters, and a width for a given problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax

from hrprob._core.errors import InvalidInput, check_choice, check_number
from hrprob._core.records import set_frozen
from hrprob._core.registry import Registry
from hrprob.policies.base import Seen
from hrprob.problem import Known

__all__ = ["RADII", "Radii", "Radius", "Width", "check_delta", "check_radius", "register"]


class Radii(NamedTuple):
    """Bounds on the distances of θ* and φ* from their estimates, in the norm of V."""

    theta: jax.Array  # ()
    phi: jax.Array  # ()


class Width:
    """The radii of a policy on one problem; a width that is estimated has a state of its own."""

    def init(self, known: Known) -> Any:
        """Return the state before the first user."""
        return ()

    def update(self, state: Any, learned: Any, seen: Seen) -> Any:
        """Return the state after an observation; ``learned`` is the estimator's state before it."""
        return state

    def depart(self, state: Any, learned: Any, user: jax.Array) -> Any:
        """Return the state once ``user`` has left."""
        return state

    def radii(self, state: Any, learned: Any) -> Radii:
        """Return the radii around the estimates of ``learned``."""
        raise NotImplementedError

    def xi(self, state: Any, learned: Any) -> jax.Array:
        """Return ξ, the width of the index, at the estimates of ``learned``."""
        raise NotImplementedError


class Radius:
    """A named choice of the radii."""

    kind: ClassVar[str]
    # Whether it requires the parameter ``xi``, which is refused otherwise.
    takes_xi: ClassVar[bool] = False
    # Whether it requires a policy that estimates φ.
    needs_phi: ClassVar[bool] = False

    def check(self, policy: Any) -> None:
        """Check the policy's parameters that this choice uses."""

    def width(self, policy: Any, known: Known) -> Width:
        """Return the width of a policy with these parameters on a problem of which this is known."""
        raise NotImplementedError


C = TypeVar("C", bound=type)

RADII: Registry[Radius] = Registry(
    "radii", field="radius", package="hrprob.policies.radii", requires=("check", "width")
)
"""The radii of policies on the GLSE or on ridge regression."""


def register(kind: str) -> Callable[[C], C]:
    """Register a class as the radius ``kind``.

    Examples
    --------
    >>> list(RADII)
    ['calibrated', 'constant', 'corrected', 'explicit', 'paper', 'released']
    """
    return RADII.register(kind)


def check_radius(policy: Any, choices: Mapping[str, Radius]) -> None:
    """Check ``radius``, ``delta``, ``xi``, and what the chosen radius requires."""
    check_choice("radius", policy.radius, tuple(choices))
    chosen = choices[policy.radius]
    check_delta(policy)
    _check_xi(policy, required=chosen.takes_xi)
    chosen.check(policy)


def check_delta(policy: Any) -> None:
    """Check δ."""
    remedy = "it is the probability that the confidence set misses the truth"
    delta = check_number("delta", policy.delta, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    set_frozen(policy, delta=delta)


def _check_xi(policy: Any, *, required: bool) -> None:
    if required != (policy.xi is not None):
        must = 'must be given with radius = "constant" and only then'
        raise InvalidInput("xi", must, policy.xi, f"the radius is {policy.radius!r}")
    if policy.xi is not None:
        remedy = "it multiplies the norm of a context"
        set_frozen(policy, xi=check_number("xi", policy.xi, low=0, remedy=remedy))
