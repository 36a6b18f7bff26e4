"""Checks that every engine can use a prior of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.models.ball import to_ball
from hrprob.models.priors.balls import BallConstraint
from hrprob.models.priors.base import Prior
from hrprob.models.priors.gaussian import Gaussian
from hrprob.models.priors.uniform import Uniform
from hrprob.models.priors.with_intercept import WithIntercept
from hrprob.models.setting import Setting

T = TypeVar("T")

__all__ = ["check_prior", "check_record"]


def check_record(prior: Prior) -> None:
    """Raise unless a prior is a JAX pytree, as classes made with :func:`register` are."""
    if any(leaf is prior for leaf in jax.tree.leaves(prior)):
        remedy = f"put @hrprob.models.priors.register('a-name') above the class {type(prior).__name__}"
        raise InvalidInput("prior", "must be a record", type(prior).__name__, remedy)


def check_prior(prior: Prior, setting: Setting) -> None:
    """Raise unless the two forms of a prior's density agree, on balls within the bounds.

    Some engines use the distributions of θ and φ, the others ``log_tilt``.
    """
    if type(prior) in (Uniform, Gaussian):
        return
    if isinstance(prior, WithIntercept):
        check_prior(prior.slopes, prior.of_slopes(setting))
        return
    with double_precision():
        of_theta = _result_of(prior, "theta", lambda: prior.theta(setting))
        of_phi = _result_of(prior, "phi", lambda: prior.phi(setting))
        _check_part("theta", of_theta, setting)
        _check_part("phi", of_phi, setting)
        z = jax.random.normal(jax.random.key(0), (5, 2, setting.dimension))
        theta, phi = to_ball(z[:, 0], of_theta.support.radius), to_ball(z[:, 1], of_phi.support.radius)
        density = _result_of(prior, "theta", lambda: of_theta.log_prob(theta))
        density = density + _result_of(prior, "phi", lambda: of_phi.log_prob(phi))
        tilt = _result_of(
            prior, "log_tilt", lambda: jnp.asarray(prior.log_tilt(theta, phi, setting), dtype=float)
        )
    remedy = "it is ln p(θ) + ln p(φ) up to a constant, one number for each pair of (..., d)"
    # A constant may be a single number.
    if tilt.shape not in ((), density.shape):
        must = f"must have a `log_tilt` of shape {density.shape} for θ and φ of shape {theta.shape}"
        raise InvalidInput("prior", must, tilt.shape, remedy)
    # A density is finite inside the balls; large ones differ in their last digits.
    if not np.ptp(np.asarray(density - tilt)) < 1e-6 + 1e-9 * np.max(np.abs(density)):
        raise InvalidInput("prior", "must have distributions and a `log_tilt` that agree", prior.kind, remedy)


def _result_of(prior: Prior, name: str, ask: Callable[[], T]) -> T:
    """Return the result of a method of a prior, or raise an error that names the method and the cause."""
    try:
        return ask()
    except InvalidInput:
        raise
    except (AttributeError, TypeError, ValueError) as error:
        must = f"must have a `{name}` as in hrprob.models.priors.Prior, and parameters that it can use"
        # Messages of JAX have many lines; the first one names the cause.
        remedy = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        raise InvalidInput("prior", must, prior.kind, remedy) from error


def _check_part(name: str, distribution: dist.Distribution, setting: Setting) -> None:
    """Raise unless one of a prior's two distributions is on a ball within the bound of its norm."""
    if not _on_ball(distribution, setting.dimension):
        must = f"must have `{name}` on a ball in {setting.dimension} dimensions"
        remedy = "return a UniformBall or NormalBall of hrprob.models.priors, or a distribution with the support of one"
        raise InvalidInput("prior", must, type(distribution).__name__, remedy)
    radius, bound = float(distribution.support.radius), float(getattr(setting.bounds, name))
    if not 0.0 < radius <= bound * (1.0 + 1e-6):
        must = f"must have `{name}` on a ball of radius in (0, {bound:g}]"
        raise InvalidInput("prior", must, radius, f"raise `bounds.{name}`, or make the ball smaller")


def _on_ball(value: object, dimension: int) -> bool:
    """Return whether an object is a single distribution on a ball in this many dimensions."""
    if not isinstance(value, dist.Distribution):
        return False
    shape = tuple(value.batch_shape), tuple(value.event_shape)
    return shape == ((), (dimension,)) and isinstance(value.support, BallConstraint)
