"""Rounds with known coefficients, two for each user."""

import numpy as np

from hrprob.fitting.table import Table

ROUNDS = 60
THETA, PHI = np.array([0.6, 0.3]), np.array([1.2, -1.0])


def some_rounds(n=ROUNDS, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n // 2, 2))
    x = np.repeat(x / np.linalg.norm(x, axis=1, keepdims=True), 2, axis=0)
    r = x @ THETA + np.sqrt(x @ PHI + 2) * rng.normal(size=n)
    return Table(x, r, user=np.repeat(np.arange(n // 2), 2), beta=np.full(n, -0.5))
