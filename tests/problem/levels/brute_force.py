"""Averages over levels by brute force, and the noises with which they are compared."""

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


def h(noise: Noise, u: float, w: float, beta: np.ndarray) -> np.ndarray:
    return np.asarray(lifetime.h(u, w, beta, noise))


def panels(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre with 40 nodes on each of many panels: brute force."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(low, high, count + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()
