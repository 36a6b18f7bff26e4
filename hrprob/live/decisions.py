"""The compiled path of live decisions: two programs, ready before the first user comes.

==========  =========================================================================
``choose``  the action for a user or round, and how many rounds may be sampled
``learn``   the state after an observation, and after a departure if the user left
==========  =========================================================================

A decision must not cost more than it has to, so nothing is built per call that can be kept: the policy's numbers and
its state stay on the device as the leaves that the programs take, the user's numbers go in as one array, and what comes
out is read as one array.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import Ready, program
from hrprob._core.precision import double_precision
from hrprob.policies.base import Policy, Seen
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS

__all__ = ["Choice", "Decisions"]

# After the contexts: β, the number of users, |S|.
_ARRIVAL_NUMBERS = 3
# The number of users, rounds played, whether the user left, rounds sampled, Σr, Σr²; then the first outcomes.
_STAY_NUMBERS = 6


class Choice(NamedTuple):
    """What the policy chose, and what the next step needs to know of it."""

    action: int
    quota: float
    arrival: np.ndarray  # the numbers of the user
    chosen: jax.Array  # (2,) action and quota, on the device


@program()
def _init(policy: Policy) -> Any:
    """Return the state before the first user."""
    return policy.init()


@program()
def _choose(policy: Policy, state: Any, key: jax.Array, arrival: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the next key, and action and quota as one array."""
    contexts, (beta, users, samples) = _contexts(policy, arrival), arrival[-_ARRIVAL_NUMBERS:]
    following, own = jax.random.split(jax.random.wrap_key_data(key))
    action = policy.select(state, own, contexts, beta)
    quota = policy.quota(state, samples, users, contexts[action])
    chosen = jnp.stack([action.astype(float), jnp.asarray(quota, float)])
    return jax.random.key_data(following), chosen


@program(static=("gone",))
def _learn(
    policy: Policy, state: Any, arrival: jax.Array, chosen: jax.Array, stay: jax.Array, *, gone: bool
) -> Any:
    """Return the state after a stay, or a part of one; ``gone``: the user will not be served again."""
    contexts, action = _contexts(policy, arrival), chosen[0].astype(int)
    users, played, left, sampled, total, squares = stay[:_STAY_NUMBERS]
    seen = Seen(
        user=users,
        contexts=contexts,
        action=action,
        context=contexts[action],
        beta=arrival[-_ARRIVAL_NUMBERS],
        played=played,
        left=left > 0,
        sampled=sampled,
        total=total,
        squares=squares,
        outcomes=stay[_STAY_NUMBERS:],
    )
    after = policy.update(state, seen)
    return policy.depart(after, users) if gone else after


def _contexts(policy: Policy, arrival: jax.Array) -> jax.Array:
    return arrival[:-_ARRIVAL_NUMBERS].reshape(policy.known.actions, policy.known.dimension)


class Decisions:
    """A policy with its state on the device, and its programs compiled.

    Parameters
    ----------
    policy : Policy
        The policy, bound to a problem.
    seed : int
        The seed of policies that draw.
    """

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy = [_on_device(leaf) for leaf in jax.tree.leaves(policy)]
        # The words of a seed's key are its upper and lower 32 bits: `jax.random.key` would compile to say so.
        self._key = jax.device_put(np.array(divmod(seed, 2**32), np.uint32))
        self.state = _init(policy)
        arrival: Any = np.zeros(policy.known.actions * policy.known.dimension + _ARRIVAL_NUMBERS)
        stay: Any = np.zeros(_STAY_NUMBERS + BLOCK_OF_ROUNDS)
        chosen: Any = np.zeros(2)

        def ready(gone: bool | None) -> Ready:
            with double_precision():
                if gone is None:
                    return _choose.prepare(policy, self.state, self._key, arrival).result()
                return _learn.prepare(policy, self.state, arrival, chosen, stay, gone=gone).result()

        # A lazy policy learns only from users who have left.
        kinds = (None, True, False) if policy.eager else (None, True)
        with ThreadPoolExecutor(len(kinds)) as pool:
            programs = dict(zip(kinds, pool.map(ready, kinds), strict=True))
        self._choose = programs[None].compiled
        self._learn = {gone: programs[gone].compiled for gone in kinds if gone is not None}

    @property
    def state(self) -> Any:
        """The policy's state."""
        return jax.tree.unflatten(self._structure, self._state)

    @state.setter
    def state(self, state: Any) -> None:
        leaves, self._structure = jax.tree.flatten(state)
        self._state = [_on_device(leaf) for leaf in leaves]

    def split_key(self) -> jax.Array:
        """Return a new key for ``jax.random``."""
        following, own = jax.random.split(jax.random.wrap_key_data(self._key))
        self._key = jax.random.key_data(following)
        return own

    def choose(self, contexts: np.ndarray, beta: float, users: int, samples: int) -> Choice:
        """Return the choice for a new user (or a new round) with these contexts (actions, d)."""
        size = contexts.size
        numbers = np.empty(size + _ARRIVAL_NUMBERS)
        numbers[:size] = contexts.ravel()
        numbers[size:] = beta, users, samples
        return self._chosen(numbers)

    def choose_again(self, choice: Choice, samples: int) -> Choice:
        """Return the choice for the next round of the same user."""
        numbers = choice.arrival.copy()
        numbers[-1] = samples
        return self._chosen(numbers)

    def _chosen(self, arrival: np.ndarray) -> Choice:
        # NumPy arrays go in as they are: `device_put` would cost as much as all the rest.
        self._key, chosen = self._choose(*self._policy, *self._state, self._key, arrival)
        action, quota = np.asarray(chosen).tolist()
        return Choice(int(action), quota, arrival, chosen)

    def learn(self, choice: Choice, stay: tuple[float, ...], outcomes: list[float], *, gone: bool) -> None:
        """Learn from a stay: users, rounds, whether the user left, rounds sampled, Σr, Σr²; the first outcomes."""
        numbers = np.zeros(_STAY_NUMBERS + BLOCK_OF_ROUNDS)
        numbers[:_STAY_NUMBERS] = stay
        numbers[_STAY_NUMBERS : _STAY_NUMBERS + len(outcomes)] = outcomes
        self._state = self._learn[gone](*self._policy, *self._state, choice.arrival, choice.chosen, numbers)


def _on_device(leaf: Any) -> jax.Array:
    return leaf if isinstance(leaf, jax.Array) else jax.device_put(np.asarray(leaf))
