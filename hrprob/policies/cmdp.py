r"""CMDP: a partition of the context space, with a separate MDP learned in each cell [1]_.

In a cell the user is either present or gone. An action a is served for one round and ends
the stay with probability :math:`p_a`; the empirical MDP has :math:`\hat p_a` = departures/rounds.
An action is *known* once it has been tried :math:`\sqrt t` times in the cell. While some
actions are unknown, one of them is selected uniformly at random; otherwise the policy that is optimal in
the empirical MDP. Always serving a has the value

.. math:: V_a = \frac{1}{1 - \gamma(1 - \hat p_a)},

and policy iteration on two states, one of them absorbing, ends after one improvement at
the action of largest :math:`V_a`.

The cells are those of a partition (:mod:`hrprob.policies.partitions`).

References
----------
.. [1] A. Modi, N. Jiang, S. Singh, A. Tewari, "Markov decision processes with continuous
   side information", ALT 2018.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.records import set_frozen, set_later, with_fields
from hrprob.numerics.choice import first_largest
from hrprob.policies.base import Policy, Seen, register
from hrprob.policies.offers import Offer, Prediction
from hrprob.policies.partitions import PARTITIONS, SAMPLE, Cells
from hrprob.problem import Problem

__all__ = ["CMDP", "CMDPState"]


class CMDPState(NamedTuple):
    """Counts for each cell and action."""

    tries: jax.Array  # (cells, actions) users or rounds
    rounds: jax.Array  # (cells, actions)
    departures: jax.Array  # (cells, actions)
    left: jax.Array  # () all departures


@register("cmdp", static=("partition", "tries", "with_beta", "cells"))
class CMDP(Policy[CMDPState]):
    """Learn a two-state MDP in every cell of a partition of the contexts.

    Parameters
    ----------
    partition : {"k-means", "sets", "arbitrary"}, default "k-means"
        The cells: around k-means centres, one per finite context set, or unrelated to the context.
    cells : int, default 50
        The number of cells; not used with "sets".
    with_beta : bool, default False
        Whether β is part of the context that is partitioned.
    tries : {"rounds", "users"}, default "rounds"
        The unit in which tries of an action are counted.
    eager : bool, default True
        Whether the action may change within a stay, as in an MDP.
    discount : float, default 0.99
        γ of the MDP, in (0, 1).

    Examples
    --------
    >>> policy = CMDP(cells=20, with_beta=True)
    >>> policy.cells, policy.partition
    (20, 'k-means')
    """

    partition: str = "k-means"
    cells: int = 50
    with_beta: bool = False
    tries: str = "rounds"
    eager: bool = dataclasses.field(default=True, kw_only=True)
    discount: float = 0.99
    placed: Cells = set_later()

    def check(self) -> None:
        """Check the parameters."""
        check_choice("partition", self.partition, tuple(PARTITIONS))
        check_choice("tries", self.tries, ("users", "rounds"))
        check_count("cells", self.cells, high=SAMPLE // 2, remedy="at least one MDP is learned")
        if not isinstance(self.with_beta, bool):
            remedy = "true partitions by β too"
            raise InvalidInput("with_beta", "must be true or false", self.with_beta, remedy)
        if self.with_beta and not PARTITIONS[self.partition].can_use_beta:
            must = 'must be false unless partition = "k-means"'
            raise InvalidInput("with_beta", must, True, "other cells do not depend on β")
        remedy = "it is the weight of the next round"
        discount = check_number(
            "discount", self.discount, low=0, high=1, open_low=True, open_high=True, remedy=remedy
        )
        set_frozen(self, discount=discount)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its cells for this problem."""
        bound = super().bind(problem, users)
        if self.with_beta and not problem.satisfaction.seen:
            raise InvalidInput("with_beta", "must be false where levels are not seen", True, "there is no β")
        placed = PARTITIONS[self.partition].place(problem, self.cells, self.with_beta)
        return with_fields(bound, placed=placed, cells=placed.number)

    def init(self) -> CMDPState:
        """Return the state before the first user."""
        nothing = jnp.zeros((self.cells, self.known.actions))
        return CMDPState(nothing, nothing, nothing, jnp.zeros(()))

    def select(self, state: CMDPState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return an unknown action at random, or the best action of the empirical MDP."""
        unknown, value = self._unknown_and_value(state, self.placed.cell(contexts, beta))
        return _pick(key, unknown, value)

    def select_among(self, state: CMDPState, key: jax.Array, offer: Offer) -> jax.Array:
        """Return an unknown one of the offered actions at random, or the best of them."""
        unknown, value = self._unknown_and_value(state, self.placed.cell(offer.contexts, offer.beta))
        return _pick(key, unknown & offer.offered, jnp.where(offer.offered, value, -1.0))

    def probability(
        self, state: CMDPState, key: jax.Array, offer: Offer, action: jax.Array, draws: int
    ) -> jax.Array:
        """Return one by the number of unknown actions, and 1 where all are known."""
        unknown, _ = self._unknown_and_value(state, self.placed.cell(offer.contexts, offer.beta))
        return 1.0 / jnp.maximum(jnp.sum(unknown & offer.offered), 1)

    def predict(
        self, state: CMDPState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return the share of rounds in the user's cell after which users left; outcomes are not estimated."""
        cell, nothing = self.placed.cell(contexts, beta), super().predict(state, contexts, beta, action)
        return nothing._replace(
            reneging=state.departures[cell, action] / state.rounds[cell, action],
            lifetime=state.rounds[cell, action] / state.departures[cell, action],
        )

    def _unknown_and_value(self, state: CMDPState, cell: jax.Array) -> tuple[jax.Array, jax.Array]:
        probability = state.departures[cell] / jnp.maximum(state.rounds[cell], 1.0)
        unknown = state.tries[cell] < jnp.sqrt(state.left + 1.0)
        return unknown, 1.0 / (1.0 - self.discount * (1.0 - probability))

    def update(self, state: CMDPState, seen: Seen) -> CMDPState:
        """Add to the counts of the user's cell."""
        place = (self.placed.cell(seen.contexts, seen.beta), seen.action)
        left = jnp.where(seen.left, 1.0, 0.0)
        return CMDPState(
            state.tries.at[place].add(left if self.tries == "users" else seen.played),
            state.rounds.at[place].add(seen.played),
            state.departures.at[place].add(left),
            state.left + left,
        )


def _pick(key: jax.Array, unknown: jax.Array, value: jax.Array) -> jax.Array:
    """Return an unknown action at random if there is one, or the action of largest value."""
    lottery = jax.random.uniform(key, value.shape)
    return jnp.where(jnp.any(unknown), first_largest(jnp.where(unknown, lottery, -1.0)), first_largest(value))
