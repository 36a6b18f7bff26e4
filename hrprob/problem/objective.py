"""What is to be made as large as possible.

An objective gives the value of serving a user one action throughout, and the cost
of a single round where actions change from round to round. Both are the pseudo
regret: expected values, given the contexts and β, never realised ones.

If a round earns g in expectation and ends the stay with chance p, one action
throughout is worth v = g/p. Against the best value v*, a round of any action costs
v*·p − g: a user's chances p add up to 1 in expectation over the rounds played, so
these costs add up to v* less what was earned, and with one action throughout to v* − v.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import jax
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.noise import Noise
from hrprob.record import record

__all__ = ["Lifetime", "Objective"]


class Objective(Protocol):
    """What the engine and the policies ask of an objective."""

    kind: ClassVar[str]

    def value(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return the value of one action, given its mean, its variance and β."""
        ...

    def round_cost(self, best: jax.Array, value: jax.Array) -> jax.Array:
        """Return what one round of an action of this value costs where ``best`` is the best value."""
        ...


@record()
class Lifetime:
    """The expected lifetime h, the paper's objective.

    Examples
    --------
    >>> from hrprob.noise import NORMAL
    >>> float(Lifetime().value(0.3, 2.0, 0.3, NORMAL))
    2.0
    """

    kind: ClassVar[str] = "lifetime"

    def value(self, u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise) -> jax.Array:
        """Return h."""
        return lifetime.h(u, w, beta, noise)

    def round_cost(self, best: jax.Array, value: jax.Array) -> jax.Array:
        """Return (p − p*)/p*, which is (h* − h)/h: never negative, and 0 for the best action."""
        return lifetime.pseudo_regret(best, value) / value
