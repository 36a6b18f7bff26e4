"""The policy to evaluate: its probabilities for every logged user.

What is evaluated does not change: an agent as it is now, a function, or a policy that has learned from the first stays of the
log and is evaluated on the others.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.compiled import program
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, key_of
from hrprob._core.types import PyTree
from hrprob.live.agent import Agent
from hrprob.live.checks import check_contexts
from hrprob.live.evaluation.logged import LoggedStays
from hrprob.live.evaluation.weights import Target
from hrprob.live.serving import Serving
from hrprob.policies.base import Policy, make_policy
from hrprob.policies.offers import Offer

__all__ = ["make_target"]

# Users whose probabilities are computed together.
_CHUNK = 256


def make_target(
    policy: object, log: LoggedStays, *, learn: float, draws: int, seed: int
) -> tuple[Target, LoggedStays]:
    """Return the target, and the stays on which it is evaluated."""
    if callable(policy) and not isinstance(policy, type | Policy):
        return Target(_from_function(policy, log), keeps=True), log
    if isinstance(policy, Serving):
        agent, rest = policy, log
        shape = (agent.actions, agent.dimension)
        if shape != log.contexts.shape[1:]:
            must = f"must be for {log.contexts.shape[1]} actions of {log.contexts.shape[2]} features"
            raise InvalidInput("policy", must, shape, "these are the actions and features of the log")
    else:
        agent, rest = _learned(make_policy(policy), log, learn, seed)
    return Target(_frequencies(agent, rest, draws, seed), keeps=not agent.policy.eager), rest


def _from_function(function: Callable[..., ArrayLike], log: LoggedStays) -> np.ndarray:
    """Return what a function of contexts (actions, d) and level returns: a probability per action."""
    offered, rows = log.offered, []
    for contexts, beta, mask in zip(log.contexts, log.beta, offered, strict=True):
        row = np.zeros(len(mask))
        given = np.asarray(function(contexts[mask], float(beta)), float)
        if given.shape != (mask.sum(),) or np.any(given < 0) or abs(given.sum() - 1.0) > 1e-6:
            must = "must return a probability for each action that is offered"
            raise InvalidInput("policy", must, given, "they add up to 1")
        row[mask] = given
        rows.append(row)
    return np.array(rows)


def _learned(policy: Policy, log: LoggedStays, learn: float, seed: int) -> tuple[Agent, LoggedStays]:
    first = min(round(learn * log.users), log.users - 1)
    _, actions, dimension = log.contexts.shape
    if np.any(np.isnan(log.beta)):
        remedy = "make an agent that knows their distribution, and evaluate that"
        raise InvalidInput("policy", "must be an agent where levels are hidden", policy.kind, remedy)
    agent = Agent(policy, dimension=dimension, actions=actions, users=max(2 * len(log.action), 1), seed=seed)
    for user in range(first):
        _take_in(agent, log, user)
    return agent, log.part(first, log.users)


def _take_in(agent: Agent, log: LoggedStays, user: int) -> None:
    """Let an agent learn from a stay: each run of rounds under one action counts as one."""
    rounds = slice(log.first[user], log.first[user] + log.lengths[user])
    action, outcome = log.action[rounds], log.outcome[rounds]
    contexts, served_as = _rows(log, user)
    cuts = np.flatnonzero(np.diff(action)) + 1
    runs = list(zip(np.split(action, cuts), np.split(outcome, cuts), strict=True))
    for place, (actions, outcomes) in enumerate(runs):
        left = bool(log.left[user]) and place == len(runs) - 1
        agent._learn_from(
            contexts, served_as, float(log.beta[user]), int(actions[0]), outcomes.tolist(), left
        )


def _rows(log: LoggedStays, user: int) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts (actions, d) with copies in place of what was not offered, and the action of each row."""
    mask = log.offered[user]
    longest = max(float(np.linalg.norm(log.contexts[user][mask], axis=1).max()), 1.0)
    offered = np.flatnonzero(mask).tolist()
    return check_contexts(log.contexts[user][mask] / longest, offered, *log.contexts.shape[1:])


def _frequencies(agent: Serving, log: LoggedStays, draws: int, seed: int) -> np.ndarray:
    rows = [_rows(log, user) for user in range(log.users)]
    contexts, served_as = (np.array(part) for part in zip(*rows, strict=True))
    key = jax.random.key_data(key_of(seed, Purpose.REPLICATES))
    found = []
    with double_precision():
        for start in range(0, log.users, _CHUNK):
            users = np.minimum(np.arange(start, start + _CHUNK), log.users - 1)
            # NumPy arrays go in as they are.
            arrays: list[PyTree] = [users, contexts[users], log.beta[users], served_as[users]]
            numbers, offers = arrays[0], Offer(*arrays[1:])
            found.append(np.asarray(_shares(agent.policy, agent.state, key, numbers, offers, draws=draws)))
    return np.concatenate(found)[: log.users]


@program(static=("draws",))
def _shares(
    policy: Policy, state: PyTree, key: jax.Array, users: jax.Array, offers: Offer, *, draws: int
) -> jax.Array:
    """Return how often each action is selected for each user (users, actions), of so many draws."""
    actions = jnp.arange(policy.known.actions)

    def one(user: jax.Array, offer: Offer) -> jax.Array:
        own = jax.random.fold_in(jax.random.wrap_key_data(key), user)
        chosen = jax.vmap(lambda key: policy.select_among(state, key, offer))(jax.random.split(own, draws))
        return jnp.mean(jnp.where(chosen[:, None] == actions, 1.0, 0.0), axis=0)

    return jax.vmap(one)(users, offers)
