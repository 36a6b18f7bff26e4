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
    "on_regions",
    "on_reneging",
    "on_residuals",
    "on_sbc",
    "on_sets",
]

# Errors of one kind: a probability that a sound thing is called unsound.
ERROR_RATE = 0.01
# What is called seen is seen with this probability.
_POWER = 0.8
# A coverage is called right if one that is off by this much would be seen, and so is a probability of reneging.
_SIGHT, _SIGHT_OF_CHANCES = 0.06, 0.05
# Places can speak for an engine if a share of them below any point that is off by this much would stand out.
_SIGHT_OF_PLACES = 0.26
# Share of rounds with unsure leave-one-out weights beyond which a comparison of models says nothing for one.
_MOST_UNSURE = 0.01
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
    failing = _failing_regions(coverage)
    return [
        _of_coverage(
            coverage.sel(region="all", users=users),
            engine,
            level,
            even=not bool(failing.sel(users=users).any()),
        )
        for users in coverage.users.values
    ]


def _failing_regions(coverage: xarray.Dataset) -> xarray.DataArray:
    """Return which regions, all contexts together aside, are not covered as they should be, by number of users."""
    others = coverage.sel(region=[region for region in coverage.region.values if region != "all"])
    return others.probability.min("level") < coverage.attrs["least_chance_elsewhere"]


def _of_coverage(of: xarray.Dataset, engine: str, level: float, even: bool) -> Verdict:
    shown, least = of.sel(level=level), of.attrs["least_probability"]
    words = (
        f"{level:.0%} intervals for σ²(x) cover {100 * float(shown.coverage):.1f} % ± "
        f"{100 * float(shown.se):.1f} % after {int(of.users)} users ({engine})"
    )
    if bool((of.probability >= least).all()):
        sight = _sight_of_coverage(least, level, float(of.contexts))
        if sight > _SIGHT:
            few = f"{of.attrs['data_sets']} data sets show only what is off by {100 * sight:.1f} points"
            return Verdict("calibration", None, f"{words}: nothing against it, but {few}")
        if even:
            return Verdict("calibration", True, f"{words}: calibrated")
        return Verdict("calibration", None, f"{words}: right on average over contexts, not in every region")
    worst = of.isel(level=int(np.argmin(of.probability.values)))
    if float(worst.level) != level:
        words += f", {float(worst.level):.0%} intervals {100 * float(worst.coverage):.1f} %"
    return Verdict("calibration", False, f"{words}: {_too(worst)}")


def _too(of: xarray.Dataset) -> str:
    return "too narrow" if float(of.coverage) < float(of.level) else "too wide"


def _sight_of_coverage(least: float, level: float, contexts: float) -> float:
    """Return what a coverage must be off by to be seen."""
    return float(
        (stats.norm.isf(least / 2) + stats.norm.ppf(_POWER)) * math.sqrt(level * (1.0 - level) / contexts)
    )


def on_regions(coverage: xarray.Dataset, level: float = 0.9) -> Verdict:
    """Return whether intervals for σ²(x) hold what they say in every region of x."""
    failing = _failing_regions(coverage)
    found = []
    for users in failing.users.values:
        for region in failing.region.values[failing.sel(users=users).values]:
            of = coverage.sel(region=region, users=users)
            worst = of.isel(level=int(np.argmin(of.probability.values)))
            found.append(
                f"{region} after {int(users)} users ({float(worst.level):.0%} intervals cover "
                f"{100 * float(worst.coverage):.1f} % ± {100 * float(worst.se):.1f} %: {_too(worst)})"
            )
    if found:
        return Verdict(
            "calibration", False, f"Intervals for σ²(x) do not hold in regions of x: {', '.join(found)}"
        )
    least = coverage.attrs["least_chance_elsewhere"]
    sight = max(
        _sight_of_coverage(least, level, float(number))
        for number in coverage.contexts.sel(region=failing.region)
    )
    words = f"nothing against any, where {level:.0%} intervals off by {100 * sight:.1f} points would be seen"
    return Verdict(
        "calibration",
        None,
        f"Intervals for σ²(x) by region of x, {', '.join(failing.region.values)}: {words}",
    )


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
    enough, sight = _seen_of_places(coverage.attrs["data_sets"], limit)
    seen = f"The place of σ²(x) among its draws: {words}; nothing against uniformity, {sight}"
    return Verdict("calibration", True if enough else None, seen)


