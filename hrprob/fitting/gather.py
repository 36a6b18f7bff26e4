"""The rounds that a policy played: what a bandit has seen of a problem.

The engine keeps actions and lifetimes, not outcomes. But every random number of a run is
a function of its address (:mod:`hrprob._core.random_numbers`), so the rounds of a stay are drawn again
from the action and the length of it, to the last bit.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.fitting.table import Table
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, arrivals
from hrprob.simulation.engine import simulate
from hrprob.simulation.serving import MOST_ROUNDS

__all__ = ["gather"]


def gather(
    problem: Problem, policy: Policy, *, users: int = 100, seed: int = 0, most_rounds: int = 1000
) -> Table:
    """Return the rounds of the first trial of ``simulate(problem, policy, users=users, seed=seed)``.

    Parameters
    ----------
    problem : Problem
        What is played.
    policy : Policy
        Who plays: one action a stay, without warm-up users.
    users, seed : int
        How many users are served, and the seed of everything random.
    most_rounds : int
        Of each stay the first so many rounds are recorded. The number is known beforehand,
        so it biases nothing; no stay ends there.

    Examples
    --------
    >>> import hrprob
    >>> table = gather(hrprob.Problem(), hrprob.Random(), users=20)
    >>> stayed = table.r >= table.beta
    >>> int((~stayed).sum())  # each user leaves once
    20
    """
    check_count("most_rounds", most_rounds, high=MOST_ROUNDS, remedy="it is a number of rounds")
    if not isinstance(policy, Policy):
        raise InvalidInput("policy", "must be a policy", policy, "write hrprob.Thompson(), for example")
    if policy.eager:
        remedy = "the actions of single rounds are not kept; take the lazy policy"
        raise InvalidInput("policy.eager", "must be false", policy.eager, remedy)
    if policy.warmup:
        remedy = "rounds of warm-up users are not kept"
        raise InvalidInput("policy.warmup", "must be 0", policy.warmup, remedy)
    played = simulate(problem, policy, users=users, trials=1, seed=seed, keep="all").isel(policy=0, trial=0)
    action = played.action.values.astype(int)
    recorded = np.minimum(played.lifetime.values, most_rounds).astype(int)
    numbers = np.arange(1, users + 1, dtype=np.uint32)
    with double_precision():
        keys = trial_keys(seed, np.arange(1))
        arrived = jax.tree.map(np.asarray, arrivals(problem, keys, numbers))
        noise = _noise(problem, keys, numbers, recorded, arrived.noise[..., 0])
    each = np.repeat(np.arange(users), recorded)
    mean = arrived.mean[np.arange(users), action, 0]
    sd = arrived.sd[np.arange(users), action, 0]
    return Table(
        x=arrived.contexts[each, action[each], :, 0],
        r=mean[each] + sd[each] * noise,
        user=numbers[each].astype(int),
        beta=arrived.beta[each, 0] if problem.satisfaction.seen else None,
    )


def _noise(
    problem: Problem,
    keys: tuple[jax.Array, jax.Array],
    numbers: np.ndarray,
    recorded: np.ndarray,
    first: np.ndarray,
) -> np.ndarray:
    """Return the noise of all recorded rounds, user after user, given that of the ``first`` (users, rounds)."""
    drawn = dict(enumerate(first))
    for user in np.flatnonzero(recorded > BLOCK_OF_ROUNDS).tolist():
        # Drawn in powers of two, so that few shapes are compiled.
        rounds = 1 << int(recorded[user] - 1).bit_length()
        source = Source(keys, jnp.asarray(numbers[user : user + 1]))
        drawn[user] = np.asarray(problem.noise.draw(source, rounds))[0, :, 0]
    return np.concatenate([drawn[user][:rounds] for user, rounds in enumerate(recorded)])
