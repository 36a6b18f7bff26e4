"""Noise from a NumPyro distribution, so that an outcome model needs only a few lines.

The tail is as accurate as the distribution's own ``cdf``; the other kinds of noise are accurate further down. The
upper tail is 1 − ``cdf``, with an absolute error of 1e-16; distributions that are known to be symmetric use the lower
tail, mirrored. NumPyro is not imported here: a program that passes one of its distributions has imported it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision, float64, is_traced
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import describe, record
from hrprob._core.types import Decoded, Number
from hrprob.noise.base import Tailed, real

if TYPE_CHECKING:
    from numpyro.distributions import Distribution

__all__ = ["FromDistribution", "probability_below"]

# Distributions that are symmetric about their mean, which is 0 here.
_SYMMETRIC = ("Laplace", "Logistic", "Normal", "StudentT")

# Distributions that only wrap another one.
_WRAPPERS = ("ExpandedDistribution", "Independent", "MaskedDistribution")

# The error of a moment that is tolerated: parameters in single precision are accurate to 1e-7.
_TOLERANCE = 1e-6


@record()
class FromDistribution(Tailed):
    """The noise of a NumPyro distribution of mean 0 and variance 1.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
        It needs ``log_prob`` and ``cdf``, and ``icdf`` if outcomes are drawn from it. Its ``mean``
        and ``variance`` are checked if it has them.

    Examples
    --------
    >>> import numpyro.distributions as dist
    >>> noise = FromDistribution(dist.Laplace(0.0, 0.5**0.5))
    >>> f"{noise.reciprocal_cdf(-2.0):.3f}"
    '33.838'
    """

    kind: ClassVar[str] = "distribution"
    distribution: Distribution

    def __post_init__(self) -> None:
        _check_moment(self.distribution, "mean", 0.0, "shift it by that much")
        _check_moment(self.distribution, "variance", 1.0, "divide its scale by the root of that")

    @property
    def symmetric(self) -> bool:
        """Whether the distribution is known to be symmetric, by its name."""
        return type(self.distribution).__name__ in _SYMMETRIC

    @property
    def lowest(self) -> Number:
        """The lower end of the distribution's support; −∞ if it states none."""
        return _extremes(self.distribution)[0]

    @property
    def corners(self) -> tuple[Number, ...]:
        """The finite ends of the support, and 0."""
        low, high = (jnp.where(jnp.isfinite(end), end, 0.0) for end in _extremes(self.distribution))
        return low, 0.0, high

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        low, high = ends(self.distribution)
        inside = (low < z) & (z < high)
        density = self.distribution.log_prob(jnp.where(inside, z, _between(low, high)))
        return jnp.where(inside, density, -jnp.inf)

    def probability(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        remedy = "it is the probability of reneging; or give the model a `noise`"
        return probability_below(self.distribution, z, lambda z: self._ask("cdf", z, remedy))

    def log_probability(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        return jnp.log(self.probability(z))

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds."""
        uniform = source.uniform(Purpose.NOISE, (rounds,), start)
        return self._ask("icdf", uniform, "outcomes are drawn through it")

    def described(self) -> dict[str, object]:
        """Return the distribution as plain data: its name and parameters."""
        return {"distribution": _described(self.distribution)}

    def _ask(self, method: str, value: jax.Array, remedy: str) -> jax.Array:
        ask: Callable[[jax.Array], jax.Array] = getattr(self.distribution, method)
        kind = type(self.distribution).__name__
        try:
            return ask(value)
        except NotImplementedError:
            raise InvalidInput("noise", f"must be a distribution with `{method}`", kind, remedy) from None
        except ImportError as error:  # some of NumPyro's distributions need another package
            must = f"must be a distribution whose `{method}` can be computed here"
            raise InvalidInput("noise", must, kind, f"{remedy}; {error}") from None


def probability_below(
    distribution: Distribution, z: jax.Array, cdf: Callable[[jax.Array], jax.Array]
) -> jax.Array:
    """Return the probability of a draw below ``z``: 0 and 1 outside the support, where NumPyro's ``cdf`` is not defined.

    Examples
    --------
    >>> import numpyro.distributions as dist
    >>> one = dist.Exponential(1.0)
    >>> [f"{probability:.3f}" for probability in one.cdf(jnp.array([-1.0, 1.0]))]
    ['-1.718', '0.632']
    >>> [f"{probability:.3f}" for probability in probability_below(one, jnp.array([-1.0, 1.0]), one.cdf)]
    ['0.000', '0.632']
    """
    low, high = ends(distribution)
    probability = cdf(jnp.where((low < z) & (z < high), z, _between(low, high)))
    return jnp.where(z <= low, 0.0, jnp.where(z >= high, 1.0, probability))


def _between(low: Number, high: Number) -> jax.Array:
    """Return a point inside the support, to replace points outside."""
    below, above = jnp.isfinite(low), jnp.isfinite(high)
    bounded = jnp.where(below, low, 0.0) + jnp.where(above, high, 0.0)
    return jnp.where(below & above, 0.5 * bounded, bounded + 1.0 * below - 1.0 * above)


@float64
def ends(distribution: Distribution) -> tuple[jax.Array, jax.Array]:
    """Return the least and the largest value that a draw can have; infinite where the distribution states none."""
    inside = _inside(distribution)
    if not inside:
        return _ends_of_support(distribution)
    lows, highs = zip(*(ends(part) for part in inside), strict=True)
    low, high = functools.reduce(jnp.minimum, lows), functools.reduce(jnp.maximum, highs)
    # The support of a transformed distribution is stated by its last transform, whatever was transformed. A cdf
    # exists for monotone transforms only, and these map ends to ends.
    for transform in getattr(distribution, "transforms", ()):
        one, other = transform(low), transform(high)
        low, high = jnp.minimum(one, other), jnp.maximum(one, other)
    if type(distribution).__name__ == "MixtureSameFamily":
        # The last axis is that of the components.
        shape = distribution.component_distribution.batch_shape
        low, high = (jnp.broadcast_to(end, shape) for end in (low, high))
        return jnp.min(low, axis=-1), jnp.max(high, axis=-1)
    return low, high


@float64
def _extremes(distribution: Distribution) -> tuple[jax.Array, jax.Array]:
    """Return the least and the largest value of any of the distributions of a batch."""
    low, high = ends(distribution)
    return jnp.min(low), jnp.max(high)


def _inside(distribution: Distribution) -> list[Distribution]:
    """Return the distributions of which this one is made, by a transform or as a mixture; none if it is elementary."""
    name = type(distribution).__name__
    if hasattr(distribution, "transforms") or name in _WRAPPERS:
        return [distribution.base_dist]
    if name == "MixtureSameFamily":
        return [distribution.component_distribution]
    return list(distribution.component_distributions) if name == "MixtureGeneral" else []


def _ends_of_support(distribution: Distribution) -> tuple[jax.Array, jax.Array]:
    try:
        support = distribution.support
    except NotImplementedError:
        support = None
    low, high = getattr(support, "lower_bound", -math.inf), getattr(support, "upper_bound", math.inf)
    return real(low), real(high)


def _check_moment(distribution: Distribution, name: str, wanted: float, mend: str) -> None:
    """Raise if a moment is known and differs from ``wanted``; an infinite moment and NaN do."""
    with double_precision():
        moment = _moment(distribution, name)
    if moment is None or is_traced(moment):
        return
    values = np.asarray(moment, dtype=float)
    if not np.all(np.abs(values - wanted) <= _TOLERANCE):
        remedy = f"{mend}; of a model, `outcome(u, w)` must have mean u and variance w"
        raise InvalidInput("noise", f"must have {name} {wanted:g}", values, remedy)


def _moment(distribution: Distribution, name: str) -> Number | None:
    """Return the mean or the variance, also through affine transforms; None if it is not known."""
    try:
        return getattr(distribution, name)
    except (AttributeError, NotImplementedError):
        transforms = getattr(distribution, "transforms", ())
    if not transforms or any(type(one).__name__ != "AffineTransform" for one in transforms):
        return None
    moment = _moment(distribution.base_dist, name)
    for one in transforms:
        if moment is not None:
            moment = one.loc + one.scale * moment if name == "mean" else one.scale**2 * moment
    return moment


def _described(part: Distribution) -> Decoded:
    """Return a distribution as its name and parameters, which may be distributions too; anything else as it is."""
    cls = type(part)
    if not hasattr(cls, "gather_pytree_data_fields"):
        return describe(part)
    names = sorted({*cls.gather_pytree_data_fields(), *cls.gather_pytree_aux_fields()})
    fields = {name: _described(vars(part).get(name)) for name in names if not name.startswith("_")}
    return {"kind": cls.__name__} | {name: value for name, value in fields.items() if value is not None}
