"""The report of a diagnosis: verdicts in words first, then each part with its figures and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from matplotlib.figure import Figure

import hrprob
from hrprob._core.records import describe
from hrprob.diagnostics import figures, sbc
from hrprob.diagnostics.reneging import is_certain
from hrprob.diagnostics.study import AT_TRUTH, DELTA, Diagnosis, for_many
from hrprob.diagnostics.verdicts import ERROR_RATE
from hrprob.estimation.posterior.inference import export
from hrprob.io.page import Report

__all__ = ["draw", "write_page"]

_VERSIONS = ("paper", "corrected")
# Of more numbers than these, the first few and the last are written.
_MOST_LISTED, _FIRST_LISTED = 4, 3
_PARTS = {
    "calibration": "Intervals for σ²(x)",
    "sbc": "Simulation-based calibration",
    "health": "The samplers",
    "rho": "The posterior against ρ_n",
    "reneging": "Reneging",
    "outcomes": "Outcomes",
    "estimates": "Estimates side by side",
}

_CAPTIONS = {
    "coverage": "Coverage of central intervals for σ²(x), less their level. Fresh contexts are drawn as those of a user: "
    "all of them, the thirds with the least and the largest predicted σ², the thirds best explored and rarest. "
    "Served: the context that the policy picks next.",
    "pit": "Where σ²(x) stands among its draws: empirical distribution function less the diagonal. The bands hold "
    "all curves of a calibrated posterior in 99 of 100 cases; a curve that leaves its band is orange.",
    "sbc": "Simulation-based calibration of the engine in use after {users} users: places of the truth among the draws, "
    "less the diagonal. The bands hold the curves of all quantities in 99 of 100 cases where the engine is sound; what "
    "leaves its band fails, and is orange. Of more than twelve quantities there are those with the least p. The table "
    "has all numbers of users.",
    "ranks": "Such places as histograms, for every engine ({each}): twelve quantities at most, those with the least p for any "
    "engine. Orange: what fails by the test above. Grey holds all bars of an engine in 99 of 100 cases where it is sound.",
    "trace": "Chains of nuts on one data set (ArviZ): θ and φ, of more than four features those with the largest R-hat.",
    "rank": "Ranks of each chain's draws among all, less the diagonal, with a simultaneous band or its p-value (ArviZ), of "
    "the same coefficients; draws are thinned to about as many as they are worth.",
    "energy": "Energy of the chains: the fraction of missing information, and marginal against transition energy (ArviZ).",
    "sets": "Printed radii of the sets for φ* and θ*, quantiles of the GLSE's error over replications, and the "
    "posterior's radius about the GLSE.",
    "owed": "What ρ_n over the pointwise quantile is made of: factors on a logarithmic scale, whose product stands at "
    "the end of each bar.",
    "reneging": "Users who left after their first round, against what was said before they came. Grey: where the points "
    "should lie if the probabilities were right, two standard errors over data sets.",
    "loo": "Leave-one-out places of single outcomes (by ArviZ), less the diagonal, with a 99 % simultaneous band.",
    "residuals": "Shape of the standardised residuals: of data drawn anew from the posterior, and of the data.",
    "models": "Expected log predictive density of a new round, against the model in use.",
    "estimates": "Both estimates of the coefficients (the first four features at most) as users arrive, in one data set.",
    "efficiency": "Efficiency of the GLSE: mean squared error of the posterior mean over its own, two standard errors.",
}


def draw(found: Mapping[str, Any], drawn: Collection[str] = ()) -> Iterator[tuple[str, Figure]]:
    """Yield the figures that can be drawn of what has been found, with names, but for those ``drawn`` before.

    ``found`` goes by the names that :class:`~hrprob.diagnostics.study.Diagnosis` has.
    """
    for name, (needed, make) in _FIGURES.items():
        if name not in drawn and set(needed) <= set(found):
            figure = make(found)
            if figure is not None:  # where there is something to see
                yield name, figure


def _of_chains(plot: Callable[[Any], Figure | None]) -> Callable[[Mapping[str, Any]], Figure | None]:
    return lambda found: plot(export(found["posteriors"]["nuts"]))


def _places(found: Mapping[str, Any]) -> Figure:
    places = found["places"]
    named = {
        f"{kind}, {users} users": places.place.sel(users=users, point=point).values
        for kind, point in (("fresh", "fresh 1"), ("served", "served"))
        for users in places.users.values
    }
    return figures.plot_pit(named, ERROR_RATE, columns=places.sizes["users"], most=len(named))


def _ranks(found: Mapping[str, Any]) -> Figure:
    engine = found["study"].engine.kind
    ranked = _middle(found["ranks"][engine])
    named = {str(name): ranked.sel(quantity=name).values for name in ranked.quantity.values}
    return figures.plot_pit(named, sbc.ERROR_RATE)


def _histograms(found: Mapping[str, Any]) -> Figure:
    return figures.plot_ranks({name: _middle(of) for name, of in found["ranks"].items()}, sbc.ERROR_RATE)


def _reliability(found: Mapping[str, Any]) -> Figure | None:
    tables = found["reliability"]
    return None if all(map(is_certain, tables.values())) else figures.plot_reliability(tables)


def _middle(ranks: xarray.DataArray) -> xarray.DataArray:
    """Return the ranks at the second number of users, or the only one."""
    return ranks.isel(users=min(1, ranks.sizes["users"] - 1))


_FIGURES: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Figure | None]]] = {
    "coverage": (("coverage",), lambda found: figures.plot_coverage(found["coverage"])),
    "pit": (("places",), _places),
    "sbc": (("ranks",), _ranks),
    "ranks": (("ranks",), _histograms),
    "trace": (("posteriors",), _of_chains(figures.plot_trace)),
    "energy": (("posteriors",), _of_chains(figures.plot_energy)),
    # It takes longest to make, and could be made as soon as there are chains: others go first.
    "rank": (("posteriors", "loo"), _of_chains(figures.plot_rank)),
    "sets": (("sets",), lambda found: figures.plot_sets(found["sets"])),
    "owed": (("owed",), lambda found: figures.plot_owed(found["owed"])),
    "reneging": (("reliability",), _reliability),
    "loo": (("loo",), lambda found: figures.plot_pit({"outcomes": found["loo"].place.values}, ERROR_RATE)),
    "residuals": (("residuals",), lambda found: figures.plot_residuals(found["residuals"])),
    "models": (("comparison",), lambda found: figures.plot_models(found["comparison"])),
    "estimates": (("estimates",), lambda found: figures.plot_estimates(found["estimates"][AT_TRUTH])),
    "efficiency": (("efficiency",), lambda found: figures.plot_efficiency(found["efficiency"])),
}


def _gatherer(policy: Any) -> str:
    engine = getattr(policy, "engine", None)
    return str(policy.kind if engine is None else f"{policy.kind} with {engine.kind}")


def _fitted(done: Diagnosis) -> str:
    """Say so where an engine is fitted to some of the data sets only, or otherwise than on one."""
    engine, fitted = done.study.engine, done.places.sizes["data_set"]
    there = describe(for_many(engine))
    changed = [f"{name} {value}" for name, value in there.items() if describe(engine)[name] != value]
    if fitted == done.sizes.sets and not changed:
        return ""
    return f" ({engine.kind}{' with ' if changed else ''}{', '.join(changed)} fitted to {fitted} of them)"


def write_page(path: Path, done: Diagnosis, folder: Path, quick: bool) -> None:
    """Write the report to ``path``, with the figures found in ``folder``."""
    study, sizes = done.study, done.sizes
    hurry = "A QUICK run, too small for fine distinctions: see that it works. " if quick else ""
    page = Report(
        "Can the learned variance be trusted?",
        f"{hurry}Posterior by {study.engine.kind} ({study.target.model.kind} outcomes, {study.target.prior.kind} prior), "
        f"data gathered by {_gatherer(study.policy)}: {sizes.sets} data sets with truths drawn from the prior{_fitted(done)}, "
        f"{sizes.truth_sets} at the problem's own truth, {sizes.replications} for each design of the printed sets; "
        f"seed {study.seed}.",
    )
    page.heading("Verdicts")
    page.verdicts([(verdict.good, verdict.words) for verdict in done.verdicts])
    sections: dict[str, Callable[[Report, Diagnosis], None]] = {
        "calibration": _calibration,
        "sbc": _sbc,
        "health": _health,
        "rho": _rho,
        "reneging": _reneging,
        "outcomes": _outcomes,
        "estimates": _estimates,
    }
    shown = {
        "calibration": ("coverage", "pit"),
        "sbc": ("sbc", "ranks"),
        "health": ("trace", "rank", "energy"),
        "rho": ("sets", "owed"),
        "reneging": ("reneging",),
        "outcomes": ("loo", "residuals", "models"),
        "estimates": ("estimates", "efficiency"),
    }
    for part, write in sections.items():
        page.heading(_PARTS[part])
        write(page, done)
        for name in shown[part]:
            if (folder / f"{name}.png").exists():
                page.figure(folder / f"{name}.png", _caption(name, done))
    page.footer(
        f"hrprob {hrprob.__version__}; the numbers of this page are in calibration.json, the arrays behind them in "
        "diagnostics.nc."
    )
    path.write_text(page.render(), encoding="utf-8")


def _caption(name: str, done: Diagnosis) -> str:
    users = {engine: int(_middle(of).users) for engine, of in done.ranks.items()}
    return _CAPTIONS[name].format(users=users[done.study.engine.kind], each=_after(users))


def _after(users: Mapping[str, int]) -> str:
    """Return after how many users engines are looked at.

    Examples
    --------
    >>> _after({"nuts": 30, "smc": 30}), _after({"nuts": 30, "smc": 100})
    ('after 30 users', 'nuts after 30 users, smc after 100')
    """
    first, *others = users.items()
    if len(set(users.values())) == 1:
        return f"after {first[1]} users"
    named = [f"{first[0]} after {first[1]} users", *(f"{engine} after {number}" for engine, number in others)]
    return ", ".join(named)


def _calibration(page: Report, done: Diagnosis) -> None:
    coverage = done.coverage
    page.text(
        "Truths are drawn from the prior, the whole loop is played about each, and at most the first 16 rounds of a stay "
        "are recorded (a stopping rule, which biases nothing). Errors are over data sets. p is the least probability, at any of "
        "the levels, of a coverage as far off as that (binomial, by how many independent contexts those of a region are "
        f"worth). A calibrated posterior fails in any of the rows named all, where p is below "
        f"{coverage.attrs['least_probability']:.2g}, with probability {coverage.attrs['error_rate']:.0%} at most; and in any of the "
        f"others, where it is below {coverage.attrs['least_chance_elsewhere']:.2g}, with probability "
        f"{coverage.attrs['error_rate']:.0%} at most."
    )
    levels = coverage.level.values
    rows, good = [], []
    for users in coverage.users.values:
        for region in coverage.region.values:
            of = coverage.sel(users=users, region=region)
            cells = [
                f"{100 * c:.1f} ± {100 * e:.1f}"
                for c, e in zip(of.coverage.values, of.se.values, strict=True)
            ]
            least = float(of.probability.min())
            rows.append([int(users), str(region), *cells, least])
            limit = coverage.attrs["least_probability" if region == "all" else "least_chance_elsewhere"]
            good.append(least >= limit)
    header = ["users", "contexts", *(f"{100 * level:g} %" for level in levels), "p"]
    page.table(header, rows, "Coverage of central intervals for σ²(x), in per cent.", good)


def _sbc(page: Report, done: Diagnosis) -> None:
    page.text(
        "The place of each true quantity among its draws must be uniform. p-values are adjusted (Holm) over all "
        "quantities at one number of users. Served: at the context that the policy picks for the next user, which tells "
        "on a policy that knows more than its data."
    )
    rows, good = [], []
    for engine, judged in done.judged.items():
        for users in judged.users.values:
            of = judged.sel(users=users)
            worst = of.isel(quantity=int(np.argmin(of.p_value.values)))
            passed = bool(of.passed.all())
            rows.append(
                [
                    engine,
                    int(users),
                    judged.attrs["data_sets"],
                    str(worst.quantity.item()),
                    float(worst.p_value),
                    float(worst.adjusted),
                    "passes" if passed else "fails",
                ]
            )
            good.append(passed)
    header = ["engine", "users", "data sets", "least p at", "p", "adjusted", "verdict"]
    page.table(header, rows, "", good)


def _health(page: Report, done: Diagnosis) -> None:
    table = done.health
    rows = []
    for engine in table.engine.values:
        of = table.sel(engine=engine)
        rows.append(
            [
                str(engine),
                int(of.draws),
                _largest(of.rhat),
                _least(of.ess_bulk),
                _least(of.ess_tail),
                _largest(of.mcse / of["sd"]),
                *(float(of[name]) for name in ("divergences", "bfmi", "pareto_k", "effective")),
            ]
        )
    header = [
        "engine",
        "draws",
        "R-hat",
        "bulk ESS",
        "tail ESS",
        "MCSE / sd",
        "divergences",
        "BFMI",
        "Pareto k̂",
        "effective",
    ]
    rounds = len(next(iter(done.posteriors.values())).table)
    page.table(header, rows, f"On one data set of {rounds} rounds; the worst of all parameters.")


def _largest(values: xarray.DataArray) -> float | None:
    return None if np.isnan(values).all() else float(values.max())


def _least(values: xarray.DataArray) -> float | None:
    return None if np.isnan(values).all() else float(values.min())


def _rho(page: Report, done: Diagnosis) -> None:
    attrs = next(iter(done.sets.values())).attrs
    page.text(
        f"δ = {DELTA:g}, λ = 1, σ²_max = {attrs['variance_max']:.4g}, C₁ = {attrs['c1']:g}, C₂ = {attrs['c2']:g} (the theory "
        f"gives no values). {attrs['replications']} replications, a posterior ({attrs['posterior']}) fitted to {attrs['fits']} of "
        f"them: where the probability is {1 - DELTA:.0%}, a share of replications has a standard error of "
        f"{_error_of_share(attrs['replications'])} points, one of fits {_error_of_share(attrs['fits'])}. "
        "The fixed design has contexts that do not depend on the noise, as the lemmas assume; the others are adaptive. n "
        "counts rounds in the sample set; errors are looked at when users leave, first when there are n rounds or more. "
        "Factor: c_n, by which the printed radius could shrink and still cover, at this truth and design, all n up to this "
        f"one with probability {1 - DELTA:.0%}. Errors of quantiles and factors are by bootstrap over replications. A set that is "
        "to hold at every truth and design must be wider than the quantile at one of them."
    )
    for parameter, symbol, name in (("phi", "φ", "ρ_n(δ/n²)"), ("theta", "θ", "α⁽¹⁾_n(δ)")):
        rows, covered = [], []
        for design, dataset in done.sets.items():
            of = dataset.sel(parameter=parameter)
            for n in of.n.values:
                one = of.sel(n=n)
                printed = one.sel(version="paper")
                rows.append(
                    [
                        design,
                        int(n),
                        float(printed.radius),
                        float(one.radius.sel(version="corrected")),
                        *(
                            _with_error(one[kind], one[f"{kind}_se"])
                            for kind in ("quantile", "quantile_simultaneous", "posterior_radius")
                        ),
                        *(
                            _with_error(one.factor.sel(version=version), one.factor_se.sel(version=version))
                            for version in _VERSIONS
                        ),
                        f"10^{float(printed.log_volume_ratio) / np.log(10):.1f}",
                    ]
                )
                covered.append(
                    [
                        design,
                        int(n),
                        *(
                            _percent(one[kind].sel(version=version))
                            for version in _VERSIONS
                            for kind in ("coverage", "coverage_simultaneous")
                        ),
                        _percent(one.posterior_coverage),
                        _percent(one.ellipsoid_coverage),
                        *(_percent(one.posterior_mass.sel(version=version)) for version in _VERSIONS),
                    ]
                )
        header = [
            "design",
            "n",
            name,
            "corrected",
            "quantile",
            "all n at once",
            "posterior radius",
            "factor",
            "corrected factor",
            "volume ratio",
        ]
        page.table(
            header,
            rows,
            f"Sets for {symbol}*, radii in the norm of V. Volume ratio: of the printed set over the posterior's own "
            "ellipsoid of the same probability.",
        )
        page.table(
            [
                "design",
                "n",
                "printed",
                "printed, up to n",
                "corrected",
                "corrected, up to n",
                "posterior radius",
                "posterior's ellipsoid",
                "mass in printed",
                "mass in corrected",
            ],
            covered,
            f"How often the sets for {symbol}* hold it, at n and at all sizes up to n; about the GLSE with the posterior's "
            "radius, and the posterior's own ellipsoid; and the posterior's mass in the printed sets.",
        )
    rows = [
        [
            design,
            int(n),
            *(
                float(of[part].sel(n=n))
                for part in ("total", "union", "scale", "product", "rest", "simultaneity")
            ),
            f"{100 * float(of.share_of_product.sel(n=n)):.0f} %",
        ]
        for design, of in done.owed.items()
        for n in of.n.values
    ]
    page.table(
        [
            "design",
            "n",
            "ρ_n / quantile",
            "union over n",
            "σ²_max for σ_max",
            "product",
            "rest",
            "simultaneity",
            "product's share of ρ_n",
        ],
        rows,
        "What the gap is made of: the first number is the product of the next five, taken off in this order. Product: "
        "α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾), the price of not knowing θ*. Rest: what α⁽²⁾ and the ridge leave above the simultaneous quantile.",
    )


def _with_error(value: Any, error: Any) -> str:
    r"""Return a number and its standard error to as many digits as that has; the number alone where it has none.

    Examples
    --------
    >>> [_with_error(8.3142, error) for error in (0.4312, 0.01234, 0.0)]
    ['8.3\xa0±\xa00.4', '8.314\xa0±\xa00.012', '8.31']
    """
    if not float(error) > 0:
        return f"{float(value):.3g}"
    places = -math.floor(math.log10(float(error)))
    # A leading 1 has another digit after it; cells do not break.
    digits = max(0, places + (float(error) * 10.0**places < 2.0))
    return f"{float(value):.{digits}f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{float(error):.{digits}f}"


def _percent(share: Any) -> str:
    return f"{100 * float(share):.0f} %"


def _error_of_share(number: int) -> str:
    """Return the standard error of a share of ``number`` where the probability is 1 − δ, in points."""
    return f"{100 * np.sqrt(DELTA * (1 - DELTA) / number):.1f}"


def _reneging(page: Report, done: Diagnosis) -> None:
    when = ", ".join(
        f"{truths} after {_listed(of.user.values - 1)} of them" for truths, of in done.predicted.items()
    )
    page.text(
        f"Predictions are for the next user, by what the users before had shown: {when}. p is that of the share as a whole "
        "and all bins being right (t and Wald tests over data sets, twice the smaller). Scores are losses; excess over the "
        "posterior's is paired by data set. Stay: minus the log probability of the whole stay."
    )
    rows, good = [], []
    for truths, table in done.reliability.items():
        scores = done.scores[truths]
        for name in table.predictor.values:
            of, score = table.sel(predictor=name), scores.sel(predictor=name)
            rows.append(
                [
                    truths,
                    str(name),
                    f"{100 * float(of.bias):+.2f} ± {100 * float(of.bias_se):.2f}",
                    *(
                        f"{float(score[kind]):.4g} ({float(score[f'{kind}_excess']):+.2g} ± {float(score[f'{kind}_excess_se']):.2g})"
                        for kind in ("brier", "log", "stay")
                    ),
                    float(of.p_value),
                ]
            )
            good.append(None if float(of.p_value) >= ERROR_RATE else False)
    header = ["truths", "predictor", "observed − said (points)", "Brier", "log score", "stay", "p"]
    page.table(header, rows, "Did users leave after their first round?", good)


def _listed(numbers: Sequence[int]) -> str:
    """Return numbers one by one, where they are few.

    Examples
    --------
    >>> _listed([10, 30, 100]), _listed(range(10, 40, 5))
    ('10, 30 and 100', '10, 15, 20, … and 35')
    """
    *first, last = [f"{number:,}" for number in numbers]
    shown = first if len(first) <= _MOST_LISTED else [*first[:_FIRST_LISTED], "…"]
    return " and ".join(filter(None, [", ".join(shown), last]))


def _outcomes(page: Report, done: Diagnosis) -> None:
    table = done.comparison
    rows = [
        [
            str(name),
            float(of.elpd),
            f"{float(of.ahead):+.1f} ± {float(of.ahead_se):.1f}" if np.isfinite(of.ahead) else None,
            float(of.p_loo),
            f"{100 * float(of.bad_k):.1f} %",
        ]
        for name in table.model.values
        for of in [table.sel(model=name)]
    ]
    page.table(
        ["model", "elpd", f"ahead of {table.attrs['reference']}", "effective parameters", "k̂ above 0.7"],
        rows,
        f"Leave-one-out comparison on {table.attrs['rounds']} rounds of one data set.",
    )


def _estimates(page: Report, done: Diagnosis) -> None:
    rows = [
        [
            truths,
            int(users),
            symbol,
            *(float(of.mse.sel(estimator=name)) for name in ("GLSE", "posterior")),
            f"{float(of.efficiency):.2f} ± {float(of.efficiency_se):.2f}",
            *(float(of.honesty.sel(estimator=name)) for name in ("GLSE", "posterior")),
        ]
        for truths, table in done.efficiency.items()
        for users in table.users.values
        for parameter, symbol in (("theta", "θ"), ("phi", "φ"))
        for of in [table.sel(users=users, parameter=parameter)]
    ]
    page.table(
        [
            "truths",
            "users",
            "of",
            "MSE, GLSE",
            "MSE, posterior mean",
            "efficiency of the GLSE",
            "error / se, GLSE",
            "error / sd, posterior",
        ],
        rows,
        "Mean squared errors, summed over coefficients; efficiency is the second over the first. Error / se: root mean "
        "square, 1 if standard errors mean what they say; empty where the noise has no known fourth moment, without which φ̂ "
        "has no standard errors.",
    )
