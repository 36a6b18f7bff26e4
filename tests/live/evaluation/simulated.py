"""Simulated logs, in NumPy, and the truth that estimates of them are compared with."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from hrprob.live.evaluation.logged import LoggedStays

THETA, PHI, OFFSET = np.array([0.6, 0.3]), np.array([0.5, -0.9]), 2.0
ACTIONS = 3
MOST = 400


class Case(NamedTuple):
    """How a log was made: whether actions are redrawn every round, and how often the target's action is served."""

    eager: bool
    share: float  # probability of the logger for the action that the target prefers
    censored: float = 0.0  # probability that a stay is cut off after a round


def leaving(contexts, beta):
    """Return the true reneging probability of every action."""
    sd = np.sqrt(contexts @ PHI + OFFSET)
    return ndtr((beta[..., None] - contexts @ THETA) / sd)


def preferred(contexts, beta):
    """Return the action that the target prefers: the largest first feature."""
    return np.argmax(contexts[..., 0], axis=-1)


def target(contexts, beta):
    """Return the target's probabilities for one user: mostly the preferred action."""
    probability = np.full(len(contexts), 0.1 / len(contexts))
    probability[int(preferred(contexts, beta))] += 0.9
    return probability


def draw_users(rng, users):
    contexts = rng.normal(size=(users, ACTIONS, 2))
    return contexts / np.linalg.norm(contexts, axis=-1, keepdims=True), rng.uniform(-0.5, 1.0, size=users)


def draw_log(rng, users, case):
    """Return a log of so many users."""
    contexts, beta = draw_users(rng, users)
    logger = np.full((users, ACTIONS), (1 - case.share) / (ACTIONS - 1))
    logger[np.arange(users), preferred(contexts, beta)] = case.share
    edges = np.cumsum(logger, axis=1)

    def draw():
        return np.minimum((rng.random(users)[:, None] > edges).sum(axis=1), ACTIONS - 1)

    present, action = np.ones(users, bool), draw()
    rows, lengths, left = [], np.zeros(users, int), np.zeros(users, bool)
    everyone = np.arange(users)
    for number in range(MOST):
        if number and case.eager:
            action = draw()
        propensity = logger[everyone, action] if case.eager or not number else np.ones(users)
        x = contexts[everyone, action]
        outcome = x @ THETA + np.sqrt(x @ PHI + OFFSET) * rng.normal(size=users)
        here = np.flatnonzero(present)
        rows.append(
            np.stack([here, np.full(here.size, number), action[here], propensity[here], outcome[here]])
        )
        lengths += present
        left |= present & (outcome < beta)
        present = present & (outcome >= beta) & (rng.random(users) >= case.censored)
        if not present.any():
            break
    owner, number, action, propensity, outcome = np.concatenate(rows, axis=1)
    order = np.lexsort((number, owner))
    of_rounds = (action.astype(int)[order], propensity[order], outcome[order])
    return LoggedStays(contexts, beta, lengths, *of_rounds, left)


def truth(horizon, reward=False, users=2_000_000):
    """Return the target's value, averaged over many users: exact but for the average over contexts."""
    contexts, beta = draw_users(np.random.default_rng(99), users)
    p = leaving(contexts, beta)
    pi = np.full((users, ACTIONS), 0.1 / ACTIONS)
    pi[np.arange(users), preferred(contexts, beta)] += 0.9
    rounds = (1 - (1 - p) ** horizon) / p
    return float(np.mean(np.sum(pi * rounds * (contexts @ THETA if reward else 1.0), axis=1)))
