"""Normal priors truncated to the balls."""

from __future__ import annotations

from typing import ClassVar

import jax
import numpyro.distributions as dist

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Number
from hrprob.models.priors.balls import NormalBall
from hrprob.models.priors.base import register
from hrprob.models.setting import Setting
from hrprob.numerics.products import contract

__all__ = ["Gaussian"]


@register("gaussian")
class Gaussian:
    """θ and φ independent, N(0, (share · bound)² I) each, truncated to their balls.

    Parameters
    ----------
    theta_share, phi_share : float
        Standard deviation of each entry as a share of the ball's radius.

    Examples
    --------
    >>> from hrprob.models import Setting
    >>> Gaussian(theta_share=0.25).phi(Setting(dimension=3)).event_shape
    (3,)
    """

    kind: ClassVar[str]
    theta_share: float = 0.5
    phi_share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("theta_share", "phi_share"):
            remedy = "it is a standard deviation, as a share of the bound of the norm"
            set_frozen(
                self, **{name: check_number(name, getattr(self, name), low=0, open_low=True, remedy=remedy)}
            )

    def theta(self, setting: Setting) -> dist.Distribution:
        """Return the normal distribution truncated to ‖θ‖ ≤ ``bounds.theta``."""
        return NormalBall(setting.bounds.theta, self.theta_share, setting.dimension)

    def phi(self, setting: Setting) -> dist.Distribution:
        """Return the normal distribution truncated to ‖φ‖ ≤ ``bounds.phi``."""
        return NormalBall(setting.bounds.phi, self.phi_share, setting.dimension)

    def theta_precision(self, setting: Setting) -> Number:
        """Return the precision of each entry of θ before the truncation."""
        return (self.theta_share * setting.bounds.theta) ** -2.0

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return −‖θ‖²/2σ_θ² − ‖φ‖²/2σ_φ²."""
        at_theta = contract(theta, theta) / (self.theta_share * setting.bounds.theta) ** 2
        at_phi = contract(phi, phi) / (self.phi_share * setting.bounds.phi) ** 2
        return -0.5 * (at_theta + at_phi)
