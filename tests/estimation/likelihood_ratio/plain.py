"""The likelihood-ratio set in plain NumPy and SciPy, row by row, from its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

OFFSET, INFLATION, FLOOR = 2.0, 1.5, 0.15


def sample(seed: int, users: int, d: int, longest: int = 4) -> Any:
    """Contexts, outcomes and labels of users who each stay for some rounds under one context."""
    rng = np.random.default_rng(seed)
    theta, phi = np.full(d, 0.8 / np.sqrt(d)), np.linspace(-0.9, 1.0, d) / np.sqrt(d)
    x = rng.normal(size=(users, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    user = np.repeat(np.arange(users), rng.integers(1, longest + 1, users))
    x = x[user]
    return x, x @ theta + np.sqrt(x @ phi + OFFSET) * rng.normal(size=len(x)), user, theta, phi


def glse_log_q(x: np.ndarray, r: np.ndarray, user: np.ndarray) -> np.ndarray:
    """ln q of every user: the density of all rounds at the estimates before the stay."""
    d, total = x.shape[1], []
    for number in range(user.max() + 1):
        before, mine = user < number, user == number
        V = x[before].T @ x[before] + np.eye(d)
        theta = np.linalg.solve(V, x[before].T @ r[before])
        squared = (r[before] - x[before] @ theta) ** 2
        phi = np.linalg.solve(V, x[before].T @ (squared - OFFSET))
        here = x[mine][0]
        length = np.linalg.norm(here)
        u = np.clip(here @ theta, -length, length)
        w = max(np.clip(here @ phi, -2 * length, 2 * length) + OFFSET, FLOOR * OFFSET)
        w = w * (1.0 + INFLATION * here @ np.linalg.solve(V, here))
        total.append(stats.norm(u, np.sqrt(w)).logpdf(r[mine]).sum())
    return np.array(total)


def log_likelihood(theta: Any, phi: Any, x: np.ndarray, r: np.ndarray) -> float:
    return float(stats.norm(x @ theta, np.sqrt(x @ phi + OFFSET)).logpdf(r).sum())


def grid_in_one_dimension(x: np.ndarray, r: np.ndarray, threshold: float, size: int = 801) -> Any:
    """All (θ, φ) of a fine grid that lie in the set, for d = 1."""
    theta, phi = np.meshgrid(np.linspace(-1, 1, size), np.linspace(-2, 2, size), indexing="ij")
    x = x[:, 0]
    # Σ (r − θx)²/w is a polynomial in θ whose coefficients depend on φ alone.
    w = np.maximum(phi[0][:, None] * x + OFFSET, 1e-10)
    constant, linear, square = ((each / w).sum(axis=-1) for each in (r**2, r * x, x**2))
    squares = constant - 2 * theta * linear + theta**2 * square
    value = -0.5 * (np.log(2 * np.pi * w).sum(axis=-1) + squares)
    inside = value >= threshold
    return theta[inside], phi[inside]
