r"""What is to be made as large as possible.

A round earns g in expectation, whatever β is, and one action throughout earns g in each
of the rounds that the user stays:

.. math:: v = g \cdot \mathbb{E}[\text{rounds}] = g/p,

with p the chance that a round is the last.

===============  ====================  =====================================================
kind             g                     what v is
===============  ====================  =====================================================
lifetime         1                     the expected lifetime h, the paper's objective
reward           u                     the total reward ĥ = u·h (concluding remarks)
mean-variance    u − ρ·w               the same, every round paying for its risk
threshold        P(r > level)          how many rounds exceed a level
===============  ====================  =====================================================

With β = ∞ a user stays for one round, and v = g: the ordinary contextual bandit and its
risk-averse [1]_ and thresholding [2]_ kin. The regret is v* less v, in the units of v.

References
----------
.. [1] A. Sani, A. Lazaric, R. Munos, "Risk-aversion in multi-armed bandits", NeurIPS 2012.
.. [2] A. Locatelli, M. Gutzeit, A. Carpentier, "An optimal algorithm for the thresholding
   bandit problem", ICML 2016.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.errors import check_number
from hrprob.noise import Noise
from hrprob.precision import float64
from hrprob.record import record, settle

__all__ = ["Lifetime", "MeanVariance", "Objective", "Reward", "Threshold", "total"]


class Objective(Protocol):
    """What the engine and the policies ask of an objective."""

    kind: ClassVar[str]
    unit: ClassVar[str]
    """What a value, and so the regret, is counted in."""

    def earning(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> ArrayLike:
        """Return g, what one round earns in expectation, given mean and variance of its outcome."""
        ...


@record()
class Lifetime:
    """The expected lifetime h, the paper's objective.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> Lifetime().earning(0.3, 2.0, NORMAL)
    1.0
    """

    kind: ClassVar[str] = "lifetime"
    unit: ClassVar[str] = "rounds"

    def earning(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> ArrayLike:
        """Return 1: a round is a round."""
        return 1.0


@record()
class Reward:
    """The total reward over a stay, ĥ = u·h.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> Reward().earning(0.3, 2.0, NORMAL)
    0.3
    """

    kind: ClassVar[str] = "reward"
    unit: ClassVar[str] = "reward"

    def earning(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> ArrayLike:
        """Return the mean outcome."""
        return u


@record()
class MeanVariance:
    """The total reward over a stay, every round paying ``aversion`` for each unit of its variance.

    Parameters
    ----------
    aversion : float
        ρ ≥ 0; with 0 it is the total reward.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> MeanVariance(aversion=0.1).earning(0.5, 2.0, NORMAL)
    0.3
    """

    kind: ClassVar[str] = "mean-variance"
    unit: ClassVar[str] = "reward less risk"
    aversion: Any = 0.1

    def __post_init__(self) -> None:
        remedy = "it is the price of a unit of variance"
        settle(self, aversion=check_number("aversion", self.aversion, low=0, remedy=remedy))

    def earning(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> ArrayLike:
        """Return u − ρ·w."""
        return u - self.aversion * w


@record()
class Threshold:
    """The number of rounds in a stay whose outcome exceeds ``level``.

    Parameters
    ----------
    level : float
        What an outcome is held against; it has nothing to do with β.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> float(Threshold(level=0.3).earning(0.3, 2.0, NORMAL))
    0.5
    """

    kind: ClassVar[str] = "threshold"
    unit: ClassVar[str] = "rounds above"
    level: Any = 1.0

    def __post_init__(self) -> None:
        settle(self, level=check_number("level", self.level, remedy="an outcome is held against it"))

    def earning(self, u: ArrayLike, w: ArrayLike, noise: Noise) -> ArrayLike:
        """Return the chance that an outcome exceeds the level, with all its digits however small it is."""
        return lifetime.staying_chance(u, w, self.level, noise)


@float64
def total(earning: ArrayLike, rounds: jax.Array) -> jax.Array:
    """Return the value of a stay: ``earning`` in each of the expected ``rounds``.

    What earns nothing is worth nothing, were it for ever.

    Examples
    --------
    >>> total(jnp.asarray([0.0, 0.5]), jnp.asarray([jnp.inf, 4.0])).tolist()
    [0.0, 2.0]
    """
    if isinstance(earning, float) and earning != 0.0:
        return earning * jnp.asarray(rounds)
    g = jnp.asarray(earning, dtype=float)
    return jnp.where(g == 0.0, 0.0, g * rounds)
