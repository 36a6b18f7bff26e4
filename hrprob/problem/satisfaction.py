"""The satisfaction level β that a user arrives with.

===========  ==========================================================
kind         meaning
===========  ==========================================================
uniform      β uniform on [low, high], as in the paper's simulation
normal       β normal
empirical    β one of some levels, each as likely as it is often there
fixed        every user has the same β
infinite     β = ∞: every user leaves after one round (Remark 7)
===========  ==========================================================

All of these are drawn once for a user, kept, and seen on arrival. :mod:`hrprob.problem.hidden`
has levels that nobody sees, :mod:`hrprob.problem.sequences` those that are no i.i.d. draws.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.errors import InvalidInput, check_number, check_vector
from hrprob.lifetime import Nodes
from hrprob.noise import Noise
from hrprob.problem.files import read_levels
from hrprob.record import record, settle
from hrprob.source import Purpose, Source

__all__ = ["EmpiricalLevels", "Fixed", "Infinite", "NormalLevels", "Satisfaction", "SeenLevels", "Uniform"]


class Satisfaction(Protocol):
    """What the engine and the policies ask of a kind of satisfaction levels."""

    kind: ClassVar[str]
    seen: ClassVar[bool]
    """Whether a user's level is seen on arrival."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        ...

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        ...

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the level in some rounds, from round ``start`` on: ``beta`` where it is kept."""
        ...

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the expected lifetime under one action, given what is seen of the level."""
        ...

    def leaving_chance(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the chance that a round of this user, whose level is ``beta``, is the last."""
        ...

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Raise unless :meth:`rounds` is finite for actions of these means and variances."""
        ...


class SeenLevels:
    """What levels share that are drawn once, kept, and seen."""

    seen: ClassVar[bool] = True

    def by_round(self, beta: jax.Array, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return β: it is kept."""
        return beta

    def rounds(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return h."""
        return lifetime.h(u, w, beta, noise)

    def leaving_chance(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the chance of an outcome below β."""
        return lifetime.reneging_chance(u, w, beta, noise)

    def check_finite(self, noise: Noise, u: np.ndarray, w: np.ndarray) -> None:
        """Nothing to check: whoever sees that a user will never leave may count on it."""


@record()
class Uniform(SeenLevels):
    """Levels uniform on [low, high].

    Examples
    --------
    >>> Uniform(low=-1.0, high=1.0).support
    (-1.0, 1.0)
    """

    kind: ClassVar[str] = "uniform"
    low: Any = -1.0
    high: Any = 1.0

    def __post_init__(self) -> None:
        low = check_number("low", self.low, remedy="it is the least satisfaction level")
        high = check_number("high", self.high, remedy="it is the largest satisfaction level")
        if high < low:
            raise InvalidInput("high", f"must be at least `low` = {low:g}", high, "swap the two")
        settle(self, low=low, high=high)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return self.low, self.high

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        return self.low + (self.high - self.low) * source.uniform(Purpose.SATISFACTION, shape, start)

    def nodes(self) -> Nodes:
        """Return the distribution as a weighted sum, by the double exponential rule.

        Its nodes crowd at the ends: that is where lifetimes are long, and within a few
        thousandths of the range where the variance is small.
        """
        places, weights = double_exponential()
        return Nodes(self.low + (self.high - self.low) * places, weights, np.zeros(0), np.zeros(0))


@record()
class NormalLevels(SeenLevels):
    """Levels with a normal distribution.

    Parameters
    ----------
    mean, deviation : float
        Its mean, and its standard deviation, above 0.
    """

    kind: ClassVar[str] = "normal"
    mean: Any = 0.0
    deviation: Any = 0.5

    def __post_init__(self) -> None:
        remedy = 'it is a spread; for one level take { kind = "empirical", levels = [x] }'
        settle(
            self,
            mean=check_number("mean", self.mean, remedy="it is the mean level"),
            deviation=check_number("deviation", self.deviation, low=0, open_low=True, remedy=remedy),
        )

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return -math.inf, math.inf

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        return self.mean + self.deviation * source.normal(Purpose.SATISFACTION, shape, start)

    def nodes(self) -> Nodes:
        """Return the distribution as a weighted sum: the trapezoidal rule in asinh of the standardised level.

        Where long lifetimes make the rare low levels count, their weights underflow and go by
        their logarithms.
        """
        places, log_weights = normal_nodes()
        far = int(np.sum(places < -8.0))
        levels = self.mean + self.deviation * places
        return Nodes(levels[far:], np.exp(log_weights[far:]), levels[:far], log_weights[:far])


@record()
class EmpiricalLevels(SeenLevels):
    """Levels drawn from a list, or from a file of one column.

    Parameters
    ----------
    levels : list of numbers, or path
        As many as there are; a level that is there twice is twice as likely. A file is a CSV
        with the one column beta.

    Examples
    --------
    >>> EmpiricalLevels([0.5, -1.0, 0.5]).support
    (-1.0, 0.5)
    """

    kind: ClassVar[str] = "empirical"
    levels: Any

    def __post_init__(self) -> None:
        remedy = "give some levels, or the path of a CSV file with the column beta"
        from_file = isinstance(self.levels, str | Path)
        levels = read_levels("levels", self.levels) if from_file else self.levels
        settle(self, levels=check_vector("levels", levels, remedy=remedy))

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return float(self.levels.min()), float(self.levels.max())

    def draw(self, source: Source, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return levels of shape (users, ..., trials)."""
        count = self.levels.shape[0]
        which = jnp.floor(source.uniform(Purpose.SATISFACTION, shape, start) * count).astype(jnp.int32)
        return jnp.asarray(self.levels)[which]

    def nodes(self) -> Nodes:
        """Return the levels themselves, each with its share."""
        count = self.levels.shape[0]
        return Nodes(self.levels, np.full(count, 1.0 / count), np.zeros(0), np.zeros(0))


@record()
class Fixed(SeenLevels):
    """The same level for every user."""

    kind: ClassVar[str] = "fixed"
    level: Any = 0.0

    def __post_init__(self) -> None:
        remedy = 'for β = ∞ take the kind "infinite"'
        settle(self, level=check_number("level", self.level, remedy=remedy))

    @property
    def support(self) -> tuple[float, float]:
        """The level, twice."""
        return self.level, self.level

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return jnp.full(_shape(source), self.level)


@record()
class Infinite(SeenLevels):
    """β = ∞: the ordinary contextual bandit, one round a user."""

    kind: ClassVar[str] = "infinite"

    @property
    def support(self) -> tuple[float, float]:
        """Infinity, twice."""
        return math.inf, math.inf

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return jnp.full(_shape(source), jnp.inf)


def _shape(source: Source) -> tuple[int, ...]:
    return (*source.users.shape, *source.keys[0].shape)


def double_exponential() -> tuple[np.ndarray, np.ndarray]:
    """Return places in (0, 1) and weights: the trapezoidal rule in k, where x = 1/(1 + exp(−π sinh k))."""
    step = 0.075
    k = step * np.arange(-42, 43)
    far = np.exp(-math.pi * np.sinh(np.abs(k)))
    places = np.where(k < 0, far, 1.0) / (1.0 + far)
    weights = step * math.pi * np.cosh(k) * far / (1.0 + far) ** 2
    # All but 1e-12 of the whole.
    return places, weights / weights.sum()


def normal_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Return places on the line, from the lowest, and the logarithms of their weights."""
    step = 0.1
    k = step * np.arange(-60, 44)
    places = np.sinh(k)
    return places, np.log(step * np.cosh(k)) - 0.5 * places**2 - 0.5 * math.log(2.0 * math.pi)
