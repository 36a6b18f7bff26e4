r"""Sampler health: diagnostics of each engine on one data set.

============  ============================================================================
engine        diagnostics
============  ============================================================================
nuts          R-hat, bulk and tail effective sample size, Monte Carlo error, divergences, and
              the energy: the Bayesian fraction of missing information of each chain [1]_
laplace, svi  Pareto k̂ and the effective sample size of their importance weights; where draws
              were refined, the same as for smc
smc           R-hat and Monte Carlo error between independent sets of particles, and the
              effective sample size that corresponds to these errors
============  ============================================================================

References
----------
.. [1] M. Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo",
   arXiv:1701.02434, 2017.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray

from hrprob import plot
from hrprob._core.formatting import format_number
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.drawing import MOST_FEATURES, indices_of_smallest
from hrprob.diagnostics.formatting import finite, largest, smallest
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.estimation.posterior.inference import export
from hrprob.fitting import concerns
from hrprob.fitting.concerns import Concern
from hrprob.fitting.posterior import Posterior

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection
    from matplotlib.figure import Figure

__all__ = ["LEAST_BFMI", "Health", "HealthResult", "health_concerns", "sampler_health"]

LEAST_BFMI = 0.3
_COLUMNS = ("mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail")
_COEFFICIENTS = ["theta", "phi"]
# Panels of chains per row, and the height of a row in inches.
_CHAINS_PER_ROW, _CHAINS_HEIGHT = 4, 1.8
# Draws per chain that are ranked at least, however strong their autocorrelation.
_LEAST_RANKED = 100


def sampler_health(posteriors: Mapping[str, Posterior]) -> xarray.Dataset:
    """Return the diagnostics of engines.

    Parameters
    ----------
    posteriors : mapping of str to Posterior
        Posteriors of the same data, by the name of the engine.

    Returns
    -------
    xarray.Dataset
        Over engine and parameter: ``mean``, ``sd``, ``mcse``, ``rhat``, ``ess_bulk``,
        ``ess_tail``; over engine: ``divergences``, ``bfmi`` (smallest over chains), ``pareto_k``,
        ``effective`` draws, ``draws``. NaN where an engine has no such number.
    """
    tables = {name: posterior.summary() for name, posterior in posteriors.items()}
    parameters = next(iter(tables.values())).parameter.values

    def column(table: xarray.Dataset, name: str) -> np.ndarray:
        return table[name].values if name in table else np.full(len(parameters), np.nan)

    facts = {name: _facts(posterior, tables[name]) for name, posterior in posteriors.items()}
    return xarray.Dataset(
        {
            name: (("engine", "parameter"), np.stack([column(table, name) for table in tables.values()]))
            for name in _COLUMNS
        }
        | {
            name: ("engine", np.array([getattr(of_engine, name) for of_engine in facts.values()]))
            for name in _Facts._fields
        },
        coords={"engine": list(tables), "parameter": parameters},
    )


class _Facts(NamedTuple):
    """Numbers that describe all draws of an engine together."""

    draws: float
    divergences: float
    bfmi: float
    pareto_k: float
    effective: float


def _facts(posterior: Posterior, table: xarray.Dataset) -> _Facts:
    draws = posterior.theta.shape[0] * posterior.theta.shape[1]
    k = posterior.pareto_k
    if k is not None:
        effective = posterior.reweight().effective
    elif "ess_bulk" in table:
        effective = float(table.ess_bulk.min())
    else:
        effective = float(np.min((table["sd"] / table["mcse"]) ** 2))
    return _Facts(
        draws=float(draws),
        divergences=math.nan if posterior.divergences is None else float(posterior.divergences),
        bfmi=_bfmi(posterior),
        pareto_k=math.nan if k is None else k,
        effective=effective,
    )


def _bfmi(posterior: Posterior) -> float:
    import arviz_stats
    from arviz_base import from_dict

    energy = posterior.statistics.get("energy")
    if energy is None:
        return math.nan
    tree = from_dict({"sample_stats": {"energy": np.asarray(energy)}})
    return float(np.min(np.asarray(arviz_stats.bfmi(tree)["energy"])))  # type: ignore[attr-defined]


def health_concerns(posterior: Posterior) -> list[Concern]:
    """Return reasons not to trust the draws; empty if there are none."""
    found = concerns.concerns(posterior)
    bfmi = _bfmi(posterior)
    if bfmi < LEAST_BFMI:
        words = (
            f"the fraction of missing information is {bfmi:.2f}, below {LEAST_BFMI}: the energy moves too "
        )
        found.append(Concern(words + "slowly to explore the tails; raise `warmup` and `draws`"))
    return found


class HealthResult(NamedTuple):
    """Posteriors of one data set by several engines, with the diagnostics of each."""

    posteriors: dict[str, Posterior]  # by engine, the reference sampler first
    table: xarray.Dataset  # see sampler_health
    concerns: dict[str, list[Concern]]  # by engine


@register("health")
class Health(Diagnostic[HealthResult]):
    """R-hat, effective sample sizes, divergences, energy and Pareto k̂ of engines on one data set."""

    title = "The samplers"
    order = 3.0
    needs = ("engine_posteriors", "reference")

    def compute(self, inputs: SharedInputs) -> HealthResult:
        """Return the diagnostics of the reference sampler and the other engines."""
        posteriors = {inputs.reference_engine.kind: inputs.reference} | inputs.engine_posteriors
        found = {engine: health_concerns(posterior) for engine, posterior in posteriors.items()}
        return HealthResult(posteriors, sampler_health(posteriors), found)

    def verdicts(self, result: HealthResult) -> list[Verdict]:
        """Return whether each engine's draws can be used."""
        return [health_verdict(name, result.table, result.concerns[name]) for name in result.posteriors]

    def figures(self, result: HealthResult) -> list[ReportFigure]:
        """Return the chains of the reference sampler: traces, ranks, energy."""
        name, posterior = next(iter(result.posteriors.items()))

        def draw(plot: Callable[[xarray.DataTree], Figure | None]) -> Callable[[], Figure | None]:
            # A Posterior has the fields of Draws that are exported.
            return lambda: plot(export(posterior))  # type: ignore[arg-type]

        return [
            ReportFigure(
                "trace",
                f"Chains of {name} on one data set (ArviZ): θ and φ, of more than four features those with the "
                "largest R-hat.",
                draw(plot_trace),
            ),
            ReportFigure(
                "rank",
                "Ranks of each chain's draws among all, minus the diagonal, with a simultaneous band or its p-value "
                "(ArviZ), for the same coefficients; draws are thinned to about their effective number.",
                draw(plot_rank),
            ),
            ReportFigure(
                "energy",
                "Energy of the chains: the fraction of missing information, and marginal energy compared with "
                "transition energy (ArviZ).",
                draw(plot_energy),
            ),
        ]

    def write_section(self, page: Page, result: HealthResult) -> None:
        """Write one row per engine."""
        numbers = ("divergences", "bfmi", "pareto_k", "effective")
        rows = [
            [
                str(engine),
                int(row.draws),
                largest(row.rhat),
                smallest(row.ess_bulk),
                smallest(row.ess_tail),
                largest(row.mcse / row["sd"]),
                *(float(row[name]) for name in numbers),
            ]
            for engine in result.table.engine.values
            for row in [result.table.sel(engine=engine)]
        ]
        worst = ["R-hat", "bulk ESS", "tail ESS", "MCSE / sd"]
        header = ["engine", "draws", *worst, "divergences", "BFMI", "Pareto k̂", "effective"]
        rounds = len(next(iter(result.posteriors.values())).table)
        page.table(header, rows, f"On one data set of {rounds} rounds; the worst of all parameters.")

    def to_plain(self, result: HealthResult) -> Mapping[str, object]:
        """Return the worst numbers of each engine."""
        numbers = ("draws", "divergences", "bfmi", "pareto_k", "effective")
        return {
            "health": [
                {"engine": str(engine)}
                | {name: finite(row[name]) for name in numbers}
                | {"rhat": largest(row.rhat), "mcse_over_sd": largest(row.mcse / row["sd"])}
                | {name: smallest(row[name]) for name in ("ess_bulk", "ess_tail")}
                for engine in result.table.engine.values
                for row in [result.table.sel(engine=engine)]
            ]
        }

    def to_datasets(self, result: HealthResult) -> Mapping[str, xarray.Dataset]:
        """Return the table."""
        return {"health": result.table}


