r"""Levels with a normal distribution: β = mean + sd·t, t standard normal.

**Redrawn levels.** Where the noise is normal, or a mixture of normal components, outcome and level are both normal
within each component, and the probability of reneging is in closed form:

.. math:: \mathbb{E}_\beta[\Psi] = \sum_k p_k\,
    \Phi\!\left(\frac{\text{mean} - u - \sqrt{w}\,m_k}{\sqrt{w s_k^2 + \text{sd}^2}}\right).

**Kept levels.** :math:`\mathbb{E}_\beta[h]` has no closed form. Its integrand
:math:`\exp(-t^2/2)/\Psi(\text{shift} + \text{slope}\cdot t)` is the normal density, and possibly a second bump far
below it: low levels are rare, but have very long lifetimes. With a noise that falls like a normal density of
standard deviation τ (``tail``) the average is finite only if deviation² < w·τ²; see
:func:`~hrprob.noise.base.normal_peak` for where the bump lies.
"""

from __future__ import annotations

import math
from typing import ClassVar, Protocol, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import Number
from hrprob.lifetime import Nodes
from hrprob.noise import NORMAL, Noise
from hrprob.noise.base import normal_peak
from hrprob.problem.levels.base import register
from hrprob.problem.levels.distribution import LevelDistribution
from hrprob.problem.levels.quadrature import (
    evaluations_over_pieces,
    mean_and_sd,
    mean_over_pieces,
    normal_nodes,
)

__all__ = ["NormalLevels"]

# A normal distribution has 1e-19 of its mass more than this many standard deviations from its mean.
_REACH = 9.0

# The interval is split at these multiples of the bump's width from its centre.
_ABOUT = (-3.0, 0.0, 3.0, 9.0)

# A bump is ignored if the logarithm of its height is below that at the mean level by more than this.
_NEGLIGIBLE = 60.0

# A bump more than this many of its widths below the mean is 1e10 times the rest of the average.
_FAR_BUMP = 7.0

# The nodes then lie evenly over this many widths on either side of it.
_HALF_WIDTHS = 9.0

# Below this standardised level, weights underflow and are kept as logarithms.
_FAR_DOWN = -8.0

# Levels whose variance is above this share of the one that makes the average infinite are refused.
_MOST_RATIO = 0.99