def _seen_of_places(data_sets: int, limit: float) -> tuple[bool, str]:
    """Return whether a test of uniformity sees more than gross faults, and what it sees."""
    sight = _sight_of_places(data_sets, limit)
    words = f"{data_sets} data sets show shares that are off by more than {100 * sight:.0f} points"
    return sight <= _SIGHT_OF_PLACES, words if sight <= _SIGHT_OF_PLACES else f"but {words} only"


def _sight_of_places(data_sets: int, limit: float) -> float:
    """Return what the share of places below a point must be off by to be seen, wherever the point is."""
    z, _, high = simultaneous_band(data_sets, limit)
    most = np.rint(data_sets * high)
    # With this share, more than that many lie below z with the probability wanted; all of them are never too
    # many. Below the band it is the same, mirrored.
    share = stats.beta.ppf(_POWER, most + 1, data_sets - most)
    return float(np.max(np.where(most < data_sets, share, 1.0) - z))


def on_sbc(engine: str, judged: xarray.Dataset) -> list[Verdict]:
    """Return whether an engine passes simulation-based calibration, by number of users."""
    verdicts = []
    for users in judged.users.values:
        of = judged.sel(users=users)
        failing = [str(name) for name in of.quantity.values[~of.passed.values]]
        data_sets, rate = judged.attrs["data_sets"], judged.attrs["error_rate"]
        tests = (
            f"{of.sizes['quantity']} quantities over {data_sets} data sets of {users} users, least adjusted p "
            f"{float(of.adjusted.min()):.2g}; a sound engine and policy fail with probability at most {rate:.0%}"
        )
        enough, sight = _seen_of_places(data_sets, rate / of.sizes["quantity"])
        if failing:
            words = f"{engine} FAILS simulation-based calibration at {', '.join(failing)}: {tests}"
            if all("served" in name for name in failing):
                words += ". Only what depends on the served context fails: does the policy look at the truth?"
            verdicts.append(Verdict("sbc", False, words))
        elif enough:
            verdicts.append(
                Verdict("sbc", True, f"{engine} passes simulation-based calibration: {tests}; {sight}")
            )
        else:
            words = f"{engine}, simulation-based calibration: {tests}; nothing against it, {sight}"
            verdicts.append(Verdict("sbc", None, words))
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
        wanted, last = 1.0 - dataset.attrs["delta"], of.isel(n=-1)
        replications = int(last.reached)
        ratio = made.total.sel(n=of.n >= min(100, int(of.n[-1]))).values
        widths = f"{ratio.min():.0f}" + (f" to {ratio.max():.0f}" if ratio.size > 1 else "")
        errors = (of.quantile_se / of["quantile"]).values[-ratio.size :]
        words = (
            f"{design} design: ρ_n as printed covers φ* at all n up to {int(last.n):,} in "
            f"{100 * covered:.0f} % of {replications} replications ({100 * wanted:.0f} % wanted) and is {widths} times "
            f"the {100 * wanted:.0f} % quantile of the error at this truth and design, at single n from "
            f"{int(of.n[-ratio.size]):,} on (each ± {100 * errors.max():.0f} %); {_with_error(last, 'factor', 4)} ρ_n would do "
            f"here for all n at once. The posterior's radius ({dataset.attrs['posterior']}) is "
            f"{_with_error(last, 'posterior_radius', 1)}, the quantile {_with_error(last, 'quantile', 1)}, ρ_n "
            f"{float(last.radius.sel(version='paper')):,.0f} at n = {int(last.n):,}"
        )
        # Whether so few replications covered would be strange if the probability were as wanted.
        strange = stats.binom.cdf(round(covered * replications), replications, wanted) < ERROR_RATE
        verdicts.append(Verdict("rho", not strange, words))
    return [*verdicts, _on_owed(owed)]


def _with_error(of: xarray.Dataset, name: str, digits: int) -> str:
    """Return a number of the printed sets, or of none, with its standard error, where it has one."""
    value, error = (
        float(number.sel(version="paper") if "version" in number.dims else number)
        for number in (of[name], of[f"{name}_se"])
    )
    return f"{value:.{digits}f}" + (f" ± {error:.{digits}f}" if math.isfinite(error) else "")


def _on_owed(owed: Mapping[str, xarray.Dataset]) -> Verdict:
    design, made = next(iter(owed.items()))
    last = made.isel(n=-1)
    return Verdict(
        "rho",
        None,
        f"Of the factor {float(last.total):.0f} at n = {int(last.n):,} ({design} design), {float(last.union):.1f} is owed "
        f"to the union over n (δ/n²), {float(last.scale):.1f} to σ²_max in place of σ_max (and L² of L), "
        f"{float(last['product']):.1f} to α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾), which is {100 * float(last.share_of_product):.0f} % of ρ_n, "
        f"{float(last.rest):.1f} to the rest of the bound (which has C₁ = C₂ = 1 for want of values, and must hold at every "
        f"truth and design), and {float(last.simultaneity):.2f} to simultaneity in n, which is no loss",
    )


