r"""Do outcomes look as the model says? Checks of the model on one data set, and other models.

- **LOO-PIT**: the PIT of each outcome under its predictive distribution given all others,
  by importance sampling [1]_; uniform if the model holds.
- **Residuals**: e = (r − θᵀx)/√f(φᵀx) of the data, compared with those of posterior
  predictive data: skewness, excess kurtosis, the largest |e|.
- **Models** compared by the expected log predictive density of a new round, see
  :mod:`.model_comparison`.

Users leave because of their outcomes, so the last outcome of a stay lies below β and the
others above. Over whole stays this causes no bias: the number of rounds is a stopping time, and
every outcome has its full distribution given those before it.

References
----------
.. [1] A. Vehtari, A. Gelman, J. Gabry, "Practical Bayesian model evaluation using
   leave-one-out cross-validation and WAIC", Statistics and Computing 27, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray
from scipy import stats

from hrprob import plot
from hrprob._core.formatting import format_number, p_is, percent, signed
from hrprob._core.precision import double_precision
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.drawing import plot_pit
from hrprob.diagnostics.formatting import finite
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.model_comparison import MODELS, compare_models, log_likelihood_tree
from hrprob.diagnostics.power import ERROR_RATE
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting import predictive
from hrprob.fitting.checks.leaving_out import pareto_weights
from hrprob.fitting.checks.predictions import detectable_scale
from hrprob.models import Setting, make_model
from hrprob.numerics.power import detectable_difference
from hrprob.numerics.uniformity import dependent_uniformity_p_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STATISTICS", "Outcomes", "OutcomesResult", "loo_pit", "residual_checks"]

STATISTICS = {
    "skewness": stats.skew,
    "excess kurtosis": stats.kurtosis,
    "largest |e|": lambda e, axis: np.max(np.abs(e), axis=axis),
}
# Checks that would only detect more than these are undecided: a factor of predictive sds, an excess kurtosis.
_MOST_SCALE, _MOST_KURTOSIS = 1.3, 1.5
# A lead of another model that matters, in log density per round: what predictive sds off by a factor of 1.2 lose.
_MOST_LEAD = 0.03
# Share of rounds with unreliable leave-one-out weights beyond which a comparison cannot speak for a model.
_MOST_UNRELIABLE = 0.01


def loo_pit(tree: xarray.DataTree, target: Target) -> tuple[np.ndarray, float]:
    """Return the PIT of each outcome under its leave-one-out predictive distribution, and the p-value of uniformity.

    The PIT is a weighted mean of exact distribution functions: a share of simulated outcomes could be exactly 0
    or 1, which is impossible under uniformity.

    Parameters
    ----------
    tree : DataTree
        With ``posterior``, ``log_likelihood``, ``observed_data`` and ``constant_data``.
    target : Target
        Gives the distribution of an outcome for a draw.
    """
    density = np.asarray(tree["log_likelihood"]["r"])
    draws = {
        str(name): np.asarray(values).reshape(-1, *values.shape[2:])
        for name, values in tree["posterior"].data_vars.items()
    }
    x, r = np.asarray(tree["constant_data"]["x"]), np.asarray(tree["observed_data"]["r"])
    log_weight, _ = pareto_weights(-density.reshape(-1, r.size))
    below = predictive.reneging(target, x, r, draws)
    pit = np.clip(np.sum(np.exp(log_weight) * below, axis=0), 0.0, 1.0)
    # LOO-PIT values are dependent.
    return pit, dependent_uniformity_p_value(pit)


def residual_checks(tree: xarray.DataTree, setting: Setting, draws: int = 500) -> xarray.Dataset:
    """Return statistics of the shape of residuals: of the data and of posterior predictive data.

    Parameters
    ----------
    tree : DataTree
        With ``posterior``, ``posterior_predictive``, ``observed_data`` and ``constant_data``.
    setting : Setting
        Gives mean and variance of outcomes for a draw.
    draws : int
        Draws used, at most.

    Returns
    -------
    xarray.Dataset
        Over statistic and draw: ``observed`` (it depends on the draw) and ``replicated``; over
        statistic: ``p_value``, the posterior predictive probability of a larger statistic than that of the data.
    """
    posterior = tree["posterior"]
    theta, phi = (np.asarray(posterior[name]).reshape(-1, setting.dimension) for name in ("theta", "phi"))
    replicated = np.asarray(tree["posterior_predictive"]["r"]).reshape(len(theta), -1)
    picks = np.linspace(0, len(theta) - 1, min(draws, len(theta))).astype(int)
    x, r = np.asarray(tree["constant_data"]["x"]), np.asarray(tree["observed_data"]["r"])
    mean = theta[picks] @ x.T
    with double_precision():
        sd = np.sqrt(np.asarray(setting.variance(jnp.asarray(phi[picks] @ x.T))))
    both = ((r - mean) / sd, (replicated[picks] - mean) / sd)
    observed, predictive = (
        np.stack([statistic(e, axis=1) for statistic in STATISTICS.values()]) for e in both
    )
    return xarray.Dataset(
        {
            "observed": (("statistic", "draw"), observed),
            "replicated": (("statistic", "draw"), predictive),
            "p_value": ("statistic", np.mean(predictive >= observed, axis=1)),
        },
        coords={"statistic": list(STATISTICS)},
        attrs={"rounds": r.size},
    )


class OutcomesResult(NamedTuple):
    """Checks of the model in use on one data set, and its comparison with other models."""

    model: str
    reference: xarray.DataTree  # posterior of the model in use, with pointwise log likelihood
    loo: xarray.Dataset  # pit over round, p_value
    residuals: xarray.Dataset  # see residual_checks
    comparison: xarray.Dataset  # see compare_models


@register("outcomes")
class Outcomes(Diagnostic[OutcomesResult]):
    """LOO-PIT and residuals of the model in use, and its comparison with other outcome models."""

    title = "Outcomes"
    order = 6.0
    needs = ("one_data_set", "reference")

    def own_steps(self, inputs: SharedInputs) -> int:
        """Return one step, for the other models."""
        return 1

    def compute(self, inputs: SharedInputs) -> OutcomesResult:
        """Return all checks."""
        model = inputs.study.target.model.kind
        others = _fit_other_models(inputs)
        reference = inputs.reference.to_datatree(pointwise=True, prior=False)
        pit, p_value = loo_pit(reference, inputs.study.target)
        return OutcomesResult(
            model,
            reference,
            xarray.Dataset({"pit": ("round", pit), "p_value": ((), p_value)}),
            residual_checks(reference, inputs.study.target.setting),
            compare_models({model: reference} | others, model),
        )

    def verdicts(self, result: OutcomesResult) -> list[Verdict]:
        """Return whether outcomes look as the model says, and whether another model predicts better."""
        checks = residual_verdicts(result.model, result.residuals, float(result.loo.p_value))
        return [*checks, model_verdict(result.comparison)]

    def error_families(self, result: OutcomesResult) -> int:
        """Return three: LOO-PIT, residuals, models."""
        return 3

    def figures(self, result: OutcomesResult) -> list[ReportFigure]:
        """Return LOO-PIT, residuals, and the comparison of models."""
        return [
            ReportFigure(
                "loo",
                "Leave-one-out PIT of single outcomes: ECDF minus the diagonal, with a 99 % simultaneous band.",
                lambda: plot_pit({"outcomes": result.loo.pit.values}, ERROR_RATE),
            ),
            ReportFigure(
                "residuals",
                "Shape of the standardised residuals: of posterior predictive data, and of the data.",
                lambda: plot_residuals(result.residuals),
            ),
            ReportFigure(
                "models",
                "Expected log predictive density of a new round, minus that of the model in use.",
                lambda: plot_models(result.comparison),
            ),
        ]

    def write_section(self, page: Page, result: OutcomesResult) -> None:
        """Write the comparison of models."""
        table = result.comparison
        rows = [
            [
                str(name),
                float(row.elpd),
                f"{signed(row.ahead, 1)} ± {float(row.ahead_se):.1f}" if np.isfinite(row.ahead) else None,
                float(row.p_loo),
                f"{100 * float(row.bad_k):.1f} %",
            ]
            for name in table.model.values
            for row in [table.sel(model=name)]
        ]
        page.table(
            ["model", "elpd", f"ahead of {table.attrs['reference']}", "effective parameters", "k̂ above 0.7"],
            rows,
            f"Leave-one-out comparison on {table.attrs['rounds']} rounds of one data set.",
        )

    def to_plain(self, result: OutcomesResult) -> Mapping[str, object]:
        """Return p-values, and the comparison of models."""
        p_values, table = result.residuals.p_value, result.comparison
        return {
            "outcomes": {
                "loo_pit_p_value": finite(result.loo.p_value),
                "residuals": {
                    str(name): finite(p_values.sel(statistic=name)) for name in p_values.statistic.values
                },
                "models": [
                    {"model": str(name)}
                    | {
                        str(column): finite(values.sel(model=name))
                        for column, values in table.data_vars.items()
                    }
                    for name in table.model.values
                ],
            }
        }

    def to_datasets(self, result: OutcomesResult) -> Mapping[str, xarray.Dataset]:
        """Return all checks, and the draws behind them."""
        return {
            "outcomes/models": result.comparison,
            "outcomes/residuals": result.residuals,
            "outcomes/loo": result.loo,
            "posterior": result.reference["posterior"].to_dataset(),
            "sample_stats": result.reference["sample_stats"].to_dataset(),
        }


def _fit_other_models(inputs: SharedInputs) -> dict[str, xarray.DataTree]:
    """Return draws and pointwise log likelihoods of the models that the one in use is compared with."""
    target, table = inputs.study.target, inputs.one_data_set
    with inputs.step(f"models on one data set of {len(table)} rounds"):
        names = [name for name in inputs.sizes.models if name != target.model.kind]
        sampler = make_engine(inputs.reference_settings | {"chains": 2, "depth": 6})
        targets = [Target(make_model(MODELS[name]), target.prior, target.setting) for name in names]
        fitted = inputs.fit_one("models on one data set", [(sampler, one) for one in targets])
        return {name: log_likelihood_tree(one) for name, one in zip(names, fitted, strict=True)}


def model_verdict(comparison: xarray.Dataset) -> Verdict:
    """Return whether another model predicts outcomes better than the one in use."""
    name = comparison.attrs["reference"]
    finite_ones = np.isfinite(comparison.elpd) & np.isfinite(comparison.ahead)
    unknown = [str(model) for model in comparison.model.values[~finite_ones.values]]
    rivals = [str(model) for model in comparison.model.values[finite_ones.values] if model != name]
    if not rivals or not bool(np.isfinite(comparison.elpd.sel(model=name))):
        named = [name] if not np.isfinite(comparison.elpd.sel(model=name)) else unknown
        return Verdict(None, _not_compared(named))
    others = comparison.sel(model=rivals)
    best = others.isel(model=int(np.argmax(others.ahead.values)))
    rival, ahead = best.model.item(), float(best.ahead)
    # By Markov's inequality a likelihood ratio against the true model exceeds 1/α with probability α at most, and
    # one of k ratios exceeds k/α with that probability; leave-one-out sums stand in for the log likelihoods.
    # Counting standard errors would fail where it matters: one outlier makes both the lead and its error large.
    enough = math.log((comparison.sizes["model"] - 1) / ERROR_RATE)
    unreliable = float(comparison.bad_k.sel(model=[name, rival]).max())
    rounds = int(comparison.attrs["rounds"])
    lead = f"{abs(ahead):.1f} ± {float(best.ahead_se):.1f} in log density, of {rounds} rounds"
    most = _MOST_LEAD * rounds
    excluded = float((others.ahead + stats.norm.isf(ERROR_RATE / len(rivals)) * others.ahead_se).max())
    rest = (
        f"; leads above {format_number(max(excluded, 0.0), 1)} are excluded with probability {percent(1 - ERROR_RATE)}, and "
        f"{format_number(most, 1)} would matter; a lead of {format_number(enough, 1)} would be significant"
    )
    rest = rest if ahead <= enough else ""
    rest += f". {_not_compared(unknown)}" if unknown else ""
    if unreliable:
        rest += f". Leave-one-out weights are unreliable (k̂ above 0.7) for {100 * unreliable:.1f} % of rounds"
    if ahead > enough:
        words = f"{rival} outcomes predict new rounds better than {name} ones, by {lead}"
        return Verdict(False, f"{words}: the model in use does not fit{rest}")
    decided = excluded <= most and not unknown and unreliable <= _MOST_UNRELIABLE
    if ahead > 0:
        words = f"{rival} outcomes predict new rounds a little better than {name} ones, by {lead}"
    else:
        words = f"No model predicts new rounds better than {name} outcomes: the next, {rival}, is behind by {lead}"
    return Verdict(decided or None, words + rest)


def _not_compared(models: list[str]) -> str:
    words = f"Predictions of new rounds by {' and '.join(models)} outcomes could not be compared"
    return f"{words}: their log density is not finite"


def residual_verdicts(model: str, checks: xarray.Dataset, loo_p: float) -> list[Verdict]:
    """Return whether outcomes look as the model says: LOO-PIT, then the shape of residuals."""
    p = np.minimum(checks.p_value, 1.0 - checks.p_value)
    limit = ERROR_RATE / (2 * p.size)
    extreme = [str(name) for name in checks.statistic.values[p.values < limit]]
    listed = ", ".join(
        f"{name} p = {float(value):.3f}"
        for name, value in zip(checks.statistic.values, checks.p_value, strict=True)
    )
    conclusion = f"{', '.join(extreme)} not as the model says" if extreme else "none is extreme"
    rounds = int(checks.attrs["rounds"])
    scale = detectable_scale(rounds, ERROR_RATE)
    skewness, kurtosis = _detectable(6.0 / rounds, limit), _detectable(24.0 / rounds, limit)
    pit, residuals = (
        f"Leave-one-out PIT of outcomes under {model}: {{}} ({p_is(loo_p)}, level {percent(ERROR_RATE)})",
        f"Residuals under {model} outcomes: {listed}; {conclusion}",
    )
    seen = f"{rounds} rounds would detect predictive sds off by a factor of {scale:.2f}"
    uniform = Verdict(
        scale <= _MOST_SCALE or None, pit.format(f"not significantly different from uniform, and {seen}")
    )
    known = (
        f"; {rounds} rounds would detect a skewness of {skewness:.1f} or an excess kurtosis of {kurtosis:.1f}"
    )
    return [
        uniform if loo_p >= ERROR_RATE else Verdict(False, pit.format("NOT uniform")),
        Verdict(False, residuals)
        if extreme
        else Verdict(kurtosis <= _MOST_KURTOSIS or None, residuals + known),
    ]


def _detectable(variance: float, limit: float) -> float:
    """Return the skewness or kurtosis of residuals that is detected, by its variance under normality (6/n, 24/n)."""
    return detectable_difference(math.sqrt(variance), math.inf, 2 * limit)


def plot_residuals(checks: xarray.Dataset) -> Figure:
    """Draw statistics of residuals: of posterior predictive data, and of the data."""
    from matplotlib.figure import Figure

    with plot.style():
        figure = Figure(figsize=(plot.PAGE_WIDTH, 1.9), layout="constrained")
        panels = figure.subplots(1, checks.sizes["statistic"], squeeze=False)[0]
        for axes, name in zip(panels, checks.statistic.values, strict=True):
            one = checks.sel(statistic=name)
            observed, replicated = one.observed.values, one.replicated.values
            values = np.concatenate([replicated, observed])
            edges = np.linspace(values.min(), values.max(), 31)
            axes.hist(replicated, edges, color="#BBBBBB", label="posterior predictive")
            colour, label = plot.look_of(1).color, "data, at each draw"
            axes.hist(observed, edges, histtype="step", color=colour, label=label)
            axes.set_title(f"{name}: p = {float(one.p_value):.3f}", loc="left", fontsize=7)
            axes.set_yticks([])
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def plot_models(comparison: xarray.Dataset) -> Figure:
    """Draw how far each model is ahead of the reference in expected log predictive density."""
    from matplotlib.figure import Figure

    names = [str(name) for name in comparison.model.values]
    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 0.7 + 0.22 * len(names)), layout="constrained")
        axes = figure.subplots()
        rows = np.arange(len(names))
        axes.axvline(0, color="#000000", linewidth=0.7)
        axes.errorbar(comparison.ahead, rows, xerr=2 * comparison.ahead_se, fmt="o", capsize=2)
        axes.set_yticks(rows, names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(
            f"log predictive density ahead of {comparison.attrs['reference']},\ntwo standard errors"
        )
        axes.grid(axis="y", visible=False)
    return figure