def health_verdict(name: str, table: xarray.Dataset, concerns: list[Concern]) -> Verdict:
    """Return whether an engine's draws can be used; undecided where it only drew too few."""
    row = table.sel(engine=name)
    words = "; ".join(concern.words for concern in concerns)
    if concerns and all(concern.short for concern in concerns):
        return Verdict(
            None, f"{name}, {format_number(float(row.draws), 0)} draws: {words}, or run without --quick"
        )
    if concerns:
        return Verdict(False, f"{name}: {words}")
    facts = []
    if not np.isnan(row.rhat.values).all():
        facts.append(f"R-hat at most {float(row.rhat.max()):.3f}")
    if not np.isnan(row.ess_bulk.values).all():
        facts.append(
            f"effective sample size at least {format_number(float(row.ess_bulk.min()), 0)} (bulk) and "
            f"{format_number(float(row.ess_tail.min()), 0)} (tail) of {format_number(float(row.draws), 0)}"
        )
    if np.isfinite(row.divergences):
        facts.append(f"no divergence, fraction of missing information {float(row.bfmi):.2f}")
    if np.isfinite(row.pareto_k):
        facts.append(f"Pareto k̂ {float(row.pareto_k):.2f}")
    if np.isnan(row.ess_bulk.values).all():
        facts.append(
            f"worth {format_number(float(row.effective), 0)} of {format_number(float(row.draws), 0)} draws"
        )
    return Verdict(True, f"{name} is sound: {', '.join(facts)}")


