"""What a diagnosis found, in words: each verdict from numbers that stand in the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob.diagnostics.reneging import is_certain
from hrprob.diagnostics.uniformity import simultaneous_band

__all__ = [
    "Verdict",
    "on_calibration",
    "on_estimates",
    "on_health",
    "on_models",
    "on_places",
    "on_reneging",
    "on_residuals",
    "on_sbc",
    "on_sets",
]

# Errors of one kind: a chance that a sound thing is called unsound.
ERROR_RATE = 0.01
# A coverage is called right if one that is off by this much would be seen.
_SIGHT = 0.06
# Places are called uniform if a share of them below any point that is off by this much would be seen.
_SIGHT_OF_PLACES = 0.25
# From this shape k̂ on, importance weights have no mean: the approximation misses the posterior.
_NO_MEAN = 1.0


class Verdict(NamedTuple):
    """A finding: good, bad, or (None) neither, and in words."""

    part: str
    good: bool | None
    words: str


def on_health(name: str, health: xarray.Dataset, concerns: list[str]) -> Verdict:
    """Return whether an engine's draws can be used."""
    of = health.sel(engine=name)
    k = float(of.pareto_k)
    if concerns and k < _NO_MEAN and all("k̂" in concern for concern in concerns):
        words = f"{name}: Pareto k̂ {k:.2f}, above 0.7: its draws cannot be put right by weights"
        return Verdict("health", None, f"{words}; whether its intervals hold is told by calibration")
    if concerns:
        return Verdict("health", False, f"{name}: {'; '.join(concerns)}")
    found = []
    if not np.isnan(of.rhat.values).all():
        found.append(f"R-hat at most {float(of.rhat.max()):.3f}")
    if not np.isnan(of.ess_bulk.values).all():
        found.append(
            f"effective sample size at least {float(of.ess_bulk.min()):,.0f} (bulk) and "
            f"{float(of.ess_tail.min()):,.0f} (tail) of {float(of.draws):,.0f}"
        )
    if np.isfinite(of.divergences):
        found.append(f"no divergence, fraction of missing information {float(of.bfmi):.2f}")
    if np.isfinite(of.pareto_k):
        found.append(f"Pareto k̂ {float(of.pareto_k):.2f}")
    if np.isnan(of.ess_bulk.values).all():
        found.append(f"worth {float(of.effective):,.0f} of {float(of.draws):,.0f} draws")
    return Verdict("health", True, f"{name} is sound: {', '.join(found)}")


def on_calibration(coverage: xarray.Dataset, engine: str, level: float = 0.9) -> list[Verdict]:
    """Return whether intervals for σ²(x) hold what they say, by number of users."""
    return [
        _of_coverage(coverage.sel(region="all", users=users), engine, level)
        for users in coverage.users.values
    ]


def _of_coverage(of: xarray.Dataset, engine: str, level: float) -> Verdict:
    shown, least = of.sel(level=level), of.attrs["least_chance"]
    words = (
        f"{level:.0%} intervals for σ²(x) cover {100 * float(shown.coverage):.1f} % ± "
        f"{100 * float(shown.se):.1f} % after {int(of.users)} users ({engine})"
    )
    if bool((of.chance >= least).all()):
        # What a coverage would have to be off by to be seen.
        sight = stats.norm.isf(least / 2) * math.sqrt(level * (1.0 - level) / float(of.contexts))
        if sight <= _SIGHT:
            return Verdict("calibration", True, f"{words}: calibrated")
        few = f"{of.attrs['data_sets']} data sets show only what is off by {100 * sight:.1f} points"
        return Verdict("calibration", None, f"{words}: nothing against it, but {few}")
    worst = of.isel(level=int(np.argmin(of.chance.values)))
    kind = "too narrow" if float(worst.coverage) < float(worst.level) else "too wide"
    if float(worst.level) != level:
        words += f", {float(worst.level):.0%} intervals {100 * float(worst.coverage):.1f} %"
    return Verdict("calibration", False, f"{words}: {kind}")


def on_places(coverage: xarray.Dataset) -> Verdict:
    """Return whether σ²(x) is uniform among its draws, at fresh contexts and at those served."""
    p = coverage.p_value
    least = p.isel(p.argmin(p.dims))
    limit = ERROR_RATE / p.size
    words = (
        f"least p = {float(least):.2g}, at {least.point_kind.item()} contexts after {int(least.users)} users "
        f"({p.size} tests)"
    )
    if float(least) < limit:
        return Verdict("calibration", False, f"The place of σ²(x) among its draws is not uniform: {words}")
    few = _too_few(coverage.attrs["data_sets"], limit)
    if few:
        return Verdict("calibration", None, f"The place of σ²(x) among its draws: {words}; {few}")
    return Verdict("calibration", True, f"The place of σ²(x) among its draws is uniform: {words}")


