r"""Whether the posterior contains the given truth.

Truths drawn from the prior under test cannot show that the prior is wrong. So the posterior's own ellipsoid is
judged at the problem's truth too: the set of all (θ, φ) whose Mahalanobis distance from the posterior mean, in the
posterior covariance, is at most that of 90 % of the draws. At a single truth its coverage need not be 90 % even if
everything is right, as the prior favours some truths over others; it fails where it is clearly below 90 % by more than a
stated margin. So do the errors themselves: the root of the mean over data sets of the squared distance of the truth, divided by
2d, is 1 where errors are as large as the posterior says. It detects smaller faults than the coverage, which only counts. A prior
whose support does not contain the truth fails outright.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob._core.formatting import format_number, percent
from hrprob.diagnostics.base import Diagnostic, Page, Verdict, register
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.diagnostics.power import ERROR_RATE
from hrprob.numerics.power import POWER

if TYPE_CHECKING:
    from hrprob.estimation.posterior.target import Target
    from hrprob.problem import Problem

__all__ = ["AtTruth", "AtTruthResult", "ellipsoid_contains", "outside_support"]

LEVEL = 0.9
# How far below its level the coverage may lie at one truth, and how many posterior sds errors may have there.
_MARGIN, _MOST_ERROR = 0.1, 1.25
# Errors of this many posterior sds must be detectable for a verdict to pass.
_DETECTABLE = 1.75


class AtTruthResult(NamedTuple):
    """Coverage of the posterior's ellipsoid at the truth, and why the prior excludes it, if it does."""

    contained: xarray.DataArray  # over users and data_set
    distance: (
        xarray.DataArray
    )  # over users and data_set: squared distance of the truth over 2d, 1 on average if calibrated
    outside: list[str]
    fitted_as: str


@register("truth")
class AtTruth(Diagnostic[AtTruthResult]):
    """Coverage of the posterior's own ellipsoid at the given truth, and the truth in the prior's support."""

    title = "At the given truth"
    order = 0.5
    needs = ("at_truth",)

    def compute(self, inputs: SharedInputs) -> AtTruthResult:
        """Return in which data sets the ellipsoid contains the truth."""
        fitted, study = inputs.at_truth, inputs.study
        truth = np.concatenate(list(fitted.data.truths), axis=1)
        contained, distance = (
            xarray.DataArray(
                np.stack([of(draws, truth) for draws in fitted.posteriors.values()]),
                dims=("users", "data_set"),
                coords={"users": list(fitted.posteriors)},
            )
            for of in (ellipsoid_contains, squared_error)
        )
        outside = outside_support(study.problem, study.target)
        return AtTruthResult(contained, distance, outside, study.fitted_as)

    def verdicts(self, result: AtTruthResult) -> list[Verdict]:
        """Return whether the prior contains the truth, and whether the posterior does."""
        every = [Verdict(False, f"The prior excludes the truth: {why}") for why in result.outside]
        return [
            *every,
            coverage_at_truth(result.contained, result.fitted_as),
            errors_at_truth(result.distance, result.fitted_as),
        ]

    def error_families(self, result: AtTruthResult) -> int:
        """Return two: coverage and errors."""
        return 2

    def write_section(self, page: Page, result: AtTruthResult) -> None:
        """Write the coverages."""
        page.text(
            f"The posterior's own {percent(LEVEL)} ellipsoid about its mean, at the problem's truth. At one truth the coverage need "
            f"not be {percent(LEVEL)}; below {percent(LEVEL - _MARGIN)} it counts as wrong."
        )
        rows = [
            [int(users), f"{100 * share:.0f} %", float(np.sqrt(result.distance.sel(users=users).mean()))]
            for users, share in _shares(result.contained)
        ]
        header = ["users", "contains the truth", "error / posterior sd"]
        words = "The error is the root mean square over coefficients and data sets; more than"
        sets = result.contained.sizes["data_set"]
        page.table(header, rows, f"{sets} data sets. {words} {_MOST_ERROR:g} counts as wrong.")

    def to_plain(self, result: AtTruthResult) -> Mapping[str, object]:
        """Return the coverages."""
        return {
            "at_truth": {
                "coverage": [
                    {"users": int(users), "coverage": share} for users, share in _shares(result.contained)
                ],
                "errors": [
                    {"users": int(users), "ratio": float(np.sqrt(result.distance.sel(users=users).mean()))}
                    for users in result.distance.users.values
                ],
                "outside_support": result.outside,
            }
        }

    def to_datasets(self, result: AtTruthResult) -> Mapping[str, xarray.Dataset]:
        """Return in which data sets the truth was contained."""
        return {"at_truth": xarray.Dataset({"contained": result.contained, "distance": result.distance})}


def ellipsoid_contains(draws: Posteriors, truth: np.ndarray) -> np.ndarray:
    """Return in which data sets (sets,) the 90 % ellipsoid of (θ, φ) contains the truth (sets, 2d)."""
    away, inverse, gap = _standardised(draws, truth)
    distance = np.einsum("sni,sij,snj->sn", away, inverse, away)
    own = np.einsum("si,sij,sj->s", gap, inverse, gap)
    return np.asarray(own <= np.quantile(distance, LEVEL, axis=1))


