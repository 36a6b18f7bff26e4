"""The compiled path of live decisions: its programs are ready before the first user comes.

==========  =========================================================================
``choose``  the action for a user or round, its probability, what the policy expects
            of it, and how many rounds may be sampled
``learn``   the state after an observation, and after a departure if the user left
==========  =========================================================================

A decision must not cost more than it has to, so nothing is built per call that can be kept: the policy's numbers and
its state stay on the device as the leaves that the programs take, the user's numbers go in as one array, and what comes
out is read as one array.

Many users may be present at once. What a policy's state holds of the current user alone (the open rows of a ledger) is
taken out after every call and kept with that user.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import Ready, program
from hrprob._core.precision import double_precision
from hrprob._core.types import Numeric, PyTree
from hrprob.policies.base import Policy, Seen
from hrprob.policies.ledger import open_parts
from hrprob.policies.offers import Offer, nth_offered
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS

__all__ = ["Chosen", "Decisions", "arrival_numbers", "with_samples"]

# After the contexts and the numbers of the actions they belong to: β, the number of users, |S|, whether it is the warm-up.
_ARRIVAL_NUMBERS = 4
# The number of users, rounds played, whether the user left, rounds sampled, Σr, Σr²; then the first outcomes.
_STAY_NUMBERS = 6


class Chosen(NamedTuple, Generic[Numeric]):
    """What the program ``choose`` returns, in the order of its array; traced, or as numbers."""

    action: Numeric
    quota: Numeric
    probability: Numeric
    mean: Numeric
    variance: Numeric
    reneging: Numeric
    lifetime: Numeric


@program()
def _init(policy: Policy) -> PyTree:
    """Return the state before the first user."""
    return policy.init()


@program(static=("draws", "warmup"))
def _choose(
    policy: Policy, state: PyTree, key: jax.Array, arrival: jax.Array, *, draws: int, warmup: bool
) -> tuple[jax.Array, jax.Array]:
    """Return the next key, and a ``Chosen`` as one array; ``warmup``: there may be users who are served at random."""
    offer, (users, samples, warming) = _offer(policy, arrival), arrival[1 - _ARRIVAL_NUMBERS :]
    following, own, other = jax.random.split(jax.random.wrap_key_data(key), 3)
    action = policy.select_among(state, own, offer)
    probability = jnp.asarray(policy.probability(state, other, offer, action, draws))
    if warmup:
        number = jnp.sum(offer.offered)
        random = nth_offered(offer.offered, jax.random.randint(own, (), 0, number))
        action = jnp.where(warming > 0, random, action)
        probability = jnp.where(warming > 0, 1.0 / number, probability)
    quota = policy.quota(state, samples, users, offer.contexts[action])
    expected = policy.predict(state, offer.contexts, offer.beta, action)
    chosen = Chosen(action.astype(float), jnp.asarray(quota, float), probability, *expected)
    return jax.random.key_data(following), jnp.stack(chosen)


@program(static=("gone",))
def _learn(
    policy: Policy, state: PyTree, arrival: jax.Array, chosen: jax.Array, stay: jax.Array, *, gone: bool
) -> PyTree:
    """Return the state after a stay, or a part of one; ``gone``: the user will not be served again."""
    offer, action = _offer(policy, arrival), chosen[0].astype(int)
    users, played, left, sampled, total, squares = stay[:_STAY_NUMBERS]
    seen = Seen(
        user=users,
        contexts=offer.contexts,
        action=action,
        context=offer.contexts[action],
        beta=offer.beta,
        played=played,
        left=left > 0,
        sampled=sampled,
        total=total,
        squares=squares,
        outcomes=stay[_STAY_NUMBERS:],
    )
    after = policy.update(state, seen)
    return policy.depart(after, users) if gone else after


def _offer(policy: Policy, arrival: jax.Array) -> Offer:
    actions = policy.known.actions
    size = actions * policy.known.dimension
    contexts = arrival[:size].reshape(actions, policy.known.dimension)
    return Offer(contexts, arrival[-_ARRIVAL_NUMBERS], arrival[size : size + actions].astype(int))


class Decisions:
    """A policy with its state on the device, and its programs compiled.

    Parameters
    ----------
    policy : Policy
        The policy, bound to a problem.
    key : numpy.ndarray
        The two words of the key of policies that draw.
    draws : int
        How many further selections estimate the probability of an action, where it has no closed form.
    state : list of arrays, optional
        The leaves of the policy's state; by default those before the first user.
    """

    def __init__(
        self, policy: Policy, key: np.ndarray, draws: int, state: Sequence[np.ndarray] | None = None
    ) -> None:
        self._policy = [_on_device(leaf) for leaf in jax.tree.leaves(policy)]
        self._key = jax.device_put(np.asarray(key, np.uint32))
        if state is None:
            self.state = _init(policy)
        else:
            structure = jax.tree.structure(jax.eval_shape(policy.init))
            self.state = jax.tree.unflatten(structure, state)
        # The leaves that belong to the current user alone, and what they are when nobody is served.
        numbered = jax.tree.unflatten(self._structure, range(len(self._state)))
        self._own = tuple(jax.tree.leaves(open_parts(numbered)))
        self.nobody = tuple(self._state[place] for place in self._own)
        self._prepare(policy, draws)

    def _prepare(self, policy: Policy, draws: int) -> None:
        known = policy.known
        sizes = (
            known.actions * (known.dimension + 1) + _ARRIVAL_NUMBERS,
            len(Chosen._fields),
            _STAY_NUMBERS + BLOCK_OF_ROUNDS,
        )
        # NumPy arrays stand for what the programs will be called with: for them nothing is compiled.
        arrival, chosen, stay = (cast(jax.Array, np.zeros(size)) for size in sizes)

        def ready(gone: bool | None) -> Ready:
            with double_precision():
                if gone is None:
                    warmup = bool(policy.warmup)
                    choose = _choose.prepare(
                        policy, self.state, self._key, arrival, draws=draws, warmup=warmup
                    )
                    return choose.result()
                return _learn.prepare(policy, self.state, arrival, chosen, stay, gone=gone).result()

        # A lazy policy learns only from users who have left; from warm-up users every policy learns by the round.
        kinds = (None, True, False) if policy.eager or policy.warmup else (None, True)
        with ThreadPoolExecutor(len(kinds)) as pool:
            programs = dict(zip(kinds, pool.map(ready, kinds), strict=True))
        self._choose = programs[None].compiled
        self._learn = {gone: programs[gone].compiled for gone in kinds if gone is not None}

    @property
    def state(self) -> PyTree:
        """The policy's state."""
        return jax.tree.unflatten(self._structure, self._state)

    @state.setter
    def state(self, state: PyTree) -> None:
        leaves, self._structure = jax.tree.flatten(state)
        self._state = [_on_device(leaf) for leaf in leaves]

    @property
    def leaves(self) -> list[np.ndarray]:
        """The numbers of the state, to be kept."""
        return [np.asarray(leaf) for leaf in self._state]

    @property
    def key(self) -> np.ndarray:
        """The two words of the key from which the next random numbers come."""
        return np.asarray(self._key)

    @property
    def keeps_all_users(self) -> bool:
        """Whether the state has a row for every user, and so room for a stated number of them."""
        return bool(self._own)

    def split_key(self) -> jax.Array:
        """Return a new key for ``jax.random``."""
        following, own = jax.random.split(jax.random.wrap_key_data(self._key))
        self._key = jax.random.key_data(following)
        return own

    def choose(self, arrival: np.ndarray, own: Sequence[jax.Array]) -> np.ndarray:
        """Return the choice for a user, as an array of the fields of ``Chosen``."""
        # NumPy arrays go in as they are: `device_put` would cost as much as all the rest.
        self._key, chosen = self._choose(*self._policy, *self._state_of(own), self._key, arrival)
        return np.asarray(chosen)

    def learn(
        self,
        arrival: np.ndarray,
        chosen: np.ndarray,
        stay: tuple[float, ...],
        outcomes: Sequence[float],
        own: Sequence[jax.Array],
        *,
        gone: bool,
    ) -> tuple[jax.Array, ...]:
        """Learn from a stay: users, rounds, whether the user left, rounds sampled, Σr, Σr²; the first outcomes.

        Return what the state now has of this user alone.
        """
        numbers = np.zeros(_STAY_NUMBERS + BLOCK_OF_ROUNDS)
        numbers[:_STAY_NUMBERS] = stay
        numbers[_STAY_NUMBERS : _STAY_NUMBERS + len(outcomes)] = outcomes
        after = self._learn[gone](*self._policy, *self._state_of(own), arrival, chosen, numbers)
        mine = tuple(after[place] for place in self._own)
        self._state = list(after)
        self._state = self._state_of(self.nobody)
        return mine

    def _state_of(self, own: Sequence[jax.Array]) -> list[jax.Array]:
        """Return the leaves of the state with what belongs to one user in its place."""
        if not self._own:
            return self._state
        leaves = list(self._state)
        for place, leaf in zip(self._own, own, strict=True):
            leaves[place] = leaf
        return leaves


def arrival_numbers(
    contexts: np.ndarray, served_as: np.ndarray, beta: float, users: int, samples: int, warming: bool
) -> np.ndarray:
    """Return a user's numbers as the programs take them."""
    size, actions = contexts.size, len(served_as)
    numbers = np.empty(size + actions + _ARRIVAL_NUMBERS)
    numbers[:size] = contexts.ravel()
    numbers[size : size + actions] = served_as
    numbers[size + actions :] = beta, users, samples, warming
    return numbers


def with_samples(arrival: np.ndarray, samples: int) -> np.ndarray:
    """Return the same user's numbers at another size of the sample set."""
    numbers = arrival.copy()
    numbers[2 - _ARRIVAL_NUMBERS] = samples
    return numbers


def _on_device(leaf: object) -> jax.Array:
    return leaf if isinstance(leaf, jax.Array) else jax.device_put(np.asarray(leaf))
