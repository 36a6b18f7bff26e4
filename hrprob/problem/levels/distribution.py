r"""Levels that are i.i.d. draws from a known distribution, and what can be averaged over it.

Levels that no policy sees (``hidden``, ``redrawn``) need two averages over the distribution of β, for an outcome
of mean u and variance w:

=======================  ===============================  ========================================
average                  name                             what it is
=======================  ===============================  ========================================
E_β[h_β(u, w)]           ``mean_lifetime``                expected lifetime if β is kept
E_β[Ψ((β − u)/√w)]       ``mean_reneging_probability``    probability of reneging if β is redrawn
1/E_β[Ψ(·)]              ``redrawn_lifetime``             expected lifetime if β is redrawn
=======================  ===============================  ========================================

A distribution needs only ``nodes``, a weighted sum that stands for it. It overrides an average where it knows a
better way, such as a closed form; what a noise can contribute to that is listed in :mod:`hrprob.noise.base`.
"""

from __future__ import annotations

from typing import ClassVar

import jax
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob._core.random_numbers import Source
from hrprob.lifetime import Nodes
from hrprob.noise import Noise
from hrprob.problem.levels.base import SeenLevels

__all__ = ["LevelDistribution"]


class LevelDistribution(SeenLevels):
    """Levels drawn independently from one distribution, which can be averaged over.

    As they are, they are seen on arrival; ``hidden`` and ``redrawn`` levels have one of these in their field ``of``.
    """

    needs_tail: ClassVar[bool] = False
    """Whether :meth:`mean_lifetime` needs to know how the noise falls far below, its ``tail``."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        raise NotImplementedError

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials); of a ``shape`` of rounds, from round ``start`` on."""
        raise NotImplementedError

    def nodes(self) -> Nodes:
        """Return the distribution as a weighted sum over levels; parameters may be traced, so write it with jax.numpy."""
        raise NotImplementedError

    def mean_lifetime(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[h_β(u, w)]."""
        return lifetime.mean_h(u, w, self.nodes(), noise)

    def lifetime_evaluations(self, noise: Noise) -> int:
        """Return how often Ψ is evaluated by :meth:`mean_lifetime`."""
        return sum(map(len, (self.nodes().levels, self.nodes().far_levels)))

    def mean_reneging_probability(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return E_β[Ψ((β − u)/√w)]."""
        return lifetime.mean_reneging_probability(u, w, self.nodes(), noise)

    def redrawn_lifetime(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
        """Return the expected lifetime where β is drawn independently in every round."""
        return 1.0 / self.mean_reneging_probability(u, w, noise)

    def check_mean_lifetime(self, noise: Noise, least_variance: float) -> None:
        """Raise if :meth:`mean_lifetime` is infinite for an outcome of this variance although all users leave.

        An error names its field as inside the levels that hide these: ``of`` or ``of.<field>``.
        """
