r"""What is believed of θ and φ before anything is seen, by name.

=============  =============================================================
``uniform``    uniform on the balls ‖θ‖ ≤ ``bounds.theta``, ‖φ‖ ≤ ``bounds.phi``
``gaussian``   N(0, (share · bound)² I) cut to the same balls
=============  =============================================================

Both are NumPyro distributions on a ball. Engines that work in ℝᵈ (NUTS, normal guides,
Laplace) reach the ball by the map of :mod:`hrprob.models.ball`, which makes the uniform
prior a standard normal one: there are no walls to run into, and f(φᵀx) stays positive.

A prior of one's own has the three methods of :class:`Prior` and a name (:func:`register`). It may
be on smaller balls than the bounds allow, and the engines then work on those; it cannot be on
anything else. A class in full::

    from hrprob.models import priors

    @priors.register("half")
    class Half(priors.Uniform):
        \"\"\"Uniform, with norms of half the bounds at most.\"\"\"

        def theta(self, setting):
            return priors.UniformBall(0.5 * setting.bounds.theta, setting.dimension)

        def phi(self, setting):
            return priors.UniformBall(0.5 * setting.bounds.phi, setting.dimension)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammainc
from numpyro.distributions import constraints, transforms

from hrprob.errors import InvalidInput, check_number
from hrprob.estimation.contraction import contract
from hrprob.models.ball import from_ball, log_volume, to_ball
from hrprob.models.setting import Setting
from hrprob.precision import double_precision
from hrprob.record import enter, settle
from hrprob.tables import make_named

__all__ = ["Gaussian", "NormalBall", "Prior", "Uniform", "UniformBall", "make_prior", "register"]

P = TypeVar("P", bound=type)
_REGISTRY: dict[str, type[Any]] = {}
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_BISECTIONS = 60


class Prior(Protocol):
    """What the models and the engines ask of a prior."""

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


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[P], P]:
    """Make a class a prior that can be named ``kind``, and found again by a saved posterior.

    Examples
    --------
    >>> register("uniform")(Gaussian)
    Traceback (most recent call last):
        ...
    hrprob.errors.InvalidInput: `kind` must not be taken, got 'uniform': it belongs to Uniform of hrprob.models.priors
    """

    def decorate(cls: P) -> P:
        return enter(_REGISTRY, kind, cls, static)

    return decorate


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

    def theta(self, setting: Setting) -> dist.Distribution:
        """Return the uniform distribution on ‖θ‖ ≤ ``bounds.theta``."""
        return UniformBall(setting.bounds.theta, setting.dimension)

    def phi(self, setting: Setting) -> dist.Distribution:
        """Return the uniform distribution on ‖φ‖ ≤ ``bounds.phi``."""
        return UniformBall(setting.bounds.phi, setting.dimension)

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return 0."""
        return jnp.zeros(jnp.shape(theta)[:-1])


@register("gaussian")
class Gaussian:
    """θ and φ independent, N(0, (share · bound)² I) each, cut to their balls.

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
    theta_share: Any = 0.5
    phi_share: Any = 0.5

    def __post_init__(self) -> None:
        for name in ("theta_share", "phi_share"):
            remedy = "it is a standard deviation, as a share of the bound of the norm"
            settle(
                self, **{name: check_number(name, getattr(self, name), low=0, open_low=True, remedy=remedy)}
            )

    def theta(self, setting: Setting) -> dist.Distribution:
        """Return the normal distribution cut to ‖θ‖ ≤ ``bounds.theta``."""
        return NormalBall(setting.bounds.theta, self.theta_share, setting.dimension)

    def phi(self, setting: Setting) -> dist.Distribution:
        """Return the normal distribution cut to ‖φ‖ ≤ ``bounds.phi``."""
        return NormalBall(setting.bounds.phi, self.phi_share, setting.dimension)

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return −‖θ‖²/2σ_θ² − ‖φ‖²/2σ_φ²."""
        at_theta = contract(theta, theta) / (self.theta_share * setting.bounds.theta) ** 2
        at_phi = contract(phi, phi) / (self.phi_share * setting.bounds.phi) ** 2
        return -0.5 * (at_theta + at_phi)


