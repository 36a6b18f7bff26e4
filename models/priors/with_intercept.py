r"""Intercepts of mean and variance beside another prior of the slopes.

Where a table of one's own has contexts scaled to norm 1, the levels of mean and variance are no part of that norm. With
a first entry 1 in every context, the first entries of θ and φ are intercepts:

.. math:: \mathbb{E}\, r = \theta_0 + \theta_{1:}^\top x, \qquad \mathbb{V}\, r = f(\phi_0 + \phi_{1:}^\top x), \qquad
    \theta_0 \sim N(m_\theta, s_\theta^2), \quad \phi_0 \sim N(m_\phi, s_\phi^2),

independent of the slopes, which have their own prior on the balls of the bounds. An intercept is m + s·z with z standard
normal, so that the prior is standard normal in z where that of the slopes is uniform, and every engine takes it.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms

from hrprob._core.errors import check_count, check_number
from hrprob._core.records import set_frozen, with_fields
from hrprob._core.types import AsWritten, Number, PyTree
from hrprob.models.priors.balls import BallConstraint, BallTransform
from hrprob.models.priors.base import is_uniform, make_prior, register
from hrprob.models.setting import Setting

__all__ = ["InterceptAndBall", "WithIntercept"]


class InterceptAndBall(BallConstraint):
    """A number, which is m + s·z with z standard normal, followed by a vector of the ball ‖v‖ ≤ R."""

    def __init__(self, radius: Number, location: Number, sd: Number) -> None:
        super().__init__(radius)
        self.location, self.sd = location, sd

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return which vectors have all entries but the first in the ball."""
        return super().__call__(x[..., 1:])

    def from_normal(self, z: jax.Array) -> jax.Array:
        """Return intercept and slopes of unconstrained vectors z (..., d)."""
        return jnp.concatenate([self.location + self.sd * z[..., :1], super().from_normal(z[..., 1:])], -1)

    def to_normal(self, v: jax.Array) -> jax.Array:
        """Return z (..., d) of intercepts and slopes."""
        return jnp.concatenate([(v[..., :1] - self.location) / self.sd, super().to_normal(v[..., 1:])], -1)

    def derivatives(self, z: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the Jacobian of :meth:`from_normal` at z (d,), and the Hessian of its product with ``weights``."""
        jacobian, hessian = super().derivatives(z[1:], weights[1:])
        blank = jnp.zeros((z.shape[0], z.shape[0]))
        return blank.at[1:, 1:].set(jacobian).at[0, 0].set(self.sd), blank.at[1:, 1:].set(hessian)

    def tree_flatten(self) -> PyTree:
        """Return radius, location and standard deviation as leaves."""
        names = ("radius", "location", "sd")
        return tuple(getattr(self, name) for name in names), (names, {})

    def eq(self, other: object, static: bool = False) -> bool | jax.Array:
        """Return whether two supports have the same numbers."""
        if not isinstance(other, InterceptAndBall):
            return False
        return super().eq(other, static)


class _Onto(transforms.Transform):
    """ℝᵈ onto an :class:`InterceptAndBall`."""

    domain = constraints.real_vector

    def __init__(self, support: InterceptAndBall) -> None:
        self.support = support

    @property
    def codomain(self) -> InterceptAndBall:
        """Intercept and ball."""
        return self.support

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return intercept and slopes."""
        return self.support.from_normal(x)

    def _inverse(self, y: jax.Array) -> jax.Array:
        return self.support.to_normal(y)

    def log_abs_det_jacobian(self, x: jax.Array, y: jax.Array, intermediates: PyTree = None) -> jax.Array:
        """Return ln s, and that of the ball's map."""
        ball = BallTransform(self.support.radius)
        return jnp.log(self.support.sd) + ball.log_abs_det_jacobian(x[..., 1:], y[..., 1:])

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same shape."""
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same shape."""
        return shape

    def tree_flatten(self) -> PyTree:
        """Return the support as the only part."""
        return (self.support,), (("support",), {})


@transforms.biject_to.register(InterceptAndBall)
def _onto(support: InterceptAndBall) -> _Onto:
    return _Onto(support)


class InterceptAndSlopes(dist.Distribution):
    """N(location, sd²) for the first entry, and another distribution on a ball for the others."""

    pytree_data_fields = ("location", "sd", "slopes")

    def __init__(
        self,
        location: Number,
        sd: Number,
        slopes: dist.Distribution,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.location, self.sd = jnp.asarray(location, dtype=float), jnp.asarray(sd, dtype=float)
        self.slopes = slopes
        super().__init__(slopes.batch_shape, (slopes.event_shape[0] + 1,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> InterceptAndBall:
        """Any number, and the ball of the slopes."""
        return InterceptAndBall(self.slopes.support.radius, self.location, self.sd)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws of shape ``(*sample_shape, d)``."""
        by_intercept, by_slopes = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape, 1)
        first = self.location + self.sd * jax.random.normal(by_intercept, shape)
        return jnp.concatenate([first, self.slopes.sample(by_slopes, sample_shape)], axis=-1)

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return the log density."""
        away = (value[..., 0] - self.location) / self.sd
        of_intercept = -0.5 * away**2 - jnp.log(self.sd) - 0.5 * math.log(2.0 * math.pi)
        return of_intercept + self.slopes.log_prob(value[..., 1:])


@register("with-intercept")
class WithIntercept:
    """Intercepts of mean and variance, normal and independent, beside another prior of the slopes.

    The first entry of every context must be 1: ``fit(..., intercept=True)`` puts it there and makes this prior, with
    locations and standard deviations from the data.

    Parameters
    ----------
    slopes : str, table or Prior
        The prior of the other entries of θ and φ, on the balls of the bounds.
    theta_location, theta_sd : float
        Mean and standard deviation of the intercept of the mean.
    phi_location, phi_sd : float
        Mean and standard deviation of the intercept of φᵀx, which the link takes to the variance.

    Examples
    --------
    >>> from hrprob.models import Setting
    >>> from hrprob.problem import LogLink
    >>> prior = WithIntercept(theta_location=3.0)
    >>> prior.theta(Setting(dimension=3, link=LogLink())).sample(jax.random.key(0)).shape
    (3,)
    """

    kind: ClassVar[str]
    slopes: AsWritten = "uniform"
    theta_location: float = 0.0
    theta_sd: float = 2.5
    phi_location: float = 0.0
    phi_sd: float = 2.5

    def __post_init__(self) -> None:
        set_frozen(self, slopes=make_prior(self.slopes))
        for name in ("theta_location", "phi_location"):
            set_frozen(self, **{name: check_number(name, getattr(self, name), remedy="it is a mean")})
        for name in ("theta_sd", "phi_sd"):
            remedy = "it is a standard deviation"
            set_frozen(
                self, **{name: check_number(name, getattr(self, name), low=0, open_low=True, remedy=remedy)}
            )

    @property
    def is_uniform(self) -> bool:
        """Whether the slopes are uniform on their balls: then the whole is standard normal in z."""
        return is_uniform(self.slopes)

    def of_slopes(self, setting: Setting) -> Setting:
        """Return the setting of the slopes alone."""
        remedy = "the intercept is one entry of a context, and there is at least one slope"
        check_count("dimension", setting.dimension, low=2, remedy=remedy)
        return with_fields(setting, dimension=setting.dimension - 1)

    def theta(self, setting: Setting) -> dist.Distribution:
        """Return the distribution of the intercept of the mean and its slopes."""
        slopes = self.slopes.theta(self.of_slopes(setting))
        return InterceptAndSlopes(self.theta_location, self.theta_sd, slopes)

    def phi(self, setting: Setting) -> dist.Distribution:
        """Return the distribution of the intercept of φᵀx and its slopes."""
        slopes = self.slopes.phi(self.of_slopes(setting))
        return InterceptAndSlopes(self.phi_location, self.phi_sd, slopes)

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return that of the slopes: intercepts are normal in z already."""
        tilt: jax.Array = self.slopes.log_tilt(theta[..., 1:], phi[..., 1:], self.of_slopes(setting))
        return tilt