def _too_few(data_sets: int, limit: float) -> str | None:
    """Say so where a test of uniformity with this error rate sees gross faults only."""
    _, low, high = simultaneous_band(data_sets, limit)
    sight = float(np.max(high - low)) / 2
    if sight <= _SIGHT_OF_PLACES:
        return None
    return f"nothing against it, but {data_sets} data sets show only shares that are off by {100 * sight:.0f} points"


def on_sbc(engine: str, judged: xarray.Dataset) -> list[Verdict]:
    """Return whether an engine passes simulation-based calibration, by number of users."""
    verdicts = []
    for users in judged.users.values:
        of = judged.sel(users=users)
        failing = [str(name) for name in of.quantity.values[~of.passed.values]]
        data_sets, rate = judged.attrs["data_sets"], judged.attrs["error_rate"]
        tests = (
            f"{of.sizes['quantity']} quantities over {data_sets} data sets of {users} users, least adjusted p "
            f"{float(of.adjusted.min()):.2g}; a sound engine and policy fail with chance at most {rate:.0%}"
        )
        few = _too_few(data_sets, rate / of.sizes["quantity"])
        if failing:
            words = f"{engine} FAILS simulation-based calibration at {', '.join(failing)}: {tests}"
            if all("served" in name for name in failing):
                words += ". Only what depends on the served context fails: does the policy look at the truth?"
            verdicts.append(Verdict("sbc", False, words))
        elif few:
            verdicts.append(Verdict("sbc", None, f"{engine}, simulation-based calibration: {tests}; {few}"))
        else:
            verdicts.append(Verdict("sbc", True, f"{engine} passes simulation-based calibration: {tests}"))
    return verdicts


def on_sets(
    found: Mapping[str, xarray.Dataset],
    owed: Mapping[str, xarray.Dataset],
    unreached: Mapping[str, str] = MappingProxyType({}),
) -> list[Verdict]:
    """Return how the printed sets compare with data sets and posterior, and why some designs have none."""
    verdicts = [
        Verdict("rho", None, f"{design} design: left out, {why}") for design, why in unreached.items()
    ]
    for design, dataset in found.items():
        of, made = dataset.sel(parameter="phi"), owed[design]
        covered = float(of.coverage_simultaneous.sel(version="paper").isel(n=-1))
        wanted, replications = 1.0 - dataset.attrs["delta"], dataset.attrs["replications"]
        ratio, last = made.total.sel(n=of.n >= min(100, int(of.n[-1]))).values, of.isel(n=-1)
        widths = f"{ratio.min():.0f}" + (f" to {ratio.max():.0f}" if ratio.size > 1 else "")
        words = (
            f"{design} design: ρ_n as printed covers φ* at all n up to {int(last.n):,} in "
            f"{100 * covered:.0f} % of {replications} replications ({100 * wanted:.0f} % wanted) and is {widths} times as "
            f"wide as needed at single n from {int(of.n[-ratio.size]):,} on; "
            f"{float(last.factor.sel(version='paper')):.4f} ρ_n would do for all n at once. The posterior's radius "
            f"({dataset.attrs['posterior']}) is {float(last.posterior_radius):.1f}, the quantile "
            f"{float(last['quantile']):.1f}, ρ_n {float(last.radius.sel(version='paper')):,.0f} at n = {int(last.n):,}"
        )
        # Whether so few replications covered would be strange if the chance were as wanted.
        strange = stats.binom.cdf(round(covered * replications), replications, wanted) < ERROR_RATE
        verdicts.append(Verdict("rho", not strange, words))
    return [*verdicts, _on_owed(owed)]


def _on_owed(owed: Mapping[str, xarray.Dataset]) -> Verdict:
    design, made = next(iter(owed.items()))
    last = made.isel(n=-1)
    return Verdict(
        "rho",
        None,
        f"Of the factor {float(last.total):.0f} at n = {int(last.n):,} ({design} design), {float(last.union):.1f} is owed "
        f"to the union over n (δ/n²), {float(last.scale):.1f} to σ²_max in place of σ_max (and L² of L), "
        f"{float(last['product']):.1f} to α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾), which is {100 * float(last.share_of_product):.0f} % of ρ_n, "
        f"{float(last.rest):.1f} to the rest of the bound, and {float(last.simultaneity):.2f} to simultaneity in n, "
        "the only one that is not loss",
    )


