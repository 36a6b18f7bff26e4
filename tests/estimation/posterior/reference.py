"""Data gathered by a bandit, and a slow sampler over raw (θ, φ) that shares nothing with the engines."""

import numpy as np

from hrprob.models import Stays

USERS = 30
THETA, PHI = np.array([0.6, 0.5, 0.5, 0.3]), np.array([0.5, 0.2, 0.8, 0.9])


def gathered(users, seed, theta=THETA, phi=PHI):
    """Stays of users who are served one of 20 actions, better ones more often, and leave below β."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(users, 20, theta.size))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    x = x[np.arange(users), np.argmax(x @ theta + 0.5 * rng.normal(size=(users, 20)), axis=1)]
    sums = np.zeros((users, 3))
    for row, beta in enumerate(rng.uniform(-1, 1, users)):
        sd = np.sqrt(x[row] @ phi + 2)
        while True:
            r = x[row] @ theta + sd * rng.normal()
            sums[row] += (1, r, r * r)
            if r < beta:
                break
    return Stays(x, *sums.T)


def metropolis(data, chains=200, steps=6000, burn=1500, seed=0):
    """Random-walk Metropolis on ‖θ‖ ≤ 1, ‖φ‖ ≤ 2 with f(z) = z + 2: draws (·, 2d)."""
    rng = np.random.default_rng(seed)
    x, rounds, total, squares = (np.asarray(leaf) for leaf in data)
    d = x.shape[1]

    def log_posterior(point):
        theta, phi = point[:, :d], point[:, d:]
        u, w = theta @ x.T, phi @ x.T + 2.0
        inside = (np.sum(theta**2, 1) <= 1) & (np.sum(phi**2, 1) <= 4) & np.all(w > 0, axis=1)
        w = np.where(inside[:, None], w, 1.0)
        each = -0.5 * (rounds * np.log(w) + (squares - 2 * u * total + rounds * u * u) / w)
        return np.where(inside, each.sum(axis=1), -np.inf)

    now = 0.2 * rng.normal(size=(chains, 2 * d)) / np.sqrt(d)
    value, kept = log_posterior(now), []
    scale = np.concatenate([np.full(d, 0.1), np.full(d, 0.35)])
    for step in range(steps):
        if step in (burn // 3, 2 * burn // 3):
            scale = 0.7 * now.std(axis=0)
        there = now + scale * rng.normal(size=now.shape) * rng.choice([0.3, 1.0], size=(chains, 1))
        value_there = log_posterior(there)
        accepted = np.log(rng.uniform(size=chains)) < value_there - value
        now, value = np.where(accepted[:, None], there, now), np.where(accepted, value_there, value)
        if step >= burn and step % 10 == 0:
            kept.append(now)
    return np.concatenate(kept)
