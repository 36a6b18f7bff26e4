"""Averages over levels by brute force, and the noises with which they are compared."""

from collections.abc import Callable
from typing import Any

import numpy as np

import hrprob
from hrprob import lifetime
from hrprob.noise import NORMAL, Noise

NOISES = [
    NORMAL,
    hrprob.StudentT(df=4.0),
    hrprob.Mixture(weight=0.2, gap=2.0, ratio=0.5),
    hrprob.TruncatedNormal(width=6.0),
]

SHARP = [
    *NOISES,
    hrprob.Mixture(weight=0.3, gap=1.6, ratio=0.1),
    hrprob.TruncatedNormal(width=1.0),
    hrprob.TruncatedNormal(width=2.0, edge=0.05),
    hrprob.TruncatedNormal(width=0.5, edge=1.0),
]


# Levels are taken in batches of this size, so that one program per noise serves every number of them.
_BATCH = 2**14


def h(noise: Noise, u: float, w: float, beta: np.ndarray) -> np.ndarray:
    return _in_batches(lambda part: lifetime.h(u, w, part, noise), beta)


def probability(noise: Noise, u: float, w: float, beta: np.ndarray) -> np.ndarray:
    return _in_batches(lambda part: lifetime.reneging_probability(u, w, part, noise), beta)


def _in_batches(function: Callable[[np.ndarray], Any], beta: np.ndarray) -> np.ndarray:
    batches = np.pad(beta, (0, -beta.size % _BATCH), mode="edge").reshape(-1, _BATCH)
    return np.concatenate([np.asarray(function(batch)) for batch in batches])[: beta.size]


def panels(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre with 40 nodes on each of many panels: brute force."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(low, high, count + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()
