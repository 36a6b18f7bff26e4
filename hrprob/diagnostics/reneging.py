r"""Is the probability of reneging what was said? Predictions before a user comes, against what happened.

A prediction is made with what the users before had shown, at the context that the policy
then served and the user's level: it is the probability that the first outcome falls below β.
It is for the very next user. One later might be served by a policy that has learned more
since, and picks better than was said: that would look like a fault of the prediction.

=============  ========================================================================
``posterior``  the mean of Ψ((β − θᵀx)/√f(φᵀx)) over the posterior
``GLSE``       Ψ((β − θ̂ᵀx)/√f(φ̂ᵀx)), the variance held above a floor
``σ_max``      Ψ((β − θ̂ᵀx)/σ_max): one variance for all, the largest
=============  ========================================================================

Whether users left after their first round is one event a user. Later rounds are no fair
test of a fixed prediction: who is still there is likelier to have a small probability. The
score of a whole stay of m rounds is ln E[p(1 − p)^{m−1}].

Users of one data set share its errors, so bands and tests are over data sets, with a
variance that is at least that of independent users who leave as was said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray
from scipy import special, stats

from hrprob.diagnostics.estimates import first_users, glse_of_each
from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.estimation.posterior.target import Target
from hrprob.policies.bayes import refit_times
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, check_users

__all__ = ["PREDICTORS", "checkpoints", "is_certain", "predict", "reliability", "scores"]

PREDICTORS = ("posterior", "GLSE", "σ_max")
_FLOOR = 0.01
_BINS = 10
# A prediction is made whenever users have grown by this factor.
_GROWN = 1.1
# A probability of 0 or 1 that turns out wrong would have an infinite score.
_LEAST_CHANCE = 1e-12


def checkpoints(users: int, first: int = 10) -> list[int]:
    """Return after how many users predictions are made for the next, up to ``users``.

    Examples
    --------
    >>> checkpoints(30)
    [10, 11, 13, 15, 17, 19, 21, 24, 27, 30]
    """
    grown = np.flatnonzero(refit_times(users, _GROWN))
    return sorted({first, *(int(number) for number in grown if number >= first)})


def predict(
    problem: Problem, target: Target, data: DataSets, found: Mapping[int, Posteriors]
) -> xarray.Dataset:
    """Return the probability that was predicted for the next user by each posterior, and what happened.

    Parameters
    ----------
    problem : Problem
        Whose satisfaction and link are used; its truth is not looked at.
    target : Target
        Whose setting and noise make probabilities of draws.
    data : DataSets
        Data sets with one user more than the largest number in ``found``; the posteriors are of the
        first of them.
    found : mapping of int to Posteriors
        By the number of users that the posterior has seen.

    Returns
    -------
    xarray.Dataset
        ``probability`` and ``stay_score`` over predictor, data_set and user; ``left``, whether the user
        left after the first round, over data_set and user.
    """
    check_users(found, data)
    seen = sorted(found)
    parts = [_predict_next(problem, target, data, found[users], users) for users in seen]
    probability, score = (np.stack([part[place] for part in parts], axis=2) for place in (0, 1))
    sets, axes = probability.shape[1], ("predictor", "data_set", "user")
    return xarray.Dataset(
        {
            "probability": (axes, probability),
            "stay_score": (axes, score),
            "left": (axes[1:], data.played[:sets, seen] == 1.0),
        },
        coords={"predictor": list(PREDICTORS), "user": np.array(seen) + 1},
    )


def _predict_next(
    problem: Problem, target: Target, data: DataSets, found: Posteriors, seen: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and scores (predictors, sets) of the user who comes after ``seen`` others."""
    sets = found.theta.shape[0]
    x, beta, played = (np.asarray(leaf)[:sets, seen] for leaf in (data.stays.x, data.beta, data.played))
    theta, phi, *_ = glse_of_each(first_users(data, seen, sets), problem.link)
    mean = np.einsum("sd,sd->s", x, theta)
    largest = float(problem.link(problem.bounds.phi))
    plugged = np.maximum(np.asarray(problem.link(np.einsum("sd,sd->s", x, phi))), _FLOOR)
    u, w = (leaf[..., 0] for leaf in moments_of(target, found, x[:, None]))
    noise = target.model.noise

    def probability(u: Any, w: Any, beta: Any) -> np.ndarray:
        return np.asarray(problem.satisfaction.reneging_probability(u, w, beta, noise))

    drawn = probability(u, w, beta[:, None])
    plain = [probability(mean, variance, beta) for variance in (plugged, np.full_like(plugged, largest))]
    whole = special.logsumexp(_stay_score(drawn, played[:, None]), axis=1) - math.log(drawn.shape[1])
    scores = [whole, *(_stay_score(p, played) for p in plain)]
    return np.stack([drawn.mean(axis=1), *plain]), np.stack(scores)


