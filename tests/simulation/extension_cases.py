"""Problems with every extension, for tests of the engine."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import hrprob

__all__ = ["ERRORS", "NOISES", "SEEDS", "WORLDS", "worlds"]

# A statistic further from its mean than this has a probability of 6e-5, and the seeds are fixed.
ERRORS = 4.0


def _mixture(rng: Any, n: int, p: float, gap: float, ratio: float) -> np.ndarray:
    upper = math.sqrt((1 - p * (1 - p) * gap**2) / (p * ratio**2 + 1 - p))
    first = rng.uniform(size=n) < p
    mean, deviation = np.where(first, -(1 - p) * gap, p * gap), np.where(first, ratio * upper, upper)
    return mean + deviation * rng.normal(size=n)


NOISES = {
    "normal": (hrprob.Normal(), lambda rng, n: rng.normal(size=n)),
    "student-t": (hrprob.StudentT(4.0), lambda rng, n: rng.standard_t(4.0, size=n) * math.sqrt(0.5)),
    "truncated": (
        hrprob.TruncatedNormal(2.5),
        lambda rng, n: (
            stats.truncnorm.rvs(-2.5, 2.5, size=n, random_state=rng) / stats.truncnorm.std(-2.5, 2.5)
        ),
    ),
    "mixture": (hrprob.Mixture(0.2, 2.0, 0.5), lambda rng, n: _mixture(rng, n, 0.2, 2.0, 0.5)),
}


def turning(key: Any, user: Any) -> Any:
    """Contexts that a user might write."""
    return 0.55 * jnp.cos(0.1 * user + jax.random.uniform(key, (5, 1)) + jnp.arange(3.0))


def rising(key: Any, user: Any) -> Any:
    """Levels that a user might write."""
    return -0.8 + jax.random.uniform(key) * jnp.minimum(user / 200.0, 1.0)


def worlds(seed: int) -> dict[str, hrprob.Problem]:
    """Every extension of a problem whose truth, and whatever else is not drawn as users come, is drawn here."""
    rng = np.random.default_rng(seed)
    theta, phi = rng.normal(size=(2, 3))
    common = {
        "theta": 0.8 * theta / np.linalg.norm(theta),
        "phi": 1.1 * phi / np.linalg.norm(phi),
        "contexts": hrprob.Ball(5),
        "satisfaction": hrprob.UniformLevels(-0.8, 1.0),
    }
    changes: dict[str, dict[str, Any]] = {
        "hidden": {"satisfaction": hrprob.HiddenLevels(hrprob.UniformLevels(-0.8, 1.0))},
        "redrawn": {"satisfaction": hrprob.RedrawnLevels(hrprob.NormalLevels(0.0, 0.5))},
        "mixture": {"noise": hrprob.Mixture(0.2, 2.0, 0.5)},
        "student-t": {"noise": hrprob.StudentT(4.0)},
        "truncated": {"noise": hrprob.TruncatedNormal(4.0)},
        "drifting": {"contexts": hrprob.Drifting(5, 2.0, 300.0)},
        "withholding": {"contexts": hrprob.Withholding(5, users=300, coordinates=1)},
        "sequence": {
            "contexts": hrprob.ContextSequence(rng.uniform(-0.55, 0.55, size=(60, 5, 3))),
            "satisfaction": hrprob.LevelSequence(rng.uniform(-0.8, 1.0, size=70)),
        },
        "function": {
            "contexts": hrprob.ContextFunction(turning, 5),
            "satisfaction": hrprob.LevelFunction(rising),
        },
        "paper": {},
    }
    return {name: hrprob.Problem(**common | change) for name, change in changes.items()}


SEEDS = (5, 6, 7)
WORLDS = worlds(SEEDS[0])
