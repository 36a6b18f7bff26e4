"""What live serving asks of a policy beyond choosing: sets of actions that change, probabilities, predictions.

A policy is compiled for a fixed number of actions. Where a user is offered fewer, the rows of the absent actions hold
copies of contexts that are offered (:class:`Offer`): for a policy that compares contexts a copy changes nothing. Policies that
tell actions apart by their numbers, or draw them uniformly, leave the absent ones out (``select_among``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.extend
import jax.numpy as jnp

from hrprob._core.types import PyTree
from hrprob.problem import Known

__all__ = ["Offer", "Prediction", "depends_on", "nth_offered", "predicted", "unknown_prediction"]


class Offer(NamedTuple):
    """The actions that one user is offered.

    Examples
    --------
    Of three actions the second is absent; its row is a copy of the first one's:

    >>> offer = Offer(jnp.array([[0.5], [0.5], [0.1]]), 0.0, jnp.array([0, 0, 2]))
    >>> offer.offered.tolist()
    [True, False, True]
    """

    contexts: jax.Array  # (actions, d)
    beta: jax.Array  # () satisfaction level; NaN where levels are not seen
    served_as: (
        jax.Array
    )  # (actions,) int: the offered action whose context a row has; its own number if it is offered

    @property
    def offered(self) -> jax.Array:
        """Whether each action is offered (actions,)."""
        return self.served_as == jnp.arange(self.served_as.shape[0])


class Prediction(NamedTuple):
    """What a policy expects of an action; NaN where it has no estimate."""

    mean: jax.Array  # () of an outcome
    variance: jax.Array  # () of an outcome
    reneging: jax.Array  # () probability that a round is the last one
    lifetime: jax.Array  # () expected rounds if the action is kept


def predicted(known: Known, u: jax.Array, w: jax.Array, beta: jax.Array) -> Prediction:
    """Return the prediction that follows from the estimated mean and variance of an outcome."""
    levels, noise = known.satisfaction, known.noise
    reneging = jnp.asarray(levels.predicted_reneging(u, w, beta, noise))
    return Prediction(u, w, reneging, jnp.asarray(levels.rounds(u, w, beta, noise)))


def unknown_prediction() -> Prediction:
    """Return the prediction of a policy that estimates nothing."""
    nothing = jnp.asarray(jnp.nan)
    return Prediction(nothing, nothing, nothing, nothing)


def nth_offered(offered: jax.Array, number: jax.Array) -> jax.Array:
    """Return the action that is the ``number``-th, from 0, of those offered.

    Examples
    --------
    >>> int(nth_offered(jnp.array([False, True, False, True]), 1))
    3
    """
    return jnp.argmax(jnp.cumsum(offered) > number)


A = TypeVar("A")


def depends_on(function: Callable[[A], PyTree], argument: A) -> bool:
    """Return whether any operation of a function uses its argument; False is certain, True is not.

    Examples
    --------
    >>> depends_on(lambda x: jnp.zeros(2) + 1.0, 3.0), depends_on(lambda x: 2.0 * x, 3.0)
    (False, True)
    """
    traced = jax.make_jaxpr(function)(argument).jaxpr
    given = set(traced.invars)
    used = [name for step in traced.eqns for name in step.invars] + list(traced.outvars)
    # Literals cannot be hashed.
    return any(name in given for name in used if isinstance(name, jax.extend.core.Var))
