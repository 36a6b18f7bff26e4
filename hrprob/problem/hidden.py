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
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.errors import InvalidInput
from hrprob.noise import Noise, Normal
from hrprob.precision import float64
from hrprob.problem.satisfaction import NormalLevels, Uniform
from hrprob.record import describe, record
from hrprob.source import Source

__all__ = ["Hidden", "Redrawn"]

# More levels than these make a sum too long to take for every action of every user.
_MOST_LEVELS = 1000


def _check_distribution(of: Any) -> None:
    if isinstance(of, type) or not hasattr(of, "nodes"):
        remedy = "levels are averaged over: uniform, normal or empirical ones"
        raise InvalidInput("of", "must be a distribution of levels", of, remedy)
    count = len(of.levels) if hasattr(of, "levels") else 0
    if count > _MOST_LEVELS:
        remedy = "every action of every user is averaged over all of them; thin them out, or bin them"
        raise InvalidInput("of", f"must have at most {_MOST_LEVELS} levels", count, remedy)


@record()
class Hidden:
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
    seen: ClassVar[bool] = False
    of: Any = Uniform()

    def __post_init__(self) -> None:
        _check_distribution(self.of)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.of.support

    @property
    def needs_tail(self) -> bool:
        """Whether the average depends on how the noise falls far below; see ``tail`` of a noise."""
        return isinstance(self.of, NormalLevels)

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return self.of.draw(source)

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return β: it is kept."""
        return beta

    @float64
    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[h_β(u, w)]; ``beta`` is not looked at."""
        average = lifetime.mean_h(u, w, self.of.nodes(), noise)
        if not isinstance(self.of, NormalLevels):
            return average
        # An estimated variance may be so small that there is no mean.
        return jnp.where(self.of.deviation**2 < jnp.asarray(w) * noise.tail**2, average, jnp.inf)

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


def _floor(noise: Noise, u: np.ndarray, w: np.ndarray) -> float:
    """Return the largest level that no outcome of some action falls below."""
    spread = np.sqrt(w)
    return float(
        np.max(u + np.where(spread > 0, float(noise.lowest) * np.where(spread > 0, spread, 1.0), 0.0))
    )


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


@record()
class Redrawn:
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
    seen: ClassVar[bool] = False
    of: Any = Uniform()

    def __post_init__(self) -> None:
        _check_distribution(self.of)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.of.support

    def draw(self, source: Source) -> jax.Array:
        """Return the levels of the first round, shape (users, trials)."""
        return self.of.draw(source)

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the levels of some rounds (..., rounds, ...), from round ``start`` on."""
        return self.of.draw(source, (rounds,), start)

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return one over the chance that a round is the last; ``beta`` is not looked at."""
        if self._is_normal(noise):
            return lifetime.h(u, w + self.of.deviation**2, self.of.mean, noise)
        return 1.0 / self.leaving_chance(u, w, beta, noise)

    def leaving_chance(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the chance that a round is the last."""
        if self._is_normal(noise):
            return lifetime.reneging_chance(u, w + self.of.deviation**2, self.of.mean, noise)
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