def plot_trace(tree: xarray.DataTree) -> Figure:
    """Draw the trace of each chain, by ArviZ."""
    import arviz_plots

    return _drawn(arviz_plots.plot_trace, tree, var_names=_COEFFICIENTS, **_worst_features(tree))


def plot_rank(tree: xarray.DataTree, prob: float = 0.99) -> Figure | None:
    """Draw the ranks of each chain's draws among those of all, by ArviZ; None for a single chain."""
    import arviz_plots

    if tree["posterior"].sizes["chain"] == 1:
        return None
    options = {_probability_option(arviz_plots.plot_rank): prob}
    return _drawn(arviz_plots.plot_rank, _thinned(tree), **options, **_worst_features(tree))


def plot_energy(tree: xarray.DataTree) -> Figure | None:
    """Draw the energy of each chain and its steps, by ArviZ; None where a sampler has none."""
    import arviz_plots
    from matplotlib.ticker import MaxNLocator

    if "energy" not in tree["sample_stats"]:
        return None
    size = {"figure_kwargs": {"figsize": (plot.COLUMN_WIDTH, 2.2)}}
    figure = _drawn(arviz_plots.plot_energy, tree, **size)
    figure.axes[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _worst_features(tree: xarray.DataTree) -> dict[str, object]:
    """Return options for ArviZ: of many features those with the largest R-hat, and the size of the figure."""
    import arviz_stats

    every: xarray.Dataset = tree["posterior"].to_dataset()[_COEFFICIENTS]
    features = every.feature.values
    if len(features) > MOST_FEATURES:
        rhat = arviz_stats.rhat  # type: ignore[attr-defined]
        worst = rhat(every).to_array().max("variable").fillna(np.inf)
        features = features[indices_of_smallest(-worst.values, MOST_FEATURES)]
    rows = -(-len(_COEFFICIENTS) * len(features) // _CHAINS_PER_ROW)
    return {
        "coords": {"feature": list(features)},
        "col_wrap": _CHAINS_PER_ROW,
        "figure_kwargs": {"figsize": (plot.PAGE_WIDTH, _CHAINS_HEIGHT * rows)},
    }


def _thinned(tree: xarray.DataTree) -> xarray.DataTree:
    """Return about as many draws as are effective, at least a hundred per chain: bands are for independent draws.

    The effective size is that of each chain alone: thinning must not hide that chains disagree.
    """
    import arviz_stats

    ess = arviz_stats.ess  # type: ignore[attr-defined]
    every: xarray.Dataset = tree["posterior"].to_dataset()[_COEFFICIENTS]
    draws = every.sizes["draw"]
    by_chain = [float(ess(every.isel(chain=[one])).to_array().min()) for one in range(every.sizes["chain"])]
    effective = float(np.mean(by_chain))
    ratio = draws if math.isnan(effective) else draws / effective
    step = max(1, min(round(ratio), draws // _LEAST_RANKED))
    return xarray.DataTree.from_dict({"posterior": every.isel(draw=slice(None, None, step))})


def _probability_option(function: Callable[..., object]) -> str:
    """Return the name that this version of ArviZ has for the probability of a band."""
    return "envelope_prob" if "envelope_prob" in inspect.signature(function).parameters else "ci_prob"


def _drawn(function: Callable[..., PlotCollection], tree: xarray.DataTree, **options: object) -> Figure:
    """Return the figure that ArviZ draws, and make pyplot forget it."""
    from matplotlib import pyplot

    with plot.style(), warnings.catch_warnings():
        # ArviZ announces that some of its defaults will change.
        warnings.simplefilter("ignore", FutureWarning)
        collection = function(tree, backend="matplotlib", **options)
        figure: Figure = collection.viz["figure"].item()
        figure.set_layout_engine("constrained")
    pyplot.close(figure)
    return figure
