"""The protocol of priors, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import numpyro
import numpyro.distributions as dist

from hrprob._core.registry import Registry
from hrprob._core.types import Number
from hrprob.models.claims import keeps_claim
from hrprob.models.priors.balls import BallConstraint
from hrprob.models.setting import Setting

__all__ = [
    "PRIORS",
    "Prior",
    "has_theta_precision",
    "is_uniform",
    "make_prior",
    "radii",
    "register",
    "sample",
    "supports",
    "theta_precision",
]

P = TypeVar("P", bound=type)


class Prior(Protocol):
    """What models and engines require of a prior."""

    kind: ClassVar[str]

    def theta(self, setting: Setting) -> dist.Distribution:
        """Return the distribution of θ, on a ball of radius ``bounds.theta`` or less."""
        ...

    def phi(self, setting: Setting) -> dist.Distribution:
        """Return the distribution of φ, on a ball of radius ``bounds.phi`` or less."""
        ...

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return the log density (...) of θ and φ (..., d) within those balls, up to a constant."""
        ...


PRIORS: Registry[Prior] = Registry(
    "priors", field="prior", package="hrprob.models.priors", requires=("kind", "theta", "phi", "log_tilt")
)
"""All priors."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[P], P]:
    """Make a class a prior with the name ``kind``, by which a saved posterior finds it again.

    Examples
    --------
    >>> "uniform" in PRIORS.kinds()
    True
    """
    return PRIORS.register(kind, static=static)


def make_prior(prior: object) -> Prior:
    """Return a prior: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_prior("uniform").kind
    'uniform'
    """
    return PRIORS.make(prior)


def radii(prior: Prior, setting: Setting) -> tuple[Number, Number]:
    """Return the radii of the balls that a prior of θ and φ is on.

    Examples
    --------
    >>> [float(radius) for radius in radii(make_prior("uniform"), Setting(dimension=3))]
    [1.0, 2.0]
    """
    of_theta, of_phi = supports(prior, setting)
    return of_theta.radius, of_phi.radius


def supports(prior: Prior, setting: Setting) -> tuple[BallConstraint, BallConstraint]:
    """Return what a prior of θ and φ is on, with the maps by which engines in ℝᵈ reach it.

    Examples
    --------
    >>> of_theta, _ = supports(make_prior("uniform"), Setting(dimension=3))
    >>> of_theta.from_normal(jax.numpy.zeros(3)).tolist()
    [0.0, 0.0, 0.0]
    """
    return prior.theta(setting).support, prior.phi(setting).support


_DENSITY = ("theta", "phi", "log_tilt")


def is_uniform(prior: Prior) -> bool:
    """Say whether θ and φ are uniform on their balls: the prior says so, and has not changed its density since.

    Examples
    --------
    >>> is_uniform(make_prior("uniform")), is_uniform(make_prior("gaussian"))
    (True, False)
    """
    return bool(getattr(prior, "is_uniform", False)) and keeps_claim(type(prior), "is_uniform", _DENSITY)


def theta_precision(prior: Prior, setting: Setting) -> Number | None:
    """Return κ₀ of a prior under which θ is N(0, I/κ₀) truncated to its ball, independent of φ; else None.

    A prior of this kind has a method ``theta_precision``; 0 stands for the uniform distribution. A subclass that
    changes the distributions must state it anew.

    Examples
    --------
    >>> float(theta_precision(make_prior("gaussian"), Setting(dimension=3)))
    4.0
    """
    if not has_theta_precision(prior):
        return None
    precision: Number = prior.theta_precision(setting)  # type: ignore[attr-defined]
    return precision


def has_theta_precision(prior: Prior) -> bool:
    """Say whether a prior has a :func:`theta_precision`, without computing it."""
    return keeps_claim(type(prior), "theta_precision", _DENSITY)


def sample(prior: Prior, setting: Setting) -> tuple[jax.Array, jax.Array]:
    """Sample θ and φ within a NumPyro program."""
    return numpyro.sample("theta", prior.theta(setting)), numpyro.sample("phi", prior.phi(setting))
