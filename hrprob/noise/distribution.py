"""The noise of a distribution that somebody else wrote: an outcome model of a few lines.

Its tail is as good as the distribution's own ``cdf``; the kinds beside this file reach
further down. The upper tail is 1 − ``cdf``, right to 1e-16 of the whole and no further, but for
the distributions that are known to be symmetric: there it is the lower one, mirrored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob.errors import InvalidInput
from hrprob.noise.base import Tailed
from hrprob.precision import double_precision, float64, is_traced
from hrprob.record import describe, record
from hrprob.source import Purpose, Source

__all__ = ["FromDistribution"]

# NumPyro's distributions that are symmetric about their mean, which is 0 here.
_SYMMETRIC = ("Laplace", "Logistic", "Normal", "StudentT")

# Those that are what is inside them.
_WRAPPERS = ("ExpandedDistribution", "Independent", "MaskedDistribution")

# How far a moment may be off: parameters in single precision are right to 1e-7.
_TOLERANCE = 1e-6


@record()
class FromDistribution(Tailed):
    """The noise of a NumPyro distribution of mean 0 and variance 1.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
        It needs ``log_prob`` and ``cdf``, and ``icdf`` where outcomes are drawn from it. Its ``mean``
        and ``variance`` are checked where it has them.

    Examples
    --------
    >>> import numpyro.distributions as dist
    >>> noise = FromDistribution(dist.Laplace(0.0, 0.5**0.5))
    >>> f"{noise.inverse_chance(-2.0):.3f}"
    '33.838'
    """

    kind: ClassVar[str] = "distribution"
    distribution: Any

    def __post_init__(self) -> None:
        _check_moment(self.distribution, "mean", 0.0, "shift it by that much")
        _check_moment(self.distribution, "variance", 1.0, "divide its scale by the root of that")

    @property
    def symmetric(self) -> bool:
        """Whether the distribution is known to be, by its name."""
        return type(self.distribution).__name__ in _SYMMETRIC

    @property
    def lowest(self) -> Any:
        """The lower end of the distribution's support, where that says one."""
        return _ends(self.distribution)[0]

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        return self.distribution.log_prob(z)

    def chance(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        return self._ask("cdf", z, "it is the chance of reneging; or give the model a `noise`")

    def log_chance(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        return jnp.log(self.chance(z))

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of some rounds."""
        uniform = source.uniform(Purpose.NOISE, (rounds,), start)
        return self._ask("icdf", uniform, "outcomes are drawn through it")

    def described(self) -> dict[str, Any]:
        """Return the distribution's name and parameters, for a record of a run."""
        return {"distribution": _described(self.distribution)}

    def _ask(self, method: str, value: jax.Array, remedy: str) -> jax.Array:
        ask: Callable[[jax.Array], jax.Array] = getattr(self.distribution, method)
        try:
            return ask(value)
        except NotImplementedError:
            kind = type(self.distribution).__name__
            raise InvalidInput("noise", f"must be a distribution with `{method}`", kind, remedy) from None


@float64
def _ends(distribution: Any) -> tuple[Any, Any]:
    """Return the least and the largest value that a draw can have, as far as the distribution says."""
    inside = _inside(distribution)
    if not inside:
        return _ends_of_support(distribution)
    ends = [_ends(part) for part in inside]
    low, high = (jnp.asarray(end, dtype=float) for end in zip(*ends, strict=True))
    # Where it is transformed its own support is that of the last transform, whatever was transformed. A cdf
    # goes through monotone transforms only, and these take ends to ends.
    for transform in getattr(distribution, "transforms", ()):
        one, other = transform(low), transform(high)
        low, high = jnp.minimum(one, other), jnp.maximum(one, other)
    return jnp.min(low), jnp.max(high)


def _inside(distribution: Any) -> list[Any]:
    """Return the distributions whose draws, transformed or not, are those of this one; none if it is made of none."""
    name = type(distribution).__name__
    if hasattr(distribution, "transforms") or name in _WRAPPERS:
        return [distribution.base_dist]
    if name == "MixtureSameFamily":
        return [distribution.component_distribution]
    return list(distribution.component_distributions) if name == "MixtureGeneral" else []


def _ends_of_support(distribution: Any) -> tuple[Any, Any]:
    try:
        support = distribution.support
    except NotImplementedError:
        return -math.inf, math.inf
    low, high = getattr(support, "lower_bound", -math.inf), getattr(support, "upper_bound", math.inf)
    return jnp.min(jnp.asarray(low, dtype=float)), jnp.max(jnp.asarray(high, dtype=float))


def _check_moment(distribution: Any, name: str, wanted: float, mend: str) -> None:
    """Raise if a moment is known, and not what it must be."""
    with double_precision():
        try:
            moment = getattr(distribution, name)
        except (AttributeError, NotImplementedError):
            return
    if is_traced(moment):
        return
    values = np.asarray(moment, dtype=float)
    if np.any(np.isfinite(values) & (np.abs(values - wanted) > _TOLERANCE)):
        remedy = f"{mend}; of a model, `outcome(u, w)` must have mean u and variance w"
        raise InvalidInput("noise", f"must have {name} {wanted:g}", values, remedy)


def _described(part: Any) -> Any:
    # Only here, for it takes a second and few runs need it.
    import numpyro.distributions as dist

    if not isinstance(part, dist.Distribution):
        return describe(part)
    cls = type(part)
    names = sorted({*cls.gather_pytree_data_fields(), *cls.gather_pytree_aux_fields()})
    held = {name: _described(vars(part).get(name)) for name in names if not name.startswith("_")}
    return {"kind": cls.__name__} | {name: value for name, value in held.items() if value is not None}
