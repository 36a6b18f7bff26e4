"""What a user brings to the plain loop. These random numbers, and nothing else, come from hrprob."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source, trial_keys
from hrprob.simulation.arrivals import arrivals

__all__ = ["Draws", "Past", "Round", "User"]

_BLOCK = 16


class Draws:
    """Contexts, levels, noise and random choices of all users and warm-up users of some trials."""

    def __init__(self, problem: Any, seed: int, users: int, trials: int) -> None:
        with double_precision():
            self._keys = trial_keys(seed, np.arange(trials))
            self._numbers = {
                False: np.arange(1, users + 1, dtype=np.uint32),
                # As many as there are users, so that no other program is compiled.
                True: np.uint32(WARMUP_USERS) + np.arange(users, dtype=np.uint32),
            }
            self._arrived = {
                warm: arrivals(problem, self._keys, self._numbers[warm]) for warm in (False, True)
            }
        self._problem, self._actions = problem, problem.contexts.actions
        self._blocks: dict[Any, np.ndarray] = {}

    def user(self, place: int, trial: int, warm: bool) -> User:
        arrived = self._arrived[warm]
        contexts = np.asarray(arrived.contexts[place, :, :, trial])
        return User(self, place, trial, warm, contexts, float(arrived.beta[place, trial]))

    def at(self, what: str, user: User, round: int) -> Any:
        block = round // _BLOCK
        name = (what, user.warm, block)
        if name not in self._blocks:
            with double_precision():
                numbers = self._numbers[user.warm]
                start = np.uint32(block * _BLOCK)
                self._blocks[name] = np.asarray(
                    _BULK[what](self._problem, self._keys, numbers, start, self._actions)
                )
        return self._blocks[name][user.place, round % _BLOCK, user.trial]


class User(NamedTuple):
    """One user of one trial."""

    draws: Draws
    place: int
    trial: int
    warm: bool
    contexts: np.ndarray  # (actions, d)
    beta: float

    def noise(self, round: int) -> float:
        return self.draws.at("noise", self, round)

    def level(self, problem: Any, round: int) -> float:
        """β in this round."""
        redrawn = problem.satisfaction.kind == "redrawn"
        return self.draws.at("level", self, round) if redrawn else self.beta

    def warmup_action(self, round: int) -> int:
        return int(len(self.contexts) * self.draws.at("warmup", self, round))

    def choice(self, round: int, eager: bool) -> int:
        """A uniformly random action, one per user or one per round."""
        return int(self.draws.at("eager choice" if eager else "choice", self, round if eager else 0))

    def lottery(self, round: int, eager: bool) -> np.ndarray:
        """A uniform number for every action, drawn once per user or once per round."""
        return self.draws.at("eager lottery" if eager else "lottery", self, round if eager else 0)


@functools.partial(jax.jit, static_argnums=4)
def _noise(problem: Any, keys: Any, users: Any, start: Any, actions: int) -> jax.Array:
    return problem.noise.draw(Source(keys, users), _BLOCK, start)


@functools.partial(jax.jit, static_argnums=4)
def _level(problem: Any, keys: Any, users: Any, start: Any, actions: int) -> jax.Array:
    return problem.satisfaction.of.draw(Source(keys, users), (_BLOCK,), start)


@functools.partial(jax.jit, static_argnums=4)
def _warmup(problem: Any, keys: Any, users: Any, start: Any, actions: int) -> jax.Array:
    return Source(keys, users).uniform(Purpose.WARMUP, (_BLOCK,), start)


def _policy_draws(
    problem: Any, keys: Any, users: Any, start: Any, actions: int, *, eager: bool, lottery: bool
) -> jax.Array:
    def one(round: Any, user: Any, first: Any, second: Any) -> jax.Array:
        key = Source((first, second), user).key(Purpose.POLICY)
        key = jax.random.fold_in(key, round) if eager else key
        return jax.random.uniform(key, (actions,)) if lottery else jax.random.randint(key, (), 0, actions)

    over_trials = jax.vmap(one, (None, None, 0, 0))
    over_rounds = jax.vmap(over_trials, (0, None, None, None))
    over_users = jax.vmap(over_rounds, (None, 0, None, None))
    return over_users(start + jnp.arange(_BLOCK, dtype=jnp.uint32), users, *keys)


def _compiled(**options: bool) -> Any:
    return jax.jit(functools.partial(_policy_draws, **options), static_argnums=4)


_BULK = {
    "noise": _noise,
    "level": _level,
    "warmup": _warmup,
    "choice": _compiled(eager=False, lottery=False),
    "eager choice": _compiled(eager=True, lottery=False),
    "lottery": _compiled(eager=False, lottery=True),
    "eager lottery": _compiled(eager=True, lottery=True),
}


class Round(NamedTuple):
    """One round that was played."""

    user: User
    action: int
    outcome: float
    left: bool


class Past(NamedTuple):
    """All that a policy has seen."""

    rounds: list[Round]
    samples: list[Round]  # S
