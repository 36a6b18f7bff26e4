"""Levels that nobody sees: β is known in distribution only (Remark 6 of the paper).

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

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Source
from hrprob._core.records import describe
from hrprob.noise import Mixture, Noise
from hrprob.noise.base import compiled
from hrprob.problem.levels.averages import (
    lifetime_over_normal,
    lifetime_over_range,
    over_pieces,
)
from hrprob.problem.levels.base import register
from hrprob.problem.levels.normal import NormalLevels
from hrprob.problem.levels.uniform import UniformLevels
from hrprob.problem.levels.unseen import UnseenLevels, highest_floor

__all__ = ["HiddenLevels"]

# Normal levels of a variance closer than this to the one that makes the average infinite are refused.
_MOST_RATIO = 0.99


@register("hidden")
class HiddenLevels(UnseenLevels):
    """Levels that are drawn once for a user and kept, and that no policy sees.

    Parameters
    ----------
    of : UniformLevels, NormalLevels or EmpiricalLevels
        How they are distributed, which policies know.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> f"{HiddenLevels(UniformLevels(-1.0, 1.0)).rounds(0.5, 2.0, math.nan, NORMAL):.4f}"
    '3.2223'
    """

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
        if isinstance(self.of, UniformLevels) and hasattr(noise, "mean_reciprocal_cdf"):
            return lifetime_over_range(self.of, u, w, noise)
        if isinstance(self.of, UniformLevels):
            # One component takes over from the other where there is no corner; other tails bend too little to need cuts.
            turns = noise.turns if isinstance(noise, Mixture) else ()
            return over_pieces(
                lambda level: lifetime.h(u, w, level, noise), *self.of.support, u, w, noise, turns=turns
            )
        if isinstance(self.of, NormalLevels):
            return lifetime_over_normal(self.of, u, w, noise)
        return lifetime.mean_h(u, w, self.of.nodes(), noise)

    def reneging_probability(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the probability of an outcome below the user's own β."""
        return lifetime.reneging_probability(u, w, beta, noise)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise if E_β[h_β(u, w)] is infinite for any of these."""
        floor = highest_floor(noise, u, w)
        if math.isfinite(floor) and floor >= self.of.support[0]:
            remedy = (
                "some action's outcomes never fall below that, so some users would never leave and the expected "
                "lifetime would be infinite; raise the levels, take wider noise, or `redrawn`"
            )
            raise InvalidInput("of", f"must have all levels above {floor:.4g}", describe(self.of), remedy)
        if isinstance(self.of, NormalLevels):
            _check_spread(self.of, noise, float(w.min()))


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
