r"""Levels that nobody sees: β is known in distribution only (Remark 6 of the paper).

==========  =====================  ==================================================
kind        a user's level         value of an action, with g earned in each round
==========  =====================  ==================================================
hidden      drawn once and kept    g · E_β[h_β(u, w)]
redrawn     drawn in every round   g / E_β[Φ((β − u)/√w)]
==========  =====================  ==================================================

The two differ much: a user who never leaves makes E_β[h_β] infinite, but is only one of many
in E_β[Φ]. A kept level makes the value infinite

- if β is normal and its variance reaches w times that of the normal density which the
  noise falls like below (:attr:`~hrprob.noise.base.Noise.tail`): 1/Φ grows like
  exp(z²/2) there, and the normal density of z = (β − u)/√w falls no faster;
- if outcomes are bounded and some level lies below all of them: such a user never leaves.

A problem in which this can happen is refused. What a policy *estimates* may be infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.errors import InvalidInput
from hrprob.lifetime import Nodes
from hrprob.noise import NORMAL, Mixture, Noise, Normal
from hrprob.noise.base import Tailed, compiled, normal_peak
from hrprob.precision import float64
from hrprob.problem.satisfaction import NormalLevels, Uniform, double_exponential, normal_nodes
from hrprob.record import describe, record
from hrprob.source import Source

__all__ = ["Hidden", "Redrawn"]

# Normal levels of a variance closer than this to the one that makes the average infinite are refused.
_MOST_RATIO = 0.99

# Beyond so many deviations lies 1e-19 of a normal distribution.
_REACH = 9.0

# A bump of long stays is split at so many of its widths from its centre.
_ABOUT = (-3.0, 0.0, 3.0, 9.0)
# It is none where its logarithm lies by so much below that of the middle.
_NOTHING = 60.0

# So many widths down, a bump of long stays is 1e10 times the rest of the average.
_FAR_BUMP = 7.0
# The nodes then lie evenly over so many widths on either side of it.
_HALF_WIDTHS = 9.0

# More levels than these make a sum too long to take for every action of every user.
_MOST_LEVELS = 1000


def _check_distribution(of: Any) -> None:
    if isinstance(of, type) or not hasattr(of, "nodes"):
        remedy = (
            "levels are averaged over: uniform, normal or empirical ones; "
            'for one level take { kind = "empirical", levels = [x] }'
        )
        raise InvalidInput("of", "must be a distribution of levels", of, remedy)
    count = len(of.levels) if hasattr(of, "levels") else 0
    if count > _MOST_LEVELS:
        remedy = "every action of every user is averaged over all of them; thin them out, or bin them"
        raise InvalidInput("of", f"must have at most {_MOST_LEVELS} levels", count, remedy)


@record()
class _Unseen:
    """Levels that no policy sees; what it knows is how they are distributed."""

    seen: ClassVar[bool] = False
    of: Any = Uniform()

    def __post_init__(self) -> None:
        _check_distribution(self.of)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.of.support

    def draw(self, source: Source) -> jax.Array:
        """Return the levels on arrival, shape (users, trials)."""
        return self.of.draw(source)


@record()
class Hidden(_Unseen):
    """Levels that are drawn once for a user and kept, and that no policy sees.

    Parameters
    ----------
    of : Uniform, NormalLevels or EmpiricalLevels
        How they are distributed, which policies know.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> f"{Hidden(Uniform(-1.0, 1.0)).rounds(0.5, 2.0, math.nan, NORMAL):.4f}"
    '3.2223'
    """

    kind: ClassVar[str] = "hidden"

    @property
    def needs_tail(self) -> bool:
        """Whether the average depends on how the noise falls far below; see ``tail`` of a noise."""
        return isinstance(self.of, NormalLevels)

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return β: it is kept."""
        return beta

    @float64
    @compiled
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[h_β(u, w)]; ``beta`` is not looked at."""
        if isinstance(self.of, Uniform) and hasattr(noise, "mean_inverse_chance"):
            return _lifetime_over_range(self.of, u, w, noise)
        if isinstance(self.of, Uniform):
            # One component takes over from the other where there is no corner; other tails bend too little to need cuts.
            turns = noise.turns if isinstance(noise, Mixture) else ()
            return _over_pieces(
                lambda level: lifetime.h(u, w, level, noise), *self.of.support, u, w, noise, turns=turns
            )
        if isinstance(self.of, NormalLevels):
            return _over_normal(self.of, u, w, noise)
        return lifetime.mean_h(u, w, self.of.nodes(), noise)

    def leaving_chance(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the chance of an outcome below the user's own β."""
        return lifetime.reneging_chance(u, w, beta, noise)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise if E_β[h_β(u, w)] is infinite for any of these."""
        floor = _floor(noise, u, w)
        if math.isfinite(floor) and floor >= self.of.support[0]:
            remedy = (
                "some action's outcomes never fall below that, so some users would never leave and the expected "
                "lifetime would be infinite; raise the levels, take wider noise, or `redrawn`"
            )
            raise InvalidInput("of", f"must have all levels above {floor:.4g}", describe(self.of), remedy)
        if isinstance(self.of, NormalLevels):
            _check_spread(self.of, noise, float(w.min()))


def lowest_outcome(noise: Noise, u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return what no outcome of mean ``u`` and variance ``w`` falls below."""
    spread = np.sqrt(w)
    return u + np.where(spread > 0, float(noise.lowest) * np.where(spread > 0, spread, 1.0), 0.0)


