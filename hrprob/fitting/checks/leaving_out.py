"""Every round predicted from all other rounds, and every user from all other users, by importance sampling.

The weights of the draws are Pareto smoothed by ArviZ [1]_; the PIT values are weighted averages of exact distribution
functions, not shares of simulated outcomes. A round of a long stay is predicted well from the other rounds of the same
user even if users differ; leaving out whole users shows that.

References
----------
.. [1] A. Vehtari, A. Gelman, J. Gabry, "Practical Bayesian model evaluation using leave-one-out cross-validation and
   WAIC", Statistics and Computing 27, 2017.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from scipy.special import logsumexp

from hrprob.fitting import predictive
from hrprob.fitting.checks.predicting import CHUNK, POINTS, predict_chunk

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["LeftOut", "leave_out", "pareto_weights"]

MOST_PARETO_K = 0.7


class LeftOut(NamedTuple):
    """Leave-one-out predictions; those by user are None where rounds have no users."""

    pit: np.ndarray  # (rounds,)
    elpd: np.ndarray  # (rounds,) ln p(round | all others)
    pareto_k: np.ndarray  # (rounds,)
    user_pit: np.ndarray | None  # (users,) of each user's first outcome
    user_elpd: np.ndarray | None  # (users,)
    user_pareto_k: np.ndarray | None


def leave_out(posterior: Posterior, users: np.ndarray | None, by_chunk: bool) -> LeftOut:
    """Return leave-one-out predictions under a posterior; ``by_chunk`` where its model has no further unknowns."""
    flat = posterior.flat()
    picks = np.linspace(0, len(flat["theta"]) - 1, min(POINTS, len(flat["theta"]))).astype(int)
    draws = {name: value[picks] for name, value in flat.items()}
    if users is not None and hasattr(posterior.target.model, "given_others"):
        return _leave_out_of_users(posterior, users, draws)
    count = 0 if users is None else int(users.max()) + 1
    by_user, first = np.zeros((len(picks), count)), np.zeros((len(picks), count))
    seen = np.zeros(count, bool)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for start in range(0, len(posterior.table), CHUNK):
        stop = min(start + CHUNK, len(posterior.table))
        density, below = _predicted(posterior, draws, start, stop, by_chunk)
        log_weight, k = pareto_weights(-density)
        parts.append((np.sum(np.exp(log_weight) * below, axis=0), logsumexp(log_weight + density, axis=0), k))
        if users is not None:
            np.add.at(by_user.T, users[start:stop], density.T)
            for place, user in enumerate(users[start:stop]):
                if not seen[user]:
                    seen[user], first[:, user] = True, below[:, place]
    pit, elpd, k = (np.concatenate(column) for column in zip(*parts, strict=True))
    if users is None:
        return LeftOut(np.clip(pit, 0, 1), elpd, k, None, None, None)
    log_weight, user_k = pareto_weights(-by_user)
    user_pit = np.clip(np.sum(np.exp(log_weight) * first, axis=0), 0, 1)
    return LeftOut(np.clip(pit, 0, 1), elpd, k, user_pit, logsumexp(log_weight + by_user, axis=0), user_k)


def pareto_weights(log_ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return normalised log weights (draws, n) and Pareto k̂ (n,) of log importance ratios (draws, n).

    Where no Pareto distribution fits the largest ratios, because draws repeat, weights are not smoothed and k̂ is infinite.
    """
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    # ArviZ raises if the largest ratios are all the same: such columns are put aside.
    top = np.sort(log_ratio, axis=0)[-_tail_length(len(log_ratio)) :]
    same = top[0] == top[-1]
    replaced = np.where(same, np.linspace(-1.0, 0.0, len(log_ratio))[:, None], log_ratio)
    # ArviZ takes log likelihoods, of which the log ratios are the negatives.
    with np.errstate(divide="ignore", invalid="ignore"):
        smoothed, shape = array_stats.psislw(np.ascontiguousarray(-replaced.T), axis=-1)
    log_weight, k = np.asarray(smoothed).T, np.atleast_1d(np.asarray(shape))
    fitted = ~same & np.isfinite(k) & ~np.isnan(log_weight).any(axis=0)
    log_weight = np.where(fitted, log_weight, log_ratio)
    return log_weight - logsumexp(log_weight, axis=0), np.where(fitted, k, np.inf)


def _tail_length(draws: int) -> int:
    """Return how many of the largest ratios a Pareto distribution is fitted to, as ArviZ has it."""
    return math.ceil(min(draws / 5, 3 * math.sqrt(draws)))


def _predicted(
    posterior: Posterior, draws: dict[str, jax.Array], start: int, stop: int, by_chunk: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return log density and distribution function of some outcomes under every draw."""
    table, target = posterior.table, posterior.target
    if by_chunk:
        chunk = predict_chunk(target, draws["theta"], draws["phi"], table, start, stop)
        return chunk.log_density, chunk.below
    x, r = table.x[start:stop], table.r[start:stop]
    columns = {name: column[start:stop] for name, column in posterior.columns.items()}
    return (
        predictive.log_likelihood(target, x, r, draws, columns),
        predictive.reneging(target, x, r, draws, columns),
    )


def _leave_out_of_users(posterior: Posterior, users: np.ndarray, draws: dict[str, jax.Array]) -> LeftOut:
    """Return leave-one-out predictions under a model of users who differ, whose rounds depend on each other."""
    table, target, columns = posterior.table, posterior.target, posterior.columns
    density, below = predictive.given_others(target, table.x, table.r, draws, columns)
    log_weight, k = pareto_weights(-density)
    pit, elpd = np.sum(np.exp(log_weight) * below, axis=0), logsumexp(log_weight + density, axis=0)
    by_user = np.zeros((len(density), int(users.max()) + 1))
    np.add.at(by_user.T, users, predictive.log_likelihood(target, table.x, table.r, draws, columns).T)
    first = np.unique(users, return_index=True)[1]
    as_new = predictive.reneging(target, table.x[first], table.r[first], draws)
    log_weight, user_k = pareto_weights(-by_user)
    user_pit = np.clip(np.sum(np.exp(log_weight) * as_new, axis=0), 0, 1)
    return LeftOut(np.clip(pit, 0, 1), elpd, k, user_pit, logsumexp(log_weight + by_user, axis=0), user_k)
