"""What a policy may know of a problem: everything but the truth."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from hrprob._core.precision import float64
from hrprob._core.records import record
from hrprob._core.types import Numbers
from hrprob.noise import Noise
from hrprob.problem.bounds import Bounds
from hrprob.problem.levels import Satisfaction
from hrprob.problem.links import Link
from hrprob.problem.objectives import Objective
from hrprob.problem.stay_rules import StayRules

__all__ = ["Known"]


@record(static=("dimension", "actions"))
class Known:
    """What a policy may know before the first user arrives.

    Attributes
    ----------
    dimension, actions : int
        d, the length of a context, and how many contexts a user has.
    link, noise, objective : Link, Noise, Objective
        f, the standardised distribution of the noise, and what is maximised.
    bounds : Bounds
        Norm bounds of θ* and φ*.
    satisfaction : Satisfaction
        How levels are distributed; a user's own is seen on arrival where ``satisfaction.seen``.
    users : float
        T, the number of users to come.

    Examples
    --------
    >>> import hrprob
    >>> known = hrprob.Problem().known(users=1000)
    >>> known.dimension, known.actions, known.bounds
    (4, 20, Bounds(theta=1.0, phi=2.0))
    """

    dimension: int
    actions: int
    link: Link
    noise: Noise
    objective: Objective
    bounds: Bounds
    satisfaction: Satisfaction
    users: float

    def value(self, u: Numbers, w: Numbers, beta: Numbers) -> jax.Array:
        """Return the value of an action: with the lifetime objective, h_β(u, w).

        Where levels are not seen ``beta`` is NaN, and the value is a mean over them.
        """
        return self._rules.value(u, w, beta)

    @float64
    def largest_value(self, u: jax.Array, w: jax.Array, beta: Numbers) -> jax.Array:
        """Return the largest value among several means and variances of each action, which lie along the first axis.

        Examples
        --------
        >>> import hrprob
        >>> known = hrprob.Problem().known(users=1000)
        >>> u, w = jnp.asarray([[0.1], [0.2]]), jnp.asarray([[2.0], [3.0]])
        >>> bool(known.largest_value(u, w, -1.0)[0] == known.value(u, w, -1.0).max())
        True
        """
        ranks = self._rules.rank(u, w, beta)
        # Written out: a reduction over a short axis would not be vectorised over trials.
        return self._rules.value_of(functools.reduce(jnp.maximum, [ranks[i] for i in range(ranks.shape[0])]))

    @property
    def _rules(self) -> StayRules:
        return StayRules(self.noise, self.satisfaction, self.objective)