def _floor(noise: Noise, u: np.ndarray, w: np.ndarray) -> float:
    """Return the largest level that no outcome of some action falls below."""
    return float(np.max(lowest_outcome(noise, u, w)))


def _check_spread(of: NormalLevels, noise: Noise, least: float) -> None:
    if noise.tail is None:
        remedy = "whether the expected lifetime is finite depends on it; give the noise a `tail`, or take bounded levels"
        raise InvalidInput("of", "must go with a noise of known tail", noise.kind, remedy)
    most = float(noise.tail) * math.sqrt(least)
    if of.deviation >= most:
        remedy = (
            "with a lower tail as heavy as that the expected lifetime is infinite (some actions' "
            f"outcomes have a variance of only {least:.4g}); narrow the levels, or take `redrawn`"
        )
        raise InvalidInput("of.deviation", f"must be below {most:.4g}", of.deviation, remedy)
    if of.deviation**2 > _MOST_RATIO * most**2:
        remedy = (
            f"at {most:.4g} the expected lifetime becomes infinite, and so close to that it is not computed "
            "to 8 digits; narrow the levels, or take `redrawn`"
        )
        within = math.sqrt(_MOST_RATIO) * most
        raise InvalidInput("of.deviation", f"must be at most {within:.4g}", of.deviation, remedy)


def _standardised(low: Any, high: Any, u: ArrayLike, w: ArrayLike) -> tuple[jax.Array, ...]:
    """Return the deviation √w, and how far the two ends of the range lie above u; of one shape."""
    w, u = jnp.broadcast_arrays(jnp.asarray(w, dtype=float), jnp.asarray(u, dtype=float))
    # A root has no derivative at 0.
    spread = jnp.where(w > 0.0, jnp.sqrt(jnp.where(w > 0.0, w, 1.0)), 0.0)
    return spread, low - u, high - u