def on_reneging(truths: str, table: xarray.Dataset, scores: xarray.Dataset) -> list[Verdict]:
    """Return whether chances of reneging were right, by predictor."""
    if is_certain(table):
        words = (
            f"{truths}: everybody leaves after the first round, as was certain: there is nothing to predict"
        )
        return [Verdict("reneging", None, words)]
    verdicts = []
    for name in table.predictor.values:
        of, score = table.sel(predictor=name), scores.sel(predictor=name)
        good = bool(of.p_value >= ERROR_RATE)
        share = float(np.average(of.predicted, weights=of["count"]))
        words = (
            f"{name}, {truths}: said {100 * share:.1f} % leave at once, {100 * (share + float(of.bias)):.1f} % did "
            f"(difference {100 * float(of.bias):+.1f} ± {100 * float(of.bias_se):.1f} points; p = "
            f"{float(of.p_value):.2g}): {'reliable' if good else 'not reliable'}; Brier score {float(score.brier):.4f}, "
            f"log score {float(score['log']):.4f}"
        )
        # Only the posterior, over the truths it was made for, is meant to be right.
        judged = good if name == "posterior" and "prior" in truths else None
        verdicts.append(Verdict("reneging", judged, words))
    return verdicts


def on_models(comparison: xarray.Dataset) -> Verdict:
    """Return whether another model predicts outcomes better than the one in use."""
    name = comparison.attrs["reference"]
    unknown = _not_compared(comparison, name)
    if unknown:
        words = f"Predictions of new rounds by {' and '.join(unknown)} outcomes could not be compared"
        return Verdict("outcomes", None, f"{words}: their log density is not finite")
    others = comparison.sel(model=[model for model in comparison.model.values if model != name])
    best = others.isel(model=int(np.argmax(others.ahead.values)))
    ahead, error = float(best.ahead), float(best.ahead_se)
    # A likelihood ratio against the true model exceeds 1/α with chance α at most (Markov), one of several
    # with chance α if it has to exceed as many times that; leave-one-out sums stand in for the likelihoods.
    # Counting standard errors instead would fail where it matters: one outlier makes both the lead and its
    # error large.
    enough = math.log(others.sizes["model"] / ERROR_RATE)
    if ahead > enough:
        words = f"{best.model.item()} outcomes predict new rounds better than {name} ones, by {ahead:.1f} ± {error:.1f}"
        return Verdict("outcomes", False, f"{words} in log density: the model in use does not fit")
    place = f"{'ahead' if ahead > 0 else 'behind'} by {abs(ahead):.1f} ± {error:.1f}"
    words = (
        f"No model predicts new rounds better than {name} outcomes: the next, {best.model.item()}, is {place}"
    )
    rounds = f"of {comparison.attrs['rounds']} rounds"
    return Verdict("outcomes", True, f"{words} in log density, {rounds}; {enough:.1f} ahead would count")


def _not_compared(comparison: xarray.Dataset, reference: str) -> list[str]:
    """Return the models whose log density is not finite; where the reference's is not, none can be compared."""
    finite = np.isfinite(comparison.elpd) & np.isfinite(comparison.ahead)
    if not bool(np.isfinite(comparison.elpd.sel(model=reference))):
        return [reference]
    return [str(model) for model in comparison.model.values[~finite.values]]


def on_residuals(model: str, checks: xarray.Dataset, loo_p: float) -> list[Verdict]:
    """Return whether outcomes look as the model says."""
    p = np.minimum(checks.p_value, 1.0 - checks.p_value)
    limit = ERROR_RATE / (2 * p.size)
    strange = [str(name) for name in checks.statistic.values[p.values < limit]]
    listed = ", ".join(
        f"{name} p = {float(value):.3f}"
        for name, value in zip(checks.statistic.values, checks.p_value, strict=True)
    )
    shape = f"Residuals under {model} outcomes: {listed}"
    words = (
        f"{shape}; as the model says"
        if not strange
        else f"{shape}; {', '.join(strange)} not as the model says"
    )
    uniform = loo_p >= ERROR_RATE
    loo = f"Leave-one-out places of outcomes under {model}: {'uniform' if uniform else 'NOT uniform'} (p = {loo_p:.2g})"
    return [Verdict("outcomes", uniform, loo), Verdict("outcomes", not strange, words)]


def on_estimates(truths: str, table: xarray.Dataset) -> Verdict:
    """Return which estimate is nearer the truth, and whose standard errors mean what they say."""
    users = int(table.users[-1])
    of = table.sel(users=users)
    parts = []
    for parameter, symbol in (("theta", "θ"), ("phi", "φ")):
        one = of.sel(parameter=parameter)
        errors = " and ".join(
            f"{float(honesty):.2f} ({honesty.estimator.item()})"
            for honesty in one.honesty
            if np.isfinite(honesty)  # not where the noise has no fourth moment
        )
        parts.append(
            f"for {symbol} the GLSE has efficiency {float(one.efficiency):.2f} ± {float(one.efficiency_se):.2f}, and errors "
            f"are {errors} of their standard errors"
        )
    return Verdict("estimates", None, f"After {users} users, {truths}: {'; '.join(parts)}")
