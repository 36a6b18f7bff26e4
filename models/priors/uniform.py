"""Priors uniform on the balls."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from hrprob._core.types import Number
from hrprob.models.priors.balls import UniformBall
from hrprob.models.priors.base import register
from hrprob.models.setting import Setting

__all__ = ["Uniform"]


@register("uniform")
class Uniform:
    """θ and φ independent and uniform on their balls.

    Examples
    --------
    >>> from hrprob.models import Setting
    >>> Uniform().theta(Setting(dimension=3)).event_shape
    (3,)
    """

    kind: ClassVar[str]
    is_uniform: ClassVar[bool] = True

    def theta(self, setting: Setting) -> dist.Distribution:
        """Return the uniform distribution on ‖θ‖ ≤ ``bounds.theta``."""
        return UniformBall(setting.bounds.theta, setting.dimension)

    def phi(self, setting: Setting) -> dist.Distribution:
        """Return the uniform distribution on ‖φ‖ ≤ ``bounds.phi``."""
        return UniformBall(setting.bounds.phi, setting.dimension)

    def theta_precision(self, setting: Setting) -> Number:
        """Return 0: the uniform distribution is the limit of a normal one."""
        return 0.0

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return 0."""
        return jnp.zeros(jnp.shape(theta)[:-1])
