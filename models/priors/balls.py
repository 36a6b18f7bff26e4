"""Distributions on a ball, and the map from ℝᵈ by which samplers reach it."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import gammainc
from numpyro.distributions import constraints, transforms

from hrprob._core.types import Number, PyTree
from hrprob.models.ball import ball_derivatives, from_ball, log_volume, to_ball
from hrprob.numerics.products import contract

__all__ = ["BallConstraint", "BallTransform", "NormalBall", "UniformBall"]

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


_BISECTIONS = 60


class BallConstraint(constraints.Constraint):
    """The ball ‖v‖ ≤ R."""

    event_dim = 1

    def __init__(self, radius: Number) -> None:
        self.radius = radius

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return which vectors lie in the ball."""
        return jnp.sum(jnp.square(x), axis=-1) <= jnp.square(self.radius)

    def feasible_like(self, prototype: jax.Array) -> jax.Array:
        """Return the centre."""
        return jnp.zeros_like(prototype)

    def from_normal(self, z: jax.Array) -> jax.Array:
        """Return the points (..., d) of unconstrained vectors z; a standard normal z becomes uniform."""
        return to_ball(z, self.radius)

    def to_normal(self, v: jax.Array) -> jax.Array:
        """Return z (..., d) of some points."""
        return from_ball(v, self.radius)

    def derivatives(self, z: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the Jacobian of :meth:`from_normal` at z (d,), and the Hessian of its product with ``weights``."""
        return ball_derivatives(z, self.radius, weights)

    def tree_flatten(self) -> tuple[tuple[Number], tuple[tuple[str], dict[str, object]]]:
        """Return the radius as the only leaf."""
        return (self.radius,), (("radius",), {})

    def eq(self, other: object, static: bool = False) -> bool | jax.Array:
        """Return whether two balls have the same radius."""
        if not isinstance(other, BallConstraint):
            return False
        return self.radius is other.radius if static else jnp.array_equal(self.radius, other.radius)


class BallTransform(transforms.Transform):
    """ℝᵈ onto the ball, such that a standard normal vector becomes uniform."""

    domain = constraints.real_vector

    def __init__(self, radius: Number) -> None:
        self.radius = radius

    @property
    def codomain(self) -> BallConstraint:
        """The ball."""
        return BallConstraint(self.radius)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the point of the ball for an unconstrained vector."""
        return to_ball(x, self.radius)

    def _inverse(self, y: jax.Array) -> jax.Array:
        return from_ball(y, self.radius)

    def log_abs_det_jacobian(self, x: jax.Array, y: jax.Array, intermediates: PyTree = None) -> jax.Array:
        """Return ln N(x; 0, I) + ln volume, since the image of the normal is uniform."""
        d = x.shape[-1]
        return -0.5 * contract(x, x) - d * _HALF_LOG_2PI + log_volume(d, self.radius)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same shape."""
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same shape."""
        return shape

    def tree_flatten(self) -> tuple[tuple[Number], tuple[tuple[str], dict[str, object]]]:
        """Return the radius as the only leaf."""
        return (self.radius,), (("radius",), {})

    def eq(self, other: object, static: bool = False) -> bool | jax.Array:
        """Return whether two maps are onto the same ball."""
        return isinstance(other, BallTransform) and self.codomain.eq(other.codomain, static)


@transforms.biject_to.register(BallConstraint)
def _onto_ball(constraint: BallConstraint) -> BallTransform:
    return BallTransform(constraint.radius)


class UniformBall(dist.Distribution):
    """The uniform distribution on the ball ‖v‖ ≤ ``radius`` in ``dimension`` dimensions.

    Examples
    --------
    >>> draw = UniformBall(2.0, 3).sample(jax.random.key(0), (5,))
    >>> bool((jnp.linalg.norm(draw, axis=-1) <= 2.0).all())
    True
    """

    reparametrized_params = ("radius",)
    pytree_data_fields = ("radius",)

    def __init__(self, radius: Number, dimension: int, *, validate_args: bool | None = None) -> None:
        self.radius = jnp.asarray(radius, dtype=float)
        super().__init__(self.radius.shape, (dimension,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> BallConstraint:
        """The ball."""
        return BallConstraint(self.radius)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws of shape ``(*sample_shape, d)``."""
        return to_ball(
            jax.random.normal(key, sample_shape + self.batch_shape + self.event_shape), self.radius
        )

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return −ln volume, and −∞ outside."""
        inside = self.support(value) | jnp.isclose(jnp.linalg.norm(value, axis=-1), self.radius)
        return jnp.where(inside, -log_volume(self.event_shape[0], self.radius), -jnp.inf)


class NormalBall(dist.Distribution):
    """N(0, (share · radius)² I) truncated to the ball ‖v‖ ≤ ``radius``."""

    pytree_data_fields = ("radius", "share")

    def __init__(
        self, radius: Number, share: Number, dimension: int, *, validate_args: bool | None = None
    ) -> None:
        self.radius = jnp.asarray(radius, dtype=float)
        self.share = jnp.asarray(share, dtype=float)
        super().__init__(self.radius.shape, (dimension,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> BallConstraint:
        """The ball."""
        return BallConstraint(self.radius)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws of shape ``(*sample_shape, d)``: a direction, and a length by bisection."""
        by_direction, by_length = jax.random.split(key)
        shape = sample_shape + self.batch_shape
        direction = jax.random.normal(by_direction, shape + self.event_shape)
        direction = direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)
        wanted = jax.random.uniform(by_length, shape) * self._inside(1.0)

        def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = ends
            middle = 0.5 * (low + high)
            below = self._inside(middle) < wanted
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, (jnp.zeros(shape), jnp.ones(shape)))
        return direction * (0.5 * (low + high) * self.radius)[..., None]

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return the log density, −∞ outside."""
        d = self.event_shape[0]
        sd = self.share * self.radius
        inside = self.support(value) | jnp.isclose(jnp.linalg.norm(value, axis=-1), self.radius)
        density = -0.5 * contract(value, value) / sd**2 - d * (_HALF_LOG_2PI + jnp.log(sd))
        return jnp.where(inside, density - jnp.log(self._inside(1.0)), -jnp.inf)

    def _inside(self, part: Number) -> jax.Array:
        """Return the probability that the normal vector before truncation has norm at most ``part`` · radius."""
        return gammainc(0.5 * self.event_shape[0], 0.5 * jnp.square(part / self.share))