@register("normal")
class NormalLevels(LevelDistribution):
    """Levels with a normal distribution.

    Parameters
    ----------
    mean, sd : float
        Its mean, and its standard deviation, above 0.

    Examples
    --------
    >>> NormalLevels(mean=-0.5, sd=0.2)
    NormalLevels(mean=-0.5, sd=0.2)
    """

    kind: ClassVar[str]
    needs_tail: ClassVar[bool] = True
    RENAMED: ClassVar[dict[str, str]] = {"deviation": "sd"}
    mean: float = 0.0
    sd: float = 0.5

    def __post_init__(self) -> None:
        remedy = 'it is a standard deviation; for one level take { kind = "empirical", levels = [x] }'
        set_frozen(
            self,
            mean=check_number("mean", self.mean, remedy="it is the mean level"),
            sd=check_number("sd", self.sd, low=0, open_low=True, remedy=remedy),
        )

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return -math.inf, math.inf

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        return self.mean + self.sd * source.normal(Purpose.SATISFACTION, shape, start)

    def nodes(self) -> Nodes:
        """Return the distribution as a weighted sum, by the trapezoidal rule in asinh of the standardised level."""
        places, log_weights = normal_nodes()
        far = int(np.sum(places < _FAR_DOWN))
        levels = self.mean + self.sd * places
        return Nodes(levels[far:], np.exp(log_weights[far:]), levels[:far], log_weights[:far])

    def mean_reneging_probability(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[Ψ], in closed form where the noise consists of normal components."""
        if not hasattr(noise, "normal_components"):
            return _probability_by_pieces(self, u, w, noise)
        mean, sd = mean_and_sd(u, w)
        return jnp.asarray(
            sum(
                p * lifetime.reneging_probability(mean + sd * m, w * s**2 + self.sd**2, self.mean)
                for p, m, s in noise.normal_components()
            )
        )

    def redrawn_lifetime(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return the expected lifetime where β is redrawn: with one normal component, h at the summed variance."""
        components: tuple[tuple[Number, Number, Number], ...] = (
            noise.normal_components() if hasattr(noise, "normal_components") else ()
        )
        if len(components) != 1:
            return super().redrawn_lifetime(u, w, noise)
        ((_, m, s),) = components
        mean, sd = mean_and_sd(u, w)
        # Unlike one over the probability, h has derivatives that are correct in the tail.
        return lifetime.h(mean + sd * m, w * s**2 + self.sd**2, self.mean)

    def mean_lifetime(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[h]; infinite where the variance is too small for it to be finite, as an estimated one may be."""
        u, w = jnp.broadcast_arrays(jnp.asarray(u, dtype=float), jnp.asarray(w, dtype=float))
        assert noise.tail is not None  # checked by `check_mean_lifetime`
        finite = self.sd**2 < w * noise.tail**2
        safe = jnp.where(finite, w, 2.0 * (self.sd / noise.tail) ** 2)
        sd = jnp.sqrt(safe)
        shift, slope = (self.mean - u) / sd, self.sd / sd
        if getattr(noise, "turns", ()):
            turning = cast(_TurningNoise, noise)
            mean = _lifetime_by_pieces(self, u, safe, turning, *turning.peak(shift, slope))
            return jnp.where(finite, mean, jnp.inf)
        bump, width = normal_peak(noise, shift, slope)
        return _lifetime_by_nodes(self, u, w, noise, bump, width, finite)

    def lifetime_evaluations(self, noise: Noise) -> int:
        """Return the number of nodes, in all pieces where the lower tail of the noise has several laws."""
        turns = getattr(noise, "turns", ())
        return evaluations_over_pieces(noise, turns, 1 + len(_ABOUT)) if turns else len(normal_nodes()[0])

    def check_mean_lifetime(self, noise: Noise, least_variance: float) -> None:
        """Raise unless the lower tail of the levels is lighter than that of the outcomes."""
        if noise.tail is None:
            remedy = "whether the expected lifetime is finite depends on it; give the noise a `tail`, or take bounded levels"
            raise InvalidInput("of", "must go with a noise of known tail", noise.kind, remedy)
        most = float(noise.tail) * math.sqrt(least_variance)
        if self.sd >= most:
            remedy = (
                "with so heavy a lower tail of the levels the expected lifetime is infinite (some actions' "
                f"outcomes have a variance of only {least_variance:.4g}); narrow the levels, or take `redrawn`"
            )
            raise InvalidInput("of.sd", f"must be below {most:.4g}", self.sd, remedy)
        if self.sd**2 > _MOST_RATIO * most**2:
            remedy = (
                f"at {most:.4g} the expected lifetime becomes infinite, and so close to that it is not computed "
                "to 8 digits; narrow the levels, or take `redrawn`"
            )
            within = math.sqrt(_MOST_RATIO) * most
            raise InvalidInput("of.sd", f"must be at most {within:.4g}", self.sd, remedy)


def _probability_by_pieces(levels: NormalLevels, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
    """Return E_β[Ψ] by pieces where u, and so the step of Ψ, lies within the levels, else by the nodes."""
    u, w = jnp.broadcast_arrays(jnp.asarray(u, dtype=float), jnp.asarray(w, dtype=float))
    reach = _REACH * levels.sd
    low = levels.mean - reach
    # Up to as far above the step: where outcomes mostly exceed all levels, the few levels above them count.
    high = jnp.maximum(levels.mean, jnp.minimum(u, levels.mean + reach)) + reach

    def value(level: jax.Array) -> jax.Array:
        density = NORMAL.pdf((level - levels.mean) / levels.sd) / levels.sd
        return (high - low) * density * lifetime.reneging_probability(u, w, level, noise)

    pieces = mean_over_pieces(value, low, high, u, w, noise, (levels.mean,))
    whole = lifetime.mean_reneging_probability(u, w, levels.nodes(), noise)
    return jnp.where(jnp.abs(u - levels.mean) < reach, pieces, whole)


def _lifetime_by_nodes(
    levels: NormalLevels,
    u: jax.Array,
    w: jax.Array,
    noise: Noise,
    bump: jax.Array,
    width: jax.Array,
    finite: jax.Array,
) -> jax.Array:
    """Return E_β[h] where the lower tail of the noise has one law.

    Where the bump lies many widths down, all else is negligible and the far nodes move to it.
    """
    away = finite & (bump < -_FAR_BUMP * width)
    places, log_weights = normal_nodes()
    far = int(np.sum(places < _FAR_DOWN))
    outer, inner = np.arcsinh(places[[0, far - 1]])
    log_step = math.log(2.0 * _HALF_WIDTHS / (far - 1)) - 0.5 * math.log(2.0 * math.pi)

    def near(place: jax.Array, weight: jax.Array) -> jax.Array:
        return weight * lifetime.h(u, w, levels.mean + levels.sd * place, noise)

    def below(place: jax.Array, log_weight: jax.Array) -> jax.Array:
        # The nodes are evenly spaced in asinh.
        at = (2.0 * jnp.arcsinh(place) - outer - inner) / (inner - outer) * _HALF_WIDTHS
        t = jnp.where(away, bump + width * at, place)
        log_weight = jnp.where(away, log_step + jnp.log(width) - 0.5 * t * t, log_weight)
        return jnp.exp(
            log_weight - lifetime.log_reneging_probability(u, w, levels.mean + levels.sd * t, noise)
        )

    body = lifetime.sum_over_levels(near, u, w, jnp.asarray(places[far:]), jnp.exp(log_weights[far:]))
    tail = lifetime.sum_over_levels(below, u, w, jnp.asarray(places[:far]), jnp.asarray(log_weights[:far]))
    return jnp.where(finite, jnp.where(away, 0.0, body) + tail, jnp.inf)


class _TurningNoise(Noise, Protocol):
    """A noise whose lower tail has several laws."""

    @property
    def turns(self) -> tuple[Number, ...]: ...

    def peak(self, shift: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]: ...


def _lifetime_by_pieces(
    levels: NormalLevels,
    u: jax.Array,
    w: jax.Array,
    noise: _TurningNoise,
    bump: jax.Array,
    width: jax.Array,
) -> jax.Array:
    """Return E_β[h] where the lower tail of the noise has several laws: between its turns, and about the bump."""

    def log_value(level: Number) -> jax.Array:
        t = (level - levels.mean) / levels.sd
        return -0.5 * t * t - lifetime.log_reneging_probability(u, w, level, noise)

    bump = jnp.minimum(bump, 0.0)
    counts = log_value(levels.mean + levels.sd * bump) > log_value(levels.mean) - _NEGLIGIBLE
    bump, width = jnp.where(counts, bump, 0.0), jnp.where(counts, width, 1.0)
    # However narrow the bump is at its top, far below it falls like the density of the levels.
    low = levels.mean + levels.sd * (bump - _REACH * jnp.maximum(width, 1.0))
    high = levels.mean + levels.sd * _REACH

    def value(level: jax.Array) -> jax.Array:
        return (high - low) / levels.sd * NORMAL.pdf(0.0) * jnp.exp(log_value(level))

    about = [levels.mean + levels.sd * (bump + k * width) for k in _ABOUT]
    return mean_over_pieces(value, low, high, u, w, noise, (levels.mean, *about), noise.turns)
