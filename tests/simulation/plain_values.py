"""What an action is worth in the plain loop: distribution functions are SciPy's, means over levels sums over many panels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

if TYPE_CHECKING:
    from tests.simulation.plain_draws import User

__all__ = ["Belief", "believed", "value_of", "values_and_costs", "variance_at"]


def variance_at(problem: Any, phi: np.ndarray, x: np.ndarray) -> Any:
    return problem.link.slope * (x @ phi) + problem.link.offset


def _log_cdf(noise: Any, z: np.ndarray) -> np.ndarray:
    if noise.kind == "normal":
        return log_ndtr(z)
    if noise.kind == "student-t":
        return stats.t.logcdf(z / math.sqrt((noise.df - 2) / noise.df), noise.df)
    if noise.kind == "mixture":
        p, gap, ratio = noise.weight, noise.gap, noise.ratio
        s2 = math.sqrt((1 - p * (1 - p) * gap**2) / (p * ratio**2 + 1 - p))
        lower = math.log(p) + log_ndtr((z + (1 - p) * gap) / (ratio * s2))
        return np.logaddexp(lower, math.log(1 - p) + log_ndtr((z - p * gap) / s2))
    assert noise.kind == "truncated-normal"
    assert noise.edge == 0
    # Φ(e) − Φ(−b) over Φ(b) − Φ(−b), and the variance 1 − 2bψ(b)/(Φ(b) − Φ(−b)).
    b = noise.width
    inside = 1 - 2 * math.exp(log_ndtr(-b))
    e = z * math.sqrt(1 - 2 * b * stats.norm.pdf(b) / inside)
    with np.errstate(divide="ignore"):
        below = log_ndtr(e) + np.log1p(-np.exp(np.minimum(log_ndtr(-b) - log_ndtr(e), 0.0)))
    return np.where(e < b, below - math.log(inside), 0.0)


def _panels(low: float, high: float, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(low, high, count + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def _levels(of: Any) -> tuple[np.ndarray, np.ndarray]:
    """Levels and the logarithms of their weights."""
    if of.kind == "uniform":
        places, weights = _panels(0.0, 1.0)
        return of.low + (of.high - of.low) * places, np.log(weights)
    if of.kind == "normal":
        places, weights = _panels(-30.0, 12.0, 100)
        return of.mean + of.sd * places, np.log(weights) + stats.norm.logpdf(places)
    assert of.kind == "empirical"
    return of.levels, np.full(len(of.levels), -math.log(len(of.levels)))


def _rounds(satisfaction: Any, noise: Any, u: np.ndarray, w: Any, beta: float) -> np.ndarray:
    """The expected lifetime under each action."""
    scale = np.sqrt(w)
    # An estimate may promise more rounds than a float can hold.
    with np.errstate(over="ignore", divide="ignore"):
        if satisfaction.kind not in ("hidden", "redrawn"):
            return np.exp(-_log_cdf(noise, (beta - u) / scale))
        levels, log_weights = _levels(satisfaction.of)
        log_probability = _log_cdf(
            noise, (levels - u[..., None]) / np.broadcast_to(scale, u.shape)[..., None]
        )
        if satisfaction.kind == "redrawn":
            return 1 / np.sum(np.exp(log_weights + log_probability), axis=-1)
        mean = np.sum(np.exp(log_weights - log_probability), axis=-1)
        if satisfaction.of.kind == "normal" and noise.kind == "normal":
            return np.where(satisfaction.of.sd**2 < w, mean, np.inf)
        return mean


def _earning(objective: Any, noise: Any, u: np.ndarray, w: Any) -> Any:
    if objective.kind == "lifetime":
        return np.ones_like(u)
    if objective.kind == "reward":
        return u
    if objective.kind == "mean-variance":
        return u - objective.aversion * w
    assert objective.kind == "threshold"
    return -np.expm1(_log_cdf(noise, (objective.level - u) / np.sqrt(w)))


class Belief(NamedTuple):
    """What a policy takes the problem to be."""

    noise: Any
    objective: Any
    satisfaction: Any


def believed(policy: Any, problem: Any) -> Belief:
    given = ((getattr(policy, part), getattr(problem, part)) for part in Belief._fields)
    return Belief(*(own if told is None else told for told, own in given))


def value_of(of: Any, u: np.ndarray, w: Any, beta: float) -> np.ndarray:
    """What each action is worth if ``of``, the problem or a belief, is right."""
    earning = _earning(of.objective, of.noise, u, w)
    with np.errstate(invalid="ignore"):
        whole = earning * _rounds(of.satisfaction, of.noise, u, w, beta)
    return np.where(earning == 0, 0.0, whole)


def values_and_costs(problem: Any, user: User) -> tuple[np.ndarray, np.ndarray]:
    """The true value of each action, and what one round of each costs: v*·p − g."""
    u, w = user.contexts @ problem.theta, variance_at(problem, problem.phi, user.contexts)
    values = value_of(problem, u, w, user.beta)
    if problem.satisfaction.kind == "redrawn":
        probability = 1 / _rounds(problem.satisfaction, problem.noise, u, w, user.beta)
    else:
        probability = np.exp(_log_cdf(problem.noise, (user.beta - u) / np.sqrt(w)))
    return values, values.max() * probability - _earning(problem.objective, problem.noise, u, w)