def squared_error(draws: Posteriors, truth: np.ndarray) -> np.ndarray:
    """Return the squared distance (sets,) of the truth (sets, 2d) from the posterior mean, in posterior sds, over 2d."""
    _, inverse, gap = _standardised(draws, truth)
    return np.asarray(np.einsum("si,sij,sj->s", gap, inverse, gap) / gap.shape[1])


def _standardised(draws: Posteriors, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return draws minus their mean (sets, draws, 2d), the inverse of their covariance, and the truth minus the mean."""
    both = np.concatenate([np.asarray(draws.theta), np.asarray(draws.phi)], axis=-1)
    mean = both.mean(axis=1, keepdims=True)
    away = both - mean
    covariance = np.einsum("sni,snj->sij", away, away) / both.shape[1]
    return away, np.linalg.pinv(covariance, hermitian=True), truth[: len(both)] - mean[:, 0]


def outside_support(problem: Problem, target: Target) -> list[str]:
    """Return why the truth has no prior density, one reason for each of θ and φ; nothing if it has."""
    reasons = []
    for symbol, truth, radius in zip("θφ", (problem.theta, problem.phi), target.radii, strict=True):
        norm = float(np.linalg.norm(np.asarray(truth)))
        if norm > float(radius) * (1.0 + 1e-9):
            reasons.append(f"‖{symbol}*‖ = {norm:.3g}, and the prior ends at {float(radius):.3g}")
    return reasons


def coverage_at_truth(contained: xarray.DataArray, fitted_as: str = "") -> Verdict:
    """Return whether the ellipsoid contains the truth as often as it says, at the worst number of users.

    Examples
    --------
    >>> never = xarray.DataArray(np.zeros((1, 32), bool), dims=("users", "data_set"), coords={"users": [100]})
    >>> coverage_at_truth(never).good, coverage_at_truth(~never).good
    (False, True)
    """
    sets, least = contained.sizes["data_set"], LEVEL - _MARGIN
    level = ERROR_RATE / contained.sizes["users"]
    users, share = min(_shares(contained), key=lambda pair: pair[1])
    hits = round(share * sets)
    words = (
        f"After {format_number(users)} users the posterior's {percent(LEVEL)} ellipsoid contains the given truth in {percent(share)} of "
        f"{sets} data sets"
    )
    detectable = _detectable(sets, level)
    seen = f"a coverage below {percent(detectable)} would be detected"
    if stats.binom.cdf(hits, sets, least) < level:
        why = f"; the data are fitted as something else ({fitted_as})" if fitted_as else ""
        return Verdict(False, f"{words}, clearly below {percent(least)}{why}")
    if share >= LEVEL - 2.0 * np.sqrt(LEVEL * (1 - LEVEL) / sets) and detectable >= 0.5:
        return Verdict(True, f"{words}; {seen}")
    return Verdict(None, f"{words}; {seen}")


def errors_at_truth(distance: xarray.DataArray, fitted_as: str = "") -> Verdict:
    """Return whether errors at the truth are as large as the posterior says, at the worst number of users.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = xarray.DataArray(rng.chisquare(8, (1, 32)) / 8, dims=("users", "data_set"), coords={"users": [100]})
    >>> errors_at_truth(right).good, errors_at_truth(4.0 * right).good
    (True, False)
    """
    sets, level = distance.sizes["data_set"], ERROR_RATE / distance.sizes["users"]
    means = distance.mean("data_set")
    users = int(means.users[int(np.argmax(means.values))])
    own = distance.sel(users=users).values
    mean, se = float(own.mean()), float(own.std(ddof=1) / np.sqrt(sets))
    ratio = float(np.sqrt(mean))
    words = (
        f"After {format_number(users)} users errors at the given truth are {format_number(ratio, 2)} times as large as the posterior's sds "
        f"(root mean square over {sets} data sets)"
    )
    limit = _MOST_ERROR**2
    p = float(stats.t.sf((mean - limit) / max(se, 1e-12), sets - 1))
    # The standard error of a mean of squares grows with it.
    spread = se / max(mean, 1e-12)
    reach = (stats.t.isf(level, sets - 1) + stats.norm.ppf(POWER)) * spread
    detectable = float(np.sqrt(limit / max(1.0 - reach, 0.05)))
    seen = f"{format_number(detectable, 2)} times would be detected"
    if p < level:
        why = f"; the data are fitted as something else ({fitted_as})" if fitted_as else ""
        return Verdict(False, f"{words}, clearly more than {_MOST_ERROR:g} times{why}")
    return Verdict(True if ratio <= _MOST_ERROR and detectable <= _DETECTABLE else None, f"{words}; {seen}")


def _detectable(sets: int, level: float) -> float:
    """Return the largest coverage that is found too low with the usual power."""
    most = int(stats.binom.ppf(level, sets, LEVEL - _MARGIN)) - 1
    if most < 0:
        return 0.0
    return float(stats.beta.isf(POWER, most + 1, sets - most))


def _shares(contained: xarray.DataArray) -> list[tuple[int, float]]:
    return [(int(users), float(contained.sel(users=users).mean())) for users in contained.users.values]
