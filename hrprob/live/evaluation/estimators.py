r"""Estimators of a policy's value from logged stays; each returns one number per stay whose mean is the estimate.

With g_k what round k earns (1 for the lifetime, r_k for the reward), ρ the weights and K the probabilities of
:mod:`.weights`, H the horizon:

====================  ======================================================================================
method                estimate
====================  ======================================================================================
``replay``            mean over stays that are accepted with probability ρ/max ρ: what the target itself would have seen
``ips``               mean of Σ_k ρ_{1:k} g_k / K(k), for the lifetime with ρ_{1:k−1}: round k's one does not depend on its action
``self-normalised``   Σ w·(Σ_k g_k) / Σ w over complete stays, w = ρ/K of the whole stay
``doubly-robust``     mean of V(x) + Σ_k ρ_{1:k}/K(k) · (g_k + s_k V_{k+1} − Q_k(a_k)), s_k = 1 if the user stayed
====================  ======================================================================================

V and Q follow from the heteroscedastic model: reneging probabilities p̂_a = Φ((β − θ̂ᵀx_a)/√f(φ̂ᵀx_a)) by the GLSE, fitted
to the other half of the stays, and (1 − (1 − p̂)^m)/p̂ expected rounds out of m. The model may be wrong: the
correction removes its bias as long as the propensities are right [1]_.

References
----------
.. [1] N. Jiang, L. Li, "Doubly robust off-policy value evaluation for reinforcement learning", ICML 2016.
.. [2] L. Li, W. Chu, J. Langford, X. Wang, "Unbiased offline evaluation of contextual-bandit-based news article
   recommendation algorithms", WSDM 2011.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hrprob._core.precision import double_precision
from hrprob.estimation import glse
from hrprob.lifetime import reneging_probability
from hrprob.live.evaluation.logged import LoggedStays
from hrprob.live.evaluation.weights import Target, Weights
from hrprob.problem.links import Affine

__all__ = ["Scores", "doubly_robust", "ips", "replay", "self_normalised"]

_LEAST_PROBABILITY, _FLOOR, _RIDGE = 1e-3, 0.01, 1.0


class Scores(NamedTuple):
    """An estimate and the numbers whose spread gives its standard error."""

    value: float
    influence: np.ndarray  # (users,) of mean 0: the standard error is its sd by the root of their number


def _mean_of(numbers: np.ndarray) -> Scores:
    value = float(np.mean(numbers))
    return Scores(value, numbers - value)


def _sum_by_stay(log: LoggedStays, numbers: np.ndarray) -> np.ndarray:
    return np.bincount(log.owner, numbers, minlength=log.users)


def _earned(log: LoggedStays, reward: bool) -> np.ndarray:
    return log.outcome if reward else np.ones(len(log.outcome))


def ips(log: LoggedStays, weights: Weights, *, reward: bool) -> Scores:
    """Return the estimate by inverse propensities."""
    ratio = weights.upto if reward else weights.before
    terms = ratio * _earned(log, reward) / weights.uncensored
    return _mean_of(_sum_by_stay(log, np.where(weights.known, terms, 0.0)))


def self_normalised(log: LoggedStays, weights: Weights, *, reward: bool) -> Scores:
    """Return the estimate by inverse propensities that are scaled to mean 1."""
    totals = _sum_by_stay(log, np.where(weights.known, _earned(log, reward), 0.0))
    scale = float(np.mean(weights.stay))
    if scale == 0.0:
        return Scores(np.nan, np.full(log.users, np.nan))
    value = float(np.mean(weights.stay * totals)) / scale
    return Scores(value, weights.stay * (totals - value) / scale)


def replay(log: LoggedStays, weights: Weights, *, reward: bool, seed: int) -> Scores:
    """Return the mean over stays that are accepted as if the target had been served; needs stays without censoring."""
    totals = _sum_by_stay(log, np.where(weights.known, _earned(log, reward), 0.0))
    lottery = np.random.default_rng([seed, 0x7265706C]).random(log.users)
    accepted = lottery * max(float(weights.stay.max()), 1e-300) < weights.stay
    share = float(np.mean(accepted))
    if share == 0.0:
        return Scores(np.nan, np.full(log.users, np.nan))
    value = float(np.mean(totals[accepted]))
    return Scores(value, np.where(accepted, totals - value, 0.0) / share)


def doubly_robust(
    log: LoggedStays, target: Target, weights: Weights, horizon: float, link: Affine, *, reward: bool
) -> Scores:
    """Return the estimate by the model, corrected by inverse propensities."""
    mean, leaving = _model(log, link)
    offered, pi = log.offered, target.probabilities
    mean, leaving = (np.where(offered, part, fill) for part, fill in ((mean, 0.0), (leaving, 1.0)))
    earning = mean if reward else np.ones_like(mean)
    if not target.keeps:
        # Every round is a new draw: the average action.
        of_all = np.sum(pi * earning, axis=1, keepdims=True), np.sum(pi * leaving, axis=1, keepdims=True)
        ahead_earning, ahead_leaving = (np.broadcast_to(part, mean.shape) for part in of_all)
    else:
        ahead_earning, ahead_leaving = earning, leaving
    start = np.sum(pi * ahead_earning * _rounds(ahead_leaving, horizon), axis=1)
    place = (log.owner, log.action)
    ahead = ahead_earning[place] * _rounds(ahead_leaving[place], horizon - log.number)
    last = np.zeros(len(log.action), bool)
    last[log.first + log.lengths - 1] = log.left
    stays = np.where(last, 0.0, 1.0)
    surprise = _earned(log, reward) + stays * ahead - earning[place] - (1.0 - leaving[place]) * ahead
    terms = np.where(weights.known, weights.upto / weights.uncensored * surprise, 0.0)
    return _mean_of(start + _sum_by_stay(log, terms))


def _rounds(leaving: np.ndarray, most: float | np.ndarray) -> np.ndarray:
    """Return the expected number of rounds, of at most ``most``."""
    return (1.0 - (1.0 - leaving) ** np.maximum(most, 0.0)) / leaving


def _model(log: LoggedStays, link: Affine) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and reneging probability of every action (users, actions), by a fit to the other half of the stays."""
    contexts = np.where(np.isfinite(log.contexts), log.contexts, 0.0)
    half = np.arange(log.users) % 2
    mean, leaving = np.zeros(contexts.shape[:2]), np.zeros(contexts.shape[:2])
    for own in (0, 1):
        theta, phi = _fit(log, contexts, half[log.owner] != own, link)
        u, w = contexts @ theta, np.maximum(link(contexts @ phi), _FLOOR)
        p = np.asarray(reneging_probability(u, w, log.beta[:, None]))
        mean[half == own], leaving[half == own] = u[half == own], p[half == own]
    return mean, np.clip(leaving, _LEAST_PROBABILITY, 1.0)


def _fit(
    log: LoggedStays, contexts: np.ndarray, rows: np.ndarray, link: Affine
) -> tuple[np.ndarray, np.ndarray]:
    x, r = contexts[log.owner, log.action][rows], log.outcome[rows]
    # Rows of zeros add nothing, and few lengths are compiled.
    size = 1 << max(len(r) - 1, 1).bit_length()
    padded = np.pad(x, ((0, size - len(r)), (0, 0))), np.pad(r, (0, size - len(r)))
    with double_precision():
        estimates = glse.solve(glse.add_samples(glse.empty(x.shape[1]), *padded), _RIDGE, link)
    return np.asarray(estimates.theta), np.asarray(estimates.phi)
