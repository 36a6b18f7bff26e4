r"""What every noise offers, and derivatives that are right in the lower tail.

Long lifetimes live in the lower tail, where Ψ falls to 1e-300. There 1/Ψ is still
an ordinary number while its textbook derivative −ψ/Ψ² is 0/0. The derivatives are
therefore taken through the reversed hazard rate m = ψ/Ψ:

.. math:: (1/\Psi)' = -m/\Psi, \qquad (\ln \Psi)' = m, \qquad m' = m\,(\psi'/\psi - m).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob._core.registry import Registry

__all__ = ["NOISES", "Noise", "Tailed", "compiled", "normal_peak", "real", "register"]

# How far a fourth moment is summed up, in how many pieces between corners, with how many nodes each.
_FAR, _PIECES, _NODES = 40.0, 64, 16

# A plain call then compiles one program for each shape, not one for every operation; within a trace
# the operations are laid out as if this were not here.
compiled = functools.partial(jax.jit, inline=True)


class Noise(Protocol):
    """A distribution of mean 0 and variance 1 that the theory can use."""

    kind: ClassVar[str]

    @property
    def tail(self) -> Any:
        """The deviation of the normal density that ψ falls like below; ∞ if slower, 0 if faster, None if unknown."""
        ...

    @property
    def lowest(self) -> Any:
        """The least value that a draw can have."""
        ...

    def pdf(self, z: ArrayLike) -> jax.Array:
        """Return the density ψ(z)."""
        ...

    def cdf(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw below ``z``."""
        ...

    def survival(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw above ``z``, right where :meth:`cdf` rounds to 1."""
        ...

    def log_cdf(self, z: ArrayLike) -> jax.Array:
        """Return the logarithm of :meth:`cdf`, right where that underflows."""
        ...

    def reciprocal_cdf(self, z: ArrayLike) -> jax.Array:
        """Return 1 / cdf(z), with derivatives that are right in the tail."""
        ...

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of some rounds, from round ``start`` on (counted from 0)."""
        ...


C = TypeVar("C", bound=type)

NOISES: Registry[Noise] = Registry(
    "noises", field="noise", package="hrprob.noise", requires=("cdf", "reciprocal_cdf", "draw")
)
"""All noises."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a kind of noise, as :meth:`hrprob._core.registry.Registry.register` does."""
    return NOISES.register(kind, static=static)


def real(z: ArrayLike) -> jax.Array:
    """Return ``z`` as an array of floats."""
    return jnp.asarray(z, dtype=float)


class Tailed:
    """A noise by its log density and the values of Ψ and ln Ψ; the derivatives follow.

    They are along z. The parameters of a noise are known, and nothing is differentiated
    along them.
    """

    @property
    def symmetric(self) -> bool:
        """Whether ψ(−z) = ψ(z), so that the upper tail is as good as the lower."""
        return False

    @property
    def tail(self) -> Any:
        """The deviation of the normal density that ψ falls like below; ∞ if slower, 0 if faster, None if unknown."""
        return None

    @property
    def tail_centre(self) -> Any:
        """The centre of that normal density."""
        return 0.0

    @property
    def corners(self) -> tuple[Any, ...]:
        """Where integrals over Ψ are best split, from the lowest: Ψ is smooth between, and steep beside."""
        return (0.0,)

    @property
    def turns(self) -> tuple[Any, ...]:
        """Where integrals over 1/Ψ are best split too: its lower tail changes its law there. Empty if it has one law."""
        return ()

    @property
    def lowest(self) -> Any:
        """The least value that a draw can have."""
        return -math.inf

    @property
    def fourth_moment(self) -> float | None:
        """E[e⁴], by which squared outcomes scatter; None if it is not known to be finite."""
        return None if self.tail is None else _fourth_moment(self)

    def peak(self, shift: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return where exp(−t²/2)/Ψ(shift + slope·t) is largest far below, and how wide it is there."""
        return normal_peak(self, shift, slope)

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        raise NotImplementedError

    def probability(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        raise NotImplementedError

    def log_probability(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        raise NotImplementedError

    @float64
    def log_pdf(self, z: ArrayLike) -> jax.Array:
        """Return the log density at ``z``."""
        return self.log_density(real(z))

    @float64
    def pdf(self, z: ArrayLike) -> jax.Array:
        """Return the density at ``z``."""
        return jnp.exp(self.log_density(real(z)))

    @float64
    def cdf(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw below ``z``."""
        return _cdf(self, real(z))

    @float64
    def survival(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw above ``z``; of a ψ not known to be symmetric, only to 1e-16 of the whole."""
        return _cdf(self, -real(z)) if self.symmetric else 1.0 - _cdf(self, real(z))

    @float64
    def log_cdf(self, z: ArrayLike) -> jax.Array:
        """Return the logarithm of :meth:`cdf`, right where that underflows."""
        return _log_cdf(self, real(z))

    @float64
    def reciprocal_cdf(self, z: ArrayLike) -> jax.Array:
        """Return 1 / cdf(z); infinite where that is below 1e-308."""
        return _reciprocal_cdf(self, real(z))


def normal_peak(noise: Any, shift: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
    r"""Return where exp(−t²/2)/Ψ(shift + slope·t) is largest if ψ falls like a normal density, and how wide it is there.

    With τ the deviation of that density and c its centre, 1/Ψ grows like :math:`\exp((z - c)^2/2\tau^2)`,
    and the product is a bump of width :math:`(1 - \varrho)^{-1/2}` at

    .. math:: t = \frac{(\text{shift} - c)\,\text{slope}}{\tau^2\,(1 - \varrho)},
        \qquad \varrho = \text{slope}^2/\tau^2 < 1 .
    """
    rest = 1.0 - (slope / noise.tail) ** 2
    centre = getattr(noise, "tail_centre", 0.0)
    return (shift - centre) * slope / (noise.tail**2 * rest), 1.0 / jnp.sqrt(rest)


def _fourth_moment(noise: Tailed) -> float:
    """Return ∫ z⁴ ψ(z) dz of a noise that falls at least as fast as a normal density, piece by piece."""
    ends = np.unique([-_FAR, *(float(z) for z in noise.corners if abs(z) < _FAR), _FAR])
    cuts = np.concatenate(
        [np.linspace(low, high, _PIECES + 1)[:-1] for low, high in pairwise(ends)] + [[_FAR]]
    )
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(cuts)[:, None] / 2
    z = cuts[:-1, None] + half * (1.0 + nodes)
    return float(np.sum(half * weights * z**4 * np.asarray(noise.pdf(z))))


@jax.custom_jvp
@compiled
def _cdf(noise: Tailed, z: jax.Array) -> jax.Array:
    return noise.probability(z)


@jax.custom_jvp
@compiled
def _log_cdf(noise: Tailed, z: jax.Array) -> jax.Array:
    return noise.log_probability(z)


@jax.custom_jvp
@compiled
def _reciprocal_cdf(noise: Tailed, z: jax.Array) -> jax.Array:
    return 1.0 / noise.probability(z)


def _reversed_hazard(noise: Tailed, z: jax.Array) -> jax.Array:
    """Return m = ψ/Ψ; 0 where nothing moves: at an infinite z, and where Ψ = 0."""
    log_probability = _log_cdf(noise, z)
    still = jnp.isinf(z) | jnp.isneginf(log_probability)
    gap = noise.log_density(jnp.where(still, 0.0, z)) - jnp.where(still, 0.0, log_probability)
    return jnp.where(still, 0.0, jnp.exp(gap))


@_cdf.defjvp
def _cdf_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, Any]:
    (noise, z), (_, dz) = primals, tangents
    return _cdf(noise, z), jnp.exp(noise.log_density(z)) * dz


@_log_cdf.defjvp
def _log_cdf_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, Any]:
    (noise, z), (_, dz) = primals, tangents
    return _log_cdf(noise, z), _reversed_hazard(noise, z) * dz


@_reciprocal_cdf.defjvp
def _reciprocal_cdf_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, Any]:
    (noise, z), (_, dz) = primals, tangents
    value, hazard = _reciprocal_cdf(noise, z), _reversed_hazard(noise, z)
    return value, jnp.where(hazard == 0.0, 0.0, -value * hazard) * dz