def on_reneging(truths: str, table: xarray.Dataset, scores: xarray.Dataset) -> list[Verdict]:
    """Return whether probabilities of reneging were right, by predictor."""
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
        # Half of the error rate is for the share as a whole, two-sided.
        critical = stats.t.isf(ERROR_RATE / 4, table.attrs["data_sets"] - 1)
        sight = float((critical + stats.norm.ppf(_POWER)) * of.bias_se)
        found = (
            f"nothing against it, a share off by {100 * sight:.1f} points would be seen"
            if good
            else "not reliable"
        )
        words = (
            f"{name}, {truths}: said {100 * share:.1f} % leave at once, {100 * (share + float(of.bias)):.1f} % did "
            f"(difference {100 * float(of.bias):+.1f} ± {100 * float(of.bias_se):.1f} points; p = "
            f"{float(of.p_value):.2g}): {found}; Brier score {float(score.brier):.4f}, "
            f"log score {float(score['log']):.4f}"
        )
        # Only the posterior, over the truths it was made for, is meant to be right.
        judged = name == "posterior" and "prior" in truths and not (good and sight > _SIGHT_OF_CHANCES)
        verdicts.append(Verdict("reneging", good if judged else None, words))
    return verdicts


def on_models(comparison: xarray.Dataset) -> Verdict:
    """Return whether another model predicts outcomes better than the one in use."""
    name = comparison.attrs["reference"]
    finite = np.isfinite(comparison.elpd) & np.isfinite(comparison.ahead)
    unknown = [str(model) for model in comparison.model.values[~finite.values]]
    rivals = [str(model) for model in comparison.model.values[finite.values] if model != name]
    if not rivals or not bool(np.isfinite(comparison.elpd.sel(model=name))):
        named = [name] if not np.isfinite(comparison.elpd.sel(model=name)) else unknown
        return Verdict("outcomes", None, _not_compared(named))
    others = comparison.sel(model=rivals)
    best = others.isel(model=int(np.argmax(others.ahead.values)))
    ahead, error = float(best.ahead), float(best.ahead_se)
    # A likelihood ratio against the true model exceeds 1/α with probability α at most (Markov), one of several
    # with probability α if it has to exceed as many times that; leave-one-out sums stand in for the likelihoods.
    # Counting standard errors instead would fail where it matters: one outlier makes both the lead and its
    # error large.
    enough = math.log((comparison.sizes["model"] - 1) / ERROR_RATE)
    lead = f"{abs(ahead):.1f} ± {error:.1f} in log density, of {comparison.attrs['rounds']} rounds"
    rest = f"; {enough:.1f} ahead would count" if ahead <= enough else ""
    rest += f". {_not_compared(unknown)}" if unknown else ""
    shaky = float(comparison.bad_k.sel(model=[name, best.model.item()]).max())
    rest += (
        f". Leave-one-out weights are unsure (k̂ above 0.7) for {100 * shaky:.1f} % of rounds" if shaky else ""
    )
    if ahead > enough:
        words = f"{best.model.item()} outcomes predict new rounds better than {name} ones, by {lead}"
        return Verdict("outcomes", False, f"{words}: the model in use does not fit{rest}")
    if ahead > 0:
        words = f"{best.model.item()} outcomes predict new rounds a little better than {name} ones, by {lead}"
        return Verdict("outcomes", None, words + rest)
    words = f"No model predicts new rounds better than {name} outcomes: the next, {best.model.item()}, is behind by {lead}"
    return Verdict("outcomes", None if unknown or shaky > _MOST_UNSURE else True, words + rest)


def _not_compared(models: list[str]) -> str:
    words = f"Predictions of new rounds by {' and '.join(models)} outcomes could not be compared"
    return f"{words}: their log density is not finite"


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
        f"{shape}; nothing strange" if not strange else f"{shape}; {', '.join(strange)} not as the model says"
    )
    uniform = loo_p >= ERROR_RATE
    found = "nothing against uniformity" if uniform else "NOT uniform"
    loo = f"Leave-one-out places of outcomes under {model}: {found} (p = {loo_p:.2g})"
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
