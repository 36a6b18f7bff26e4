r"""CMDP: a cover of the context space, and in each of its cells an MDP learned apart [1]_.

In a cell the user is either there or gone. An action a is tried, earns one round, and ends
the stay with probability :math:`p_a`; the empirical MDP has :math:`\hat p_a` = departures/rounds.
An action is *known* once it has been tried :math:`\sqrt t` times in the cell. While some
are unknown, one of them is served, uniformly at random; else the policy that is optimal in the empirical
MDP. Serving a for ever is worth

.. math:: V_a = \frac{1}{1 - \gamma(1 - \hat p_a)},

and policy iteration on two states, one of them absorbing, ends after one improvement at
the action of largest :math:`V_a`.

=============  =====================================================================
``partition``  the cells
=============  =====================================================================
k-means        ``cells`` cells around centres found on contexts drawn beforehand
sets           the finite context sets, one a cell
arbitrary      ``cells`` cells that say nothing about the context: the look-up of the
               released program compares a context with itself, so its cells are these
=============  =====================================================================

References
----------
.. [1] A. Modi, N. Jiang, S. Singh, A. Tewari, "Markov decision processes with continuous
   side information", ALT 2018.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob._core.records import set_frozen, with_fields
from hrprob.policies.base import Policy, Seen, register
from hrprob.problem import Problem
from hrprob.simulation.arrivals import arrivals

__all__ = ["CMDP", "CMDPState"]

PARTITIONS = ("k-means", "sets", "arbitrary")

# Users drawn to place the centres, from a seed of their own that no trial shares.
_SAMPLE = 4000
_SAMPLE_SEED = 0x636D6470
_SAMPLE_TRIAL = 2**32 - 1


class CMDPState(NamedTuple):
    """What happened in each cell under each action."""

    tries: jax.Array  # (cells, actions) users or rounds
    rounds: jax.Array  # (cells, actions)
    departures: jax.Array  # (cells, actions)


@register("cmdp", static=("partition", "tries", "with_beta", "cells"))
class CMDP(Policy):
    """Learn a two-state MDP in every cell of a partition of the contexts.

    Parameters
    ----------
    partition : {"k-means", "sets", "arbitrary"}
        The cells.
    cells : int
        How many, except with "sets".
    with_beta : bool
        Whether β is part of the context that is partitioned.
    tries : {"rounds", "users"}
        What counts as a try.
    eager : bool
        Whether the action may change within a stay, as an MDP has it.
    discount : float
        γ of the MDP, in (0, 1).
    """

    partition: Any = "k-means"
    cells: Any = 50
    with_beta: Any = False
    tries: Any = "rounds"
    eager: Any = dataclasses.field(default=True, kw_only=True)
    discount: Any = 0.99
    centres: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Check the parameters."""
        check_choice("partition", self.partition, PARTITIONS)
        check_choice("tries", self.tries, ("users", "rounds"))
        check_count("cells", self.cells, high=_SAMPLE // 2, remedy="at least one MDP is learned")
        if not isinstance(self.with_beta, bool):
            raise InvalidInput("with_beta", "must be true or false", self.with_beta, "true splits by β too")
        if self.with_beta and self.partition != "k-means":
            raise InvalidInput(
                "with_beta", 'must be false unless partition = "k-means"', True, "other cells leave β out"
            )
        remedy = "it is the weight of the next round"
        discount = check_number(
            "discount", self.discount, low=0, high=1, open_low=True, open_high=True, remedy=remedy
        )
        set_frozen(self, discount=discount)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its cells placed."""
        bound = super().bind(problem, users)
        if self.with_beta and not problem.satisfaction.seen:
            raise InvalidInput("with_beta", "must be false where levels are not seen", True, "there is no β")
        if self.partition == "sets":
            if problem.sets is None:
                raise InvalidInput(
                    "partition",
                    'must not be "sets"',
                    self.partition,
                    "the contexts are not finitely many sets",
                )
            sets = np.asarray(problem.sets)
            return with_fields(bound, cells=len(sets), centres=sets.reshape(len(sets), -1))
        if self.partition == "k-means":
            centres = _centres(problem, self.cells, self.with_beta)
            return with_fields(bound, cells=len(centres), centres=centres)
        return bound

    def init(self) -> CMDPState:
        """Return the state before the first user."""
        nothing = jnp.zeros((self.cells, self.known.actions))
        return CMDPState(nothing, nothing, nothing)

    def cell(self, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the cell of a user."""
        if self.partition == "arbitrary":
            # The low digits of a context: the same for the same user, and about nothing.
            digits = jnp.abs(contexts[0, 0]) * 2.0**20
            return jnp.floor((digits - jnp.floor(digits)) * self.cells).astype(jnp.int32)
        features = _features(contexts, beta, self.with_beta)
        return jnp.argmin(jnp.sum((self.centres - features) ** 2, axis=-1))

    def select(self, state: CMDPState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return an unknown action at random, or the best of the empirical MDP."""
        cell = self.cell(contexts, beta)
        probability = state.departures[cell] / jnp.maximum(state.rounds[cell], 1.0)
        worth = 1.0 / (1.0 - self.discount * (1.0 - probability))
        unknown = state.tries[cell] < jnp.sqrt(state.departures.sum() + 1.0)
        lottery = jax.random.uniform(key, probability.shape)
        return jnp.where(jnp.any(unknown), jnp.argmax(jnp.where(unknown, lottery, -1.0)), jnp.argmax(worth))

    def update(self, state: CMDPState, seen: Seen) -> CMDPState:
        """Count what happened in the user's cell."""
        place = (self.cell(seen.contexts, seen.beta), seen.action)
        left = jnp.where(seen.left, 1.0, 0.0)
        return CMDPState(
            state.tries.at[place].add(left if self.tries == "users" else seen.played),
            state.rounds.at[place].add(seen.played),
            state.departures.at[place].add(left),
        )


def _features(contexts: jax.Array, beta: jax.Array, with_beta: bool) -> jax.Array:
    flat = contexts.reshape(-1)
    return jnp.append(flat, beta) if with_beta else flat


def _centres(problem: Problem, cells: int, with_beta: bool) -> np.ndarray:
    from scipy.cluster.vq import kmeans2

    with double_precision():
        keys = trial_keys(_SAMPLE_SEED, np.array([_SAMPLE_TRIAL]))
        users = np.arange(1, _SAMPLE + 1, dtype=np.uint32)
        sample = arrivals(problem, keys, users)
    points = np.asarray(sample.contexts)[..., 0].reshape(_SAMPLE, -1)
    if with_beta:
        points = np.column_stack([points, np.asarray(sample.beta)[:, 0]])
    if not np.all(np.isfinite(points)):
        raise InvalidInput(
            "with_beta", "must be false where β is infinite", True, "its distance says nothing"
        )
    # Finitely many contexts may be fewer than the cells.
    cells = min(cells, len(np.unique(points, axis=0)))
    centres, _ = kmeans2(points, cells, minit="++", rng=np.random.default_rng(_SAMPLE_SEED))
    return centres
