r"""What every noise offers: protocol, registry, and a base class with derivatives that are accurate in the tail.

Long lifetimes come from the lower tail, where Ψ falls to 1e-300. There 1/Ψ is still
an ordinary number while its textbook derivative −ψ/Ψ² is 0/0. The derivatives are
therefore computed through the reversed hazard rate m = ψ/Ψ:

.. math:: (1/\Psi)' = -m/\Psi, \qquad (\ln \Psi)' = m, \qquad m' = m\,(\psi'/\psi - m).

A new noise is one file: a class on the base :class:`Tailed`, decorated with :func:`register`, with ``log_density``,
``probability``, ``log_probability`` and ``draw``. A noise that knows more about itself can say so; averages over
satisfaction levels (:mod:`hrprob.problem.levels.distribution`) are then exact or faster:

==========================  =================================================================================
optional                    used for
==========================  =================================================================================
``tail``, ``tail_centre``   normal levels that are hidden: whether the average is finite, where it is large
``corners``, ``turns``,     where numerical integrals over Ψ and 1/Ψ are split
``sharp_turns``
``peak``                    normal levels that are hidden, where the tail has several laws
``lowest``                  whether some users never leave
``overshoot``               uniform levels that are redrawn, in closed form
``mean_reciprocal_cdf``     uniform levels that are hidden, in closed form
``normal_components``       normal levels that are redrawn, in closed form
``of_words``                noise of many rounds at once, made of two random words of each round
``fourth_moment``           standard errors of variance estimates
``sums_suffice``            likelihood-ratio sets of a policy, from the sums over a stay
``sub_gaussian_scale``      confidence sets; by default integrated numerically (:mod:`hrprob.noise.sub_gaussian`)
==========================  =================================================================================
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob._core.registry import Registry
from hrprob._core.types import Number
from hrprob.noise.sub_gaussian import integrated_scale

__all__ = ["NOISES", "Noise", "Tailed", "compiled", "normal_peak", "real", "register"]

# A fourth moment is integrated out to ± _FAR, in _PIECES pieces between corners with _NODES nodes each.
_FAR, _PIECES, _NODES = 40.0, 64, 16

# A call on plain numbers compiles one program per shape instead of one per operation. Inside a trace it changes
# nothing.
compiled = functools.partial(jax.jit, inline=True)


class Noise(Protocol):
    """A distribution of mean 0 and variance 1 that the theory can use."""

    kind: ClassVar[str]

    @property
    def tail(self) -> Number | None:
        """The sd of the normal density like which ψ falls in the lower tail; ∞ if slower, 0 if faster, None if unknown."""
        ...

    @property
    def lowest(self) -> Number:
        """The least value that a draw can have; −∞ if there is none."""
        ...

    @property
    def sub_gaussian_scale(self) -> float:
        """The least R with E exp(se) ≤ exp(R²s²/2) for every s, at least 1; ∞ if there is none."""
        ...

    def pdf(self, z: ArrayLike) -> jax.Array:
        """Return the density ψ(z)."""
        ...

    def cdf(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw below ``z``."""
        ...

    def survival(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw above ``z``, accurate where :meth:`cdf` rounds to 1."""
        ...

    def log_cdf(self, z: ArrayLike) -> jax.Array:
        """Return the logarithm of :meth:`cdf`, accurate where that underflows."""
        ...

    def reciprocal_cdf(self, z: ArrayLike) -> jax.Array:
        """Return 1 / cdf(z), with derivatives that are accurate in the tail."""
        ...

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds, from round ``start`` on (counted from 0)."""
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
    """Base of a noise that is defined by ln ψ and the values of Ψ and ln Ψ; derivatives follow.

    Derivatives are with respect to z only: the parameters of a noise are known.
    """

    kind: ClassVar[str]
    sums_suffice: ClassVar[bool] = False
    """Whether the likelihood of a stay depends on its outcomes through their number, sum and sum of squares alone."""

    @property
    def symmetric(self) -> bool:
        """Whether ψ(−z) = ψ(z), so that the upper tail is as accurate as the lower."""
        return False

    @property
    def tail(self) -> Number | None:
        """The sd of the normal density like which ψ falls in the lower tail; ∞ if slower, 0 if faster, None if unknown."""
        return None

    @property
    def tail_centre(self) -> Number:
        """The mean of the normal density like which ψ falls in the lower tail."""
        return 0.0

    @property
    def corners(self) -> tuple[Number, ...]:
        """Where integrals over Ψ are split, in ascending order: points about which Ψ is steep or not smooth."""
        return (0.0,)

    @property
    def turns(self) -> tuple[Number, ...]:
        """Where integrals of 1/Ψ over the whole line are split too: its lower tail changes its law there."""
        return ()

    @property
    def sharp_turns(self) -> tuple[Number, ...]:
        """Where integrals of 1/Ψ over a bounded range are split too: turns at which the law changes quickly."""
        return ()

    @property
    def lowest(self) -> Number:
        """The least value that a draw can have; −∞ if there is none."""
        return -math.inf

    @property
    def fourth_moment(self) -> float | None:
        """E[e⁴], which gives the variance of squared outcomes; None if it is not known to be finite."""
        return None if self.tail is None else _fourth_moment(self)

    @property
    def sub_gaussian_scale(self) -> float:
        """The least R with E exp(se) ≤ exp(R²s²/2) for every s, integrated numerically; ∞ if there is none."""
        return integrated_scale(self)

    def peak(self, shift: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the place and the width of the bump of exp(−t²/2)/Ψ(shift + slope·t) far below."""
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
        """Return the probability of a draw above ``z``; where ψ is not known to be symmetric, to an absolute 1e-16."""
        return _cdf(self, -real(z)) if self.symmetric else 1.0 - _cdf(self, real(z))

    @float64
    def log_cdf(self, z: ArrayLike) -> jax.Array:
        """Return the logarithm of :meth:`cdf`, accurate where that underflows."""
        return _log_cdf(self, real(z))

    @float64
    def reciprocal_cdf(self, z: ArrayLike) -> jax.Array:
        """Return 1 / cdf(z); infinite where that is below 1e-308."""
        return _reciprocal_cdf(self, real(z))


def normal_peak(noise: Noise | Tailed, shift: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
    r"""Return the place and the width of the bump of exp(−t²/2)/Ψ(shift + slope·t), if ψ falls like a normal density.

    With τ the standard deviation of that density and c its mean, 1/Ψ grows like :math:`\exp((z - c)^2/2\tau^2)`,
    and the product has a bump of width :math:`(1 - \varrho)^{-1/2}` at

    .. math:: t = \frac{(\text{shift} - c)\,\text{slope}}{\tau^2\,(1 - \varrho)},
        \qquad \varrho = \text{slope}^2/\tau^2 < 1 .
    """
    assert noise.tail is not None  # a noise whose tail is not known has no such bump
    rest = 1.0 - (slope / noise.tail) ** 2
    centre = getattr(noise, "tail_centre", 0.0)
    return (shift - centre) * slope / (noise.tail**2 * rest), 1.0 / jnp.sqrt(rest)


def _fourth_moment(noise: Tailed) -> float:
    """Return ∫ z⁴ ψ(z) dz piece by piece, for a ψ that falls at least as fast as a normal density."""
    ends = np.unique([-_FAR, *(float(z) for z in noise.corners if abs(float(z)) < _FAR), _FAR])
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
    """Return m = ψ/Ψ; 0 at an infinite z and where Ψ = 0, so that derivatives are 0 there."""
    log_probability = _log_cdf(noise, z)
    still = jnp.isinf(z) | jnp.isneginf(log_probability)
    gap = noise.log_density(jnp.where(still, 0.0, z)) - jnp.where(still, 0.0, log_probability)
    return jnp.where(still, 0.0, jnp.exp(gap))


@_cdf.defjvp
def _cdf_jvp(
    primals: tuple[Tailed, jax.Array], tangents: tuple[Tailed, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (noise, z), (_, dz) = primals, tangents
    return _cdf(noise, z), jnp.exp(noise.log_density(z)) * dz


@_log_cdf.defjvp
def _log_cdf_jvp(
    primals: tuple[Tailed, jax.Array], tangents: tuple[Tailed, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (noise, z), (_, dz) = primals, tangents
    return _log_cdf(noise, z), _reversed_hazard(noise, z) * dz


@_reciprocal_cdf.defjvp
def _reciprocal_cdf_jvp(
    primals: tuple[Tailed, jax.Array], tangents: tuple[Tailed, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (noise, z), (_, dz) = primals, tangents
    value, hazard = _reciprocal_cdf(noise, z), _reversed_hazard(noise, z)
    return value, jnp.where(hazard == 0.0, 0.0, -value * hazard) * dz
