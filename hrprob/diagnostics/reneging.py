r"""Is the predicted probability of reneging right? Predictions for the next user, compared with what happened.

A prediction uses the data of the users before, at the context that the policy then served and
the user's level: it is the probability that the first outcome falls below β. It is for the
very next user only. A later one might be served by a policy that has learned more since, and picks
better contexts than the prediction knew: that would look like a fault of the prediction.

=============  ========================================================================
``posterior``  the mean of Ψ((β − θᵀx)/√f(φᵀx)) over the posterior
``GLSE``       Ψ((β − θ̂ᵀx)/√f(φ̂ᵀx)), the variance clipped from below at a floor
``σ_max``      Ψ((β − θ̂ᵀx)/σ_max): one variance for all, the largest
=============  ========================================================================

Whether a user left after the first round is one event per user. Later rounds are no fair
test of a fixed prediction: users who are still there are likelier to have a small probability of
leaving. The score of a whole stay of m rounds is ln E[p(1 − p)^{m−1}].

Predicted and observed shares are compared in bins, see :mod:`.reliability`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray
from scipy import special

from hrprob import plot
from hrprob._core.formatting import listed, p_is, percent, signed
from hrprob._core.types import Numbers
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.formatting import finite
from hrprob.diagnostics.glse_by_data_set import first_users, glse_by_data_set, why_no_glse
from hrprob.diagnostics.inputs import AT_TRUTH, OVER_PRIOR, SharedInputs
from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.diagnostics.power import ERROR_RATE
from hrprob.diagnostics.reliability import is_certain, reliability
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.power import detectable_difference
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, check_users

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PREDICTORS", "Reneging", "RenegingResult", "predict", "scores"]

PREDICTORS = ("posterior", "GLSE", "σ_max")
_FLOOR = 0.01
# A probability of 0 or 1 that turns out wrong would have an infinite score.
_LEAST_PROBABILITY = 1e-12
# A predicted share is called right if a difference of this size would be detected.
_DETECTABLE = 0.05
# A difference of a share at one truth that the prior may cause where all is right.
_TOLERATED = 0.03
_SCORES = ("brier", "log", "stay")


def predict(
    problem: Problem, target: Target, data: DataSets, posteriors: Mapping[int, Posteriors]
) -> xarray.Dataset:
    """Return the probability that each posterior predicts for the next user, and what happened.

    Parameters
    ----------
    problem : Problem
        Its satisfaction and link are used; its truth is not.
    target : Target
        Its setting and noise turn draws into probabilities.
    data : DataSets
        Data sets with one user more than the largest number in ``posteriors``, which are those of the
        first data sets.
    posteriors : mapping of int to Posteriors
        By the number of users that the posterior has seen.

    Returns
    -------
    xarray.Dataset
        ``probability`` and ``stay_score`` over predictor (under a link that is not affine the posterior alone),
        data_set and user; ``left``, whether the user
        left after the first round, over data_set and user.
    """
    check_users(posteriors, data)
    seen = sorted(posteriors)
    parts = [_predict_next(problem, target, data, posteriors[users], users) for users in seen]
    probability, score = (np.stack(column, axis=2) for column in zip(*parts, strict=True))
    sets, axes = probability.shape[1], ("predictor", "data_set", "user")
    return xarray.Dataset(
        {
            "probability": (axes, probability),
            "stay_score": (axes, score),
            "left": (axes[1:], data.played[:sets, seen] == 1.0),
        },
        coords={"predictor": list(PREDICTORS[: len(probability)]), "user": np.array(seen) + 1},
    )


def _predict_next(
    problem: Problem, target: Target, data: DataSets, draws: Posteriors, seen: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and scores (predictors, sets) of the user who comes after ``seen`` others."""
    sets = draws.theta.shape[0]
    x, beta, played = (np.asarray(leaf)[:sets, seen] for leaf in (data.stays.x, data.beta, data.played))
    u, w = (leaf[..., 0] for leaf in moments_of(target, draws, x[:, None]))
    noise = target.model.noise

    def probability(u: Numbers, w: Numbers, beta: Numbers) -> np.ndarray:
        return np.asarray(problem.satisfaction.reneging_probability(u, w, beta, noise))

    drawn = probability(u, w, beta[:, None])
    whole = special.logsumexp(_stay_score(drawn, played[:, None]), axis=1) - math.log(drawn.shape[1])
    if why_no_glse(problem.link):
        return drawn.mean(axis=1)[None], whole[None]
    theta, phi, *_ = glse_by_data_set(first_users(data, seen, sets), problem.link)
    mean = np.einsum("sd,sd->s", x, theta)
    largest = float(problem.link(problem.bounds.phi))
    plugged = np.maximum(np.asarray(problem.link(np.einsum("sd,sd->s", x, phi))), _FLOOR)
    plain = [probability(mean, variance, beta) for variance in (plugged, np.full_like(plugged, largest))]
    scores = [whole, *(_stay_score(p, played) for p in plain)]
    return np.stack([drawn.mean(axis=1), *plain]), np.stack(scores)