def _over_pieces(
    value: Callable[[jax.Array], jax.Array],
    low: ArrayLike,
    high: ArrayLike,
    u: ArrayLike,
    w: ArrayLike,
    noise: Noise,
    cuts: tuple[ArrayLike, ...] = (),
    turns: tuple[ArrayLike, ...] = (),
) -> jax.Array:
    """Return the average over a range of a function that is smooth between the noise's corners, its ``turns`` and ``cuts``."""
    low, high = jnp.asarray(low, dtype=float), jnp.asarray(high, dtype=float)
    spread, _, _ = _standardised(low, high, u, w)
    inner = [u + spread * z for z in (*getattr(noise, "corners", (0.0,)), *turns)]
    marks = [low, high, *(jnp.clip(cut, low, high) for cut in (*inner, *cuts))]
    ends = jnp.sort(jnp.stack([jnp.broadcast_to(mark, spread.shape) for mark in marks]), axis=0)
    width = jnp.where(high > low, high - low, 1.0)
    places, weights = map(jnp.asarray, double_exponential())

    def add(total: jax.Array, piece: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        left, length = piece

        def term(place: jax.Array, weight: jax.Array) -> jax.Array:
            # An empty piece counts for nothing even where the function is infinite.
            return jnp.where(length > 0.0, weight * length / width * value(left + length * place), 0.0)

        return total + lifetime.sum_over_levels(term, u, w, places, weights), None

    total, _ = lax.scan(add, jnp.zeros_like(spread), (ends[:-1], jnp.diff(ends, axis=0)))
    return jnp.where(high > low, total, value(low))


def _chance_over_range(of: Uniform, u: ArrayLike, w: ArrayLike, noise: Any) -> jax.Array:
    r"""Return the average of Ψ over uniform levels, by its integral.

    .. math:: \int_{-\infty}^z \Psi = z^+ + S(z),

    S being what the noise calls overshoot, which keeps its digits in either tail.
    """
    spread, low, high = _standardised(of.low, of.high, u, w)
    safe = jnp.where(spread > 0.0, spread, 1.0)

    def beyond(gap: jax.Array) -> jax.Array:
        return spread * noise.overshoot(gap / safe)

    width = of.high - of.low
    integral = jnp.maximum(high, 0.0) - jnp.maximum(low, 0.0) + beyond(high) - beyond(low)
    # Of a range so short hardly a digit of the difference is left, and two levels stand for all.
    short = width <= 1e-7 * jnp.maximum(spread, -low)
    two = of.low + width * (0.5 + np.array([-0.5, 0.5]) / math.sqrt(3.0))
    few = lifetime.mean_reneging_chance(u, w, Nodes(two, np.full(2, 0.5), np.zeros(0), np.zeros(0)), noise)
    return jnp.where(short, few, integral / jnp.where(width > 0.0, width, 1.0))


def _lifetime_over_range(of: Uniform, u: ArrayLike, w: ArrayLike, noise: Any) -> jax.Array:
    """Return the average of 1/Ψ over uniform levels, of a noise that has its integral."""
    spread, low, high = _standardised(of.low, of.high, u, w)
    safe = jnp.where(spread > 0.0, spread, 1.0)
    # Without a variance whoever has a level below u stays for ever.
    certain = jnp.where(low < 0.0, jnp.inf, 1.0)
    return jnp.where(spread > 0.0, noise.mean_inverse_chance(low / safe, high / safe), certain)


def _chance_over_normal(of: NormalLevels, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
    """Return the average of Ψ over normal levels, in pieces where the step of Ψ is among them."""
    u, w = jnp.broadcast_arrays(jnp.asarray(u, dtype=float), jnp.asarray(w, dtype=float))
    low = of.mean - _REACH * of.deviation
    # Up to as far beyond the step, where outcomes are mostly above all levels.
    high = jnp.maximum(of.mean, jnp.minimum(u, of.mean + _REACH * of.deviation)) + _REACH * of.deviation

    def value(level: jax.Array) -> jax.Array:
        density = NORMAL.pdf((level - of.mean) / of.deviation) / of.deviation
        return (high - low) * density * lifetime.reneging_chance(u, w, level, noise)

    pieces = _over_pieces(value, low, high, u, w, noise, (of.mean,))
    whole = lifetime.mean_reneging_chance(u, w, of.nodes(), noise)
    return jnp.where(jnp.abs(u - of.mean) < _REACH * of.deviation, pieces, whole)


def _over_normal(of: NormalLevels, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
    """Return E_β[h] over normal levels β = mean + deviation·t.

    Where the bump of long stays (:func:`~hrprob.noise.base.normal_peak`) lies many widths down,
    nothing else counts and the nodes go there.
    """
    u, w = jnp.broadcast_arrays(jnp.asarray(u, dtype=float), jnp.asarray(w, dtype=float))
    # An estimated variance may be so small that there is no mean.
    finite = of.deviation**2 < w * noise.tail**2
    safe = jnp.where(finite, w, 2.0 * (of.deviation / noise.tail) ** 2)
    spread = jnp.sqrt(safe)
    shift, slope = (of.mean - u) / spread, of.deviation / spread
    if isinstance(noise, Tailed) and noise.turns:
        return jnp.where(finite, _normal_by_pieces(of, u, safe, noise, *noise.peak(shift, slope)), jnp.inf)
    bump, wide = normal_peak(noise, shift, slope)
    away = finite & (bump < -_FAR_BUMP * wide)
    places, log_weights = normal_nodes()
    far = int(np.sum(places < -8.0))
    outer, inner = np.arcsinh(places[[0, far - 1]])
    log_step = math.log(2.0 * _HALF_WIDTHS / (far - 1)) - 0.5 * math.log(2.0 * math.pi)

    def near(place: jax.Array, weight: jax.Array) -> jax.Array:
        return weight * lifetime.h(u, w, of.mean + of.deviation * place, noise)

    def below(place: jax.Array, log_weight: jax.Array) -> jax.Array:
        # The places are even in asinh.
        at = (2.0 * jnp.arcsinh(place) - outer - inner) / (inner - outer) * _HALF_WIDTHS
        t = jnp.where(away, bump + wide * at, place)
        log_weight = jnp.where(away, log_step + jnp.log(wide) - 0.5 * t * t, log_weight)
        return jnp.exp(log_weight - lifetime.log_reneging_chance(u, w, of.mean + of.deviation * t, noise))

    body = lifetime.sum_over_levels(near, u, w, jnp.asarray(places[far:]), jnp.exp(log_weights[far:]))
    tail = lifetime.sum_over_levels(below, u, w, jnp.asarray(places[:far]), jnp.asarray(log_weights[:far]))
    return jnp.where(finite, jnp.where(away, 0.0, body) + tail, jnp.inf)


def _normal_by_pieces(
    of: NormalLevels, u: jax.Array, w: jax.Array, noise: Any, bump: jax.Array, wide: jax.Array
) -> jax.Array:
    """Return E_β[h] over normal levels where the lower tail has more than one law, between its turns and about its bump."""

    def log_value(level: ArrayLike) -> jax.Array:
        t = (level - of.mean) / of.deviation
        return -0.5 * t * t - lifetime.log_reneging_chance(u, w, level, noise)

    # A bump that is nothing beside the middle of the levels counts for none.
    bump = jnp.minimum(bump, 0.0)
    counts = log_value(of.mean + of.deviation * bump) > log_value(of.mean) - _NOTHING
    bump, wide = jnp.where(counts, bump, 0.0), jnp.where(counts, wide, 1.0)
    # However narrow it is at its top, far below it falls like the density of the levels.
    low = of.mean + of.deviation * (bump - _REACH * jnp.maximum(wide, 1.0))
    high = of.mean + of.deviation * _REACH

    def value(level: jax.Array) -> jax.Array:
        return (high - low) / of.deviation * NORMAL.pdf(0.0) * jnp.exp(log_value(level))

    about = [of.mean + of.deviation * (bump + k * wide) for k in _ABOUT]
    return _over_pieces(value, low, high, u, w, noise, (of.mean, *about), noise.turns)


@record()
class Redrawn(_Unseen):
    """Levels that are drawn anew in every round, and that no policy sees.

    Parameters
    ----------
    of : Uniform, NormalLevels or EmpiricalLevels
        How they are distributed, which policies know.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> f"{Redrawn(Uniform(-1.0, 1.0)).rounds(0.5, 2.0, math.nan, NORMAL):.4f}"
    '2.6872'
    """

    kind: ClassVar[str] = "redrawn"

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the levels of some rounds (..., rounds, ...), from round ``start`` on."""
        return self.of.draw(source, (rounds,), start)

    @float64
    @compiled
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return one over the chance that a round is the last; ``beta`` is not looked at."""
        if self._is_normal(noise):
            return lifetime.h(u, w + self.of.deviation**2, self.of.mean, noise)
        return 1.0 / self.leaving_chance(u, w, beta, noise)

    @float64
    @compiled
    def leaving_chance(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the chance that a round is the last."""
        if self._is_normal(noise):
            return lifetime.reneging_chance(u, w + self.of.deviation**2, self.of.mean, noise)
        if isinstance(self.of, NormalLevels) and isinstance(noise, Mixture):
            # Of each component, outcome and level are both normal.
            return sum(
                p
                * lifetime.reneging_chance(u + jnp.sqrt(w) * m, w * s**2 + self.of.deviation**2, self.of.mean)
                for p, m, s in zip((noise.weight, 1.0 - noise.weight), *noise.components(), strict=True)
            )
        if isinstance(self.of, Uniform) and hasattr(noise, "overshoot"):
            return _chance_over_range(self.of, u, w, noise)
        if isinstance(self.of, Uniform):
            return _over_pieces(
                lambda level: lifetime.reneging_chance(u, w, level, noise), *self.of.support, u, w, noise
            )
        if isinstance(self.of, NormalLevels):
            return _chance_over_normal(self.of, u, w, noise)
        return lifetime.mean_reneging_chance(u, w, self.of.nodes(), noise)

    def _is_normal(self, noise: Noise) -> bool:
        """Say whether outcome and level are both normal, and so is their difference."""
        return isinstance(self.of, NormalLevels) and isinstance(noise, Normal)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise if no level can make anybody leave some action."""
        floor = _floor(noise, u, w)
        if floor >= self.of.support[1]:
            remedy = "some action's outcomes are above all levels, so nobody would ever leave; raise the levels, or take wider noise"
            raise InvalidInput("of", f"must have some level above {floor:.4g}", describe(self.of), remedy)