class _Ball(constraints.Constraint):
    """The ball ‖v‖ ≤ R."""

    event_dim = 1

    def __init__(self, radius: Any) -> None:
        self.radius = radius

    def __call__(self, x: Any) -> Any:
        return jnp.sum(jnp.square(x), axis=-1) <= jnp.square(self.radius)

    def feasible_like(self, prototype: Any) -> Any:
        """Return the centre."""
        return jnp.zeros_like(prototype)

    def tree_flatten(self) -> Any:
        """Return the radius as the only leaf."""
        return (self.radius,), (("radius",), {})

    def eq(self, other: object, static: bool = False) -> Any:
        """Say whether two balls have the same radius."""
        if not isinstance(other, _Ball):
            return False
        return self.radius is other.radius if static else jnp.array_equal(self.radius, other.radius)


class BallTransform(transforms.Transform):
    """ℝᵈ onto the ball, such that a standard normal vector becomes uniform."""

    domain = constraints.real_vector

    def __init__(self, radius: Any) -> None:
        self.radius = radius

    @property
    def codomain(self) -> Any:
        """The ball."""
        return _Ball(self.radius)

    def __call__(self, x: Any) -> Any:
        return to_ball(x, self.radius)

    def _inverse(self, y: Any) -> Any:
        return from_ball(y, self.radius)

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Return ln N(x; 0, I) + ln volume: uniform is what normal becomes."""
        d = x.shape[-1]
        return -0.5 * contract(x, x) - d * _HALF_LOG_2PI + log_volume(d, self.radius)

    def forward_shape(self, shape: Any) -> Any:
        """Return the same shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the same shape."""
        return shape

    def tree_flatten(self) -> Any:
        """Return the radius as the only leaf."""
        return (self.radius,), (("radius",), {})

    def eq(self, other: object, static: bool = False) -> Any:
        """Say whether two maps are onto the same ball."""
        return isinstance(other, BallTransform) and self.codomain.eq(other.codomain, static)


@transforms.biject_to.register(_Ball)
def _onto_ball(constraint: Any) -> BallTransform:
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

    def __init__(self, radius: Any, dimension: int, *, validate_args: bool | None = None) -> None:
        self.radius = jnp.asarray(radius, dtype=float)
        super().__init__(self.radius.shape, (dimension,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> Any:
        """The ball."""
        return _Ball(self.radius)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws of shape (*sample_shape, d)."""
        return to_ball(
            jax.random.normal(key, sample_shape + self.batch_shape + self.event_shape), self.radius
        )

    def log_prob(self, value: Any) -> Any:
        """Return −ln volume, and −∞ outside."""
        inside = self.support(value) | jnp.isclose(jnp.linalg.norm(value, axis=-1), self.radius)
        return jnp.where(inside, -log_volume(self.event_shape[0], self.radius), -jnp.inf)