def _stay_score(probability: np.ndarray, played: np.ndarray) -> np.ndarray:
    """Return ln p(1 − p)^{m−1}."""
    p = np.clip(probability, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    return np.log(p) + (played - 1.0) * np.log1p(-p)


def scores(predicted: xarray.Dataset) -> xarray.Dataset:
    """Return Brier and log score and the mean score of whole stays, with errors over data sets.

    All are losses: smaller is better. Differences from the posterior are paired.
    """
    p = predicted.probability.clip(_LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    left = predicted.left.astype(float)
    losses = {
        "brier": (p - left) ** 2,
        "log": -xarray.where(left > 0, np.log(p), np.log1p(-p)),
        "stay": -predicted.stay_score,
    }
    found: dict[str, xarray.DataArray] = {}
    for name, loss in losses.items():
        by_set = loss.mean("user")
        apart = by_set - by_set.sel(predictor="posterior", drop=True)
        found |= {
            name: by_set.mean("data_set"),
            f"{name}_excess": apart.mean("data_set"),
            f"{name}_excess_se": apart.std("data_set", ddof=1) / math.sqrt(predicted.sizes["data_set"]),
        }
    return xarray.Dataset(found)


def reliability(predicted: xarray.Dataset, bins: int = _BINS) -> xarray.Dataset:
    """Return predicted against observed shares, in bins of equal size of what was predicted.

    Returns
    -------
    xarray.Dataset
        Over predictor and bin: mean ``predicted`` and ``observed`` share, the ``se`` of their
        difference over data sets, ``count``; over predictor: ``bias``, observed less predicted, its
        ``bias_se``, and ``p_value``, of the whole and all bins being right (t and Wald tests over data
        sets, twice the smaller of the two). Attribute: ``data_sets``.
    """
    rows = [_reliability_of(predicted.sel(predictor=name), bins) for name in predicted.predictor.values]
    axes = ("predictor", "bin")
    names = ("predicted", "observed", "se", "count")
    table = {name: (axes, np.stack([row[name] for row in rows])) for name in names}
    totals = {
        name: ("predictor", np.array([row[name] for row in rows])) for name in ("bias", "bias_se", "p_value")
    }
    return xarray.Dataset(
        table | totals,
        coords={"predictor": predicted.predictor.values},
        attrs={"data_sets": predicted.sizes["data_set"]},
    )


def is_certain(table: xarray.Dataset) -> bool:
    """Say whether everybody was sure to leave at once, and did: there is nothing to predict then."""
    left = (table.predicted == 1.0) & (table.observed == 1.0)
    return bool((left | (table["count"] == 0)).all())


def _reliability_of(predicted: xarray.Dataset, bins: int) -> dict[str, Any]:
    probability, left = predicted.probability.values, predicted.left.values.astype(float)
    edges = np.quantile(probability, np.arange(1, bins) / bins)
    member = np.searchsorted(edges, probability)[..., None] == np.arange(bins)  # (sets, users, bins)
    count = member.sum(axis=(0, 1))
    apart = ((left - probability)[..., None] * member).sum(axis=1)  # (sets, bins) observed less predicted
    sets = len(probability)
    spread = sets * np.atleast_2d(np.cov(apart, rowvar=False))
    # Where hardly anybody leaves, what was seen may scatter less than what can be: probabilities that are right
    # scatter by p(1 − p) at least.
    least = ((probability * (1.0 - probability))[..., None] * member).sum(axis=(0, 1))
    spread += np.diag(np.maximum(least - np.diagonal(spread), 0.0))
    total = apart.sum(axis=0)
    used = count > 0
    wald = total[used] @ np.linalg.pinv(spread[np.ix_(used, used)]) @ total[used]
    freedom = int(used.sum())
    # Hotelling's correction: the covariance is itself estimated from so many data sets.
    scaled = wald * (sets - freedom) / (freedom * (sets - 1))
    bias_se = max(apart.sum(axis=1).std(ddof=1) * math.sqrt(sets), math.sqrt(least.sum()))
    by_bins = stats.f.sf(scaled, freedom, max(sets - freedom, 1))
    # Without any scatter, as where everybody leaves at once, a difference is a mistake and none is right.
    by_whole = (
        2.0 * stats.t.sf(abs(total.sum()) / bias_se, sets - 1) if bias_se > 0 else float(total.sum() == 0)
    )
    safe = np.maximum(count, 1)
    return {
        "predicted": (probability[..., None] * member).sum(axis=(0, 1)) / safe,
        "observed": (left[..., None] * member).sum(axis=(0, 1)) / safe,
        "se": np.sqrt(np.diagonal(spread)) / safe,
        "count": count,
        "bias": total.sum() / probability.size,
        "bias_se": bias_se / probability.size,
        "p_value": float(min(1.0, 2.0 * min(by_bins, by_whole))),
    }