def _stay_score(probability: np.ndarray, played: np.ndarray) -> np.ndarray:
    """Return ln p(1 − p)^{m−1}."""
    p = np.clip(probability, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    return np.log(p) + (played - 1.0) * np.log1p(-p)


def scores(predicted: xarray.Dataset) -> xarray.Dataset:
    """Return Brier and log score and the mean score of whole stays, with errors over data sets.

    All are losses: smaller is better. Differences from the posterior are paired.
    """
    p = predicted.probability.clip(_LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    left = predicted.left.astype(float)
    losses = {
        "brier": (p - left) ** 2,
        "log": -xarray.where(left > 0, np.log(p), np.log1p(-p)),
        "stay": -predicted.stay_score,
    }
    table: dict[str, xarray.DataArray] = {}
    for name, loss in losses.items():
        by_set = loss.mean("user")
        excess = by_set - by_set.sel(predictor="posterior", drop=True)
        table |= {
            name: by_set.mean("data_set"),
            f"{name}_excess": excess.mean("data_set"),
            f"{name}_excess_se": excess.std("data_set", ddof=1) / math.sqrt(predicted.sizes["data_set"]),
        }
    return xarray.Dataset(table)


class RenegingResult(NamedTuple):
    """Predictions and how good they were, by truths: over the prior, and at the truth."""

    predicted: dict[str, xarray.Dataset]  # see predict
    reliability: dict[str, xarray.Dataset]
    scores: dict[str, xarray.Dataset]
    left_out: str = ""  # why the predictors by the GLSE are missing


@register("reneging")
class Reneging(Diagnostic[RenegingResult]):
    """Predicted probabilities that the next user leaves after one round, compared with what happened."""

    title = "Reneging"
    order = 5.0
    needs = ("over_prior", "at_truth")

    def compute(self, inputs: SharedInputs) -> RenegingResult:
        """Return predictions over the prior and at the truth, with reliability and scores."""
        study = inputs.study
        predicted = {
            truths: predict(study.problem, study.target, fitted.data, fitted.followed)
            for truths, fitted in ((OVER_PRIOR, inputs.over_prior), (AT_TRUTH, inputs.at_truth))
        }
        return RenegingResult(
            predicted,
            {truths: reliability(one) for truths, one in predicted.items()},
            {truths: scores(one) for truths, one in predicted.items()},
            why_no_glse(study.problem.link),
        )

    def verdicts(self, result: RenegingResult) -> list[Verdict]:
        """Return whether probabilities were right, by truths and predictor."""
        missing = f"Predictions by GLSE and σ_max: left out, {result.left_out}"
        return [
            *([Verdict(None, missing, counts=False)] if result.left_out else []),
            *self._by_truths(result),
        ]

    def _by_truths(self, result: RenegingResult) -> list[Verdict]:
        return [
            verdict
            for truths, table in result.reliability.items()
            for verdict in reneging_verdicts(truths, table, result.scores[truths])
        ]

    def error_families(self, result: RenegingResult) -> int:
        """Return one for each sort of truths."""
        return len(result.reliability)

    def figures(self, result: RenegingResult) -> list[ReportFigure]:
        """Return the reliability diagram, unless all users were certain to leave."""
        tables = result.reliability
        caption = (
            "Share of users who left after their first round, compared with the probability predicted before they came. "
            "Grey: where the points should lie if the probabilities are right, two standard errors over data sets."
        )
        certain = all(map(is_certain, tables.values()))
        return [ReportFigure("reneging", caption, lambda: None if certain else plot_reliability(tables))]

    def write_section(self, page: Page, result: RenegingResult) -> None:
        """Write bias and scores of every predictor."""
        _write_section(page, result)

    def to_plain(self, result: RenegingResult) -> Mapping[str, object]:
        """Return bias, scores and bins, by truths and predictor."""
        return {
            "reneging": {
                truths: {
                    str(name): _plain(*_of_predictor(result, truths, name)) for name in _predictors(result)
                }
                for truths in result.reliability
            }
        }

    def to_datasets(self, result: RenegingResult) -> Mapping[str, xarray.Dataset]:
        """Return tables and predictions, by truths."""
        groups: dict[str, xarray.Dataset] = {}
        for truths, table in result.reliability.items():
            path = f"reneging/{truths.replace(' ', '_')}"
            groups[path] = xarray.merge([table, result.scores[truths]])
            groups[f"{path}/users"] = result.predicted[truths]
        return groups


def _predictors(result: RenegingResult) -> list[str]:
    return [str(name) for name in next(iter(result.reliability.values())).predictor.values]


def _of_predictor(
    result: RenegingResult, truths: str, predictor: str
) -> tuple[xarray.Dataset, xarray.Dataset]:
    """Return reliability and scores of one predictor."""
    return (
        result.reliability[truths].sel(predictor=predictor),
        result.scores[truths].sel(predictor=predictor),
    )


def _plain(table: xarray.Dataset, score: xarray.Dataset) -> dict[str, object]:
    return {
        "bias": finite(table.bias),
        "bias_se": finite(table.bias_se),
        "p_value": finite(table.p_value),
        "brier": finite(score.brier),
        "log_score": finite(score["log"]),
        "stay_score": finite(score.stay),
        "excess": {
            kind: {"mean": finite(score[f"{kind}_excess"]), "se": finite(score[f"{kind}_excess_se"])}
            for kind in _SCORES
        },
        "bins": [
            {kind: finite(table[kind].isel(bin=number)) for kind in ("predicted", "observed", "se", "count")}
            for number in range(table.sizes["bin"])
        ],
    }


def reneging_verdicts(truths: str, table: xarray.Dataset, score: xarray.Dataset) -> list[Verdict]:
    """Return whether probabilities of reneging were right, by predictor."""
    if is_certain(table):
        words = (
            f"{truths}: all users leave after the first round, as was certain: there is nothing to predict"
        )
        return [Verdict(None, words, counts=False)]
    # Half of the error rate is for the share as a whole, two-sided.
    critical = detectable_difference(1.0, table.attrs["data_sets"] - 1, ERROR_RATE / 2)
    return [
        _verdict(truths, str(name), table.sel(predictor=name), score.sel(predictor=name), critical)
        for name in table.predictor.values
    ]


def _verdict(
    truths: str, name: str, table: xarray.Dataset, score: xarray.Dataset, critical: float
) -> Verdict:
    good = bool(table.p_value >= ERROR_RATE)
    predicted = float(np.average(table.predicted, weights=table["count"]))
    detectable = float(critical * table.bias_se)
    conclusion = (
        f"not significantly different, a share off by {100 * detectable:.1f} points would be detected"
        if good
        else "not reliable"
    )
    words = (
        f"{name}, {truths}: predicted that {100 * predicted:.1f} % leave at once, "
        f"{100 * (predicted + float(table.bias)):.1f} % did (difference {signed(100 * float(table.bias), 1)} ± "
        f"{100 * float(table.bias_se):.1f} points; {p_is(table.p_value)}, level {percent(ERROR_RATE)}): {conclusion}; Brier score "
        f"{float(score.brier):.4f}, log score {float(score['log']):.4f}"
    )
    # Only the posterior is meant to be right. At one truth the prior may shift probabilities a little even if all is right.
    if name != "posterior":
        return Verdict(None, words, counts=False)
    if truths == OVER_PRIOR:
        return Verdict(None if good and detectable > _DETECTABLE else good, words)
    far = abs(float(table.bias)) - critical * float(table.bias_se) > _TOLERATED
    return Verdict(False if far else True if good and detectable <= _DETECTABLE else None, words)


def _write_section(page: Page, result: RenegingResult) -> None:
    when = ", ".join(
        f"{truths} after {listed(one.user.values - 1)} users" for truths, one in result.predicted.items()
    )
    page.text(
        f"Predictions are for the next user, from the data of the users before: {when}. p is for the share as a whole "
        "and all bins being right (t and Wald tests over data sets, twice the smaller). Scores are losses; in brackets the "
        "excess over the posterior's, paired by data set. Stay: minus the log probability of the whole stay."
    )
    rows, good = [], []
    for truths in result.reliability:
        for name in _predictors(result):
            table, score = _of_predictor(result, truths, name)
            losses = [
                f"{float(score[kind]):.4g} ({float(score[f'{kind}_excess']):+.2g} ± {float(score[f'{kind}_excess_se']):.2g})"
                for kind in _SCORES
            ]
            bias = f"{signed(100 * float(table.bias), 2)} ± {100 * float(table.bias_se):.2f}"
            rows.append([truths, name, bias, *losses, float(table.p_value)])
            good.append(None if float(table.p_value) >= ERROR_RATE else False)
    header = ["truths", "predictor", "observed − predicted (points)", "Brier", "log score", "stay", "p"]
    page.table(header, rows, "Did users leave after their first round?", good)


def plot_reliability(tables: Mapping[str, xarray.Dataset]) -> Figure:
    """Return :func:`hrprob.plot.reliability` of every predictor, by truths."""
    predictors = [str(name) for name in next(iter(tables.values())).predictor.values]
    with plot.style():
        figure = plot.new_figure(0.4 + 1.9 * len(tables), plot.PAGE_WIDTH)
        panels = figure.subplots(len(tables), len(predictors), sharex=True, sharey=True, squeeze=False)
        for row, (truths, table) in zip(panels, tables.items(), strict=True):
            for axes, name in zip(row, predictors, strict=True):
                plot.reliability(table, axes, predictor=name, truths=truths)
            row[0].set_ylabel("share who left at once")
        for axes in panels[-1]:
            axes.set_xlabel("predicted probability")
    return figure