class NormalBall(dist.Distribution):
    """N(0, (share · radius)² I) cut to the ball ‖v‖ ≤ ``radius``."""

    pytree_data_fields = ("radius", "share")

    def __init__(self, radius: Any, share: Any, dimension: int, *, validate_args: bool | None = None) -> None:
        self.radius = jnp.asarray(radius, dtype=float)
        self.share = jnp.asarray(share, dtype=float)
        super().__init__(self.radius.shape, (dimension,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> Any:
        """The ball."""
        return _Ball(self.radius)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws of shape (*sample_shape, d): a direction, and a length by bisection."""
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

    def log_prob(self, value: Any) -> Any:
        """Return the log density, −∞ outside."""
        d = self.event_shape[0]
        deviation = self.share * self.radius
        inside = self.support(value) | jnp.isclose(jnp.linalg.norm(value, axis=-1), self.radius)
        density = -0.5 * contract(value, value) / deviation**2 - d * (_HALF_LOG_2PI + jnp.log(deviation))
        return jnp.where(inside, density - jnp.log(self._inside(1.0)), -jnp.inf)

    def _inside(self, part: Any) -> Any:
        """Return the chance that the uncut vector has norm at most ``part`` · radius."""
        return gammainc(0.5 * self.event_shape[0], 0.5 * jnp.square(part / self.share))


def make_prior(prior: Any) -> Any:
    """Return a prior: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_prior("uniform").kind
    'uniform'
    """
    return prior if is_prior(prior) else make_named("prior", prior, _REGISTRY)


def is_prior(value: Any) -> bool:
    """Say whether something is a prior, one's own included; a class of priors is none.

    Examples
    --------
    >>> is_prior(Uniform()), is_prior(Uniform), is_prior("uniform")
    (True, False, False)
    """
    asked = ("kind", "theta", "phi", "log_tilt")
    return not isinstance(value, type) and all(hasattr(value, name) for name in asked)


def check_record(prior: Any) -> None:
    """Raise unless a prior can travel through JAX, as what :func:`register` makes can."""
    if any(leaf is prior for leaf in jax.tree.leaves(prior)):
        remedy = f"put @hrprob.models.priors.register('a-name') above the class {type(prior).__name__}"
        raise InvalidInput("prior", "must be a record", type(prior).__name__, remedy)


def check_prior(prior: Any, setting: Setting) -> None:
    """Raise unless all engines see one and the same density in a prior, on balls within the bounds.

    Some look at the distributions of θ and φ, the others at ``log_tilt``.
    """
    if type(prior) in (Uniform, Gaussian):
        return
    with double_precision():
        of_theta = _told(prior, "theta", lambda: prior.theta(setting))
        of_phi = _told(prior, "phi", lambda: prior.phi(setting))
        _check_part("theta", of_theta, setting)
        _check_part("phi", of_phi, setting)
        z = jax.random.normal(jax.random.key(0), (5, 2, setting.dimension))
        theta, phi = to_ball(z[:, 0], of_theta.support.radius), to_ball(z[:, 1], of_phi.support.radius)
        density = _told(prior, "theta", lambda: of_theta.log_prob(theta))
        density = density + _told(prior, "phi", lambda: of_phi.log_prob(phi))
        tilt = _told(prior, "log_tilt", lambda: jnp.asarray(prior.log_tilt(theta, phi, setting), dtype=float))
    remedy = "it is ln p(θ) + ln p(φ) up to a constant, one number for each pair of (..., d)"
    # What is the same everywhere may be one number.
    if tilt.shape not in ((), density.shape):
        must = f"must have a `log_tilt` of shape {density.shape} for θ and φ of shape {theta.shape}"
        raise InvalidInput("prior", must, tilt.shape, remedy)
    # A density is finite inside the balls; large ones differ by their last digits.
    if not np.ptp(np.asarray(density - tilt)) < 1e-6 + 1e-9 * np.max(np.abs(density)):
        raise InvalidInput("prior", "must have distributions and a `log_tilt` that agree", prior.kind, remedy)


def _told(prior: Any, name: str, ask: Callable[[], Any]) -> Any:
    """Return what a method of somebody's prior answers, or raise what says which one failed, and how."""
    try:
        return ask()
    except InvalidInput:
        raise
    except (AttributeError, TypeError, ValueError) as error:
        must = f"must have a `{name}` as in hrprob.models.priors.Prior, and parameters that it can use"
        # Messages of JAX go on for many lines; the first one says what is wrong.
        remedy = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        raise InvalidInput("prior", must, prior.kind, remedy) from error


def _check_part(name: str, found: Any, setting: Setting) -> None:
    """Raise unless one of a prior's two distributions is on a ball within the bound of its norm."""
    if not _on_ball(found, setting.dimension):
        must = f"must have `{name}` on a ball in {setting.dimension} dimensions"
        remedy = "return a UniformBall or NormalBall of hrprob.models.priors, or a distribution with the support of one"
        raise InvalidInput("prior", must, type(found).__name__, remedy)
    radius, bound = float(found.support.radius), float(getattr(setting.bounds, name))
    if not 0.0 < radius <= bound * (1.0 + 1e-6):
        must = f"must have `{name}` on a ball of radius in (0, {bound:g}]"
        raise InvalidInput("prior", must, radius, f"raise `bounds.{name}`, or make the ball smaller")


def _on_ball(found: Any, dimension: int) -> bool:
    """Say whether something is one distribution, on a ball in so many dimensions."""
    if not isinstance(found, dist.Distribution):
        return False
    shape = tuple(found.batch_shape), tuple(found.event_shape)
    return shape == ((), (dimension,)) and isinstance(found.support, _Ball)


def radii(prior: Any, setting: Setting) -> tuple[Any, Any]:
    """Return the radii of the balls that a prior of θ and φ is on.

    Examples
    --------
    >>> [float(radius) for radius in radii(Uniform(), Setting(dimension=3))]
    [1.0, 2.0]
    """
    return prior.theta(setting).support.radius, prior.phi(setting).support.radius


def sample(prior: Prior, setting: Setting) -> tuple[jax.Array, jax.Array]:
    """Sample θ and φ within a NumPyro program."""
    return numpyro.sample("theta", prior.theta(setting)), numpyro.sample("phi", prior.phi(setting))
