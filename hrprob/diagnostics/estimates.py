r"""Bayesian and frequentist estimates side by side, as data arrive.

================  ================================================================
θ̂, φ̂             the GLSE, with the standard errors of its sampling distribution
E[θ], E[φ]        posterior means, with posterior standard deviations
``efficiency``    mean squared error of the posterior mean over that of the GLSE
``error_ratio``   root mean square of error over standard error: 1 if calibrated
================  ================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray

from hrprob import plot
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.drawing import MOST_FEATURES, SYMBOLS
from hrprob.diagnostics.formatting import finite
from hrprob.diagnostics.glse_by_data_set import first_users, glse_by_data_set, why_no_glse
from hrprob.diagnostics.inputs import AT_TRUTH, OVER_PRIOR, SharedInputs
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ESTIMATORS", "Estimates", "EstimatesResult", "compare_estimates", "efficiency"]

ESTIMATORS = ("GLSE", "posterior")
_PARAMETERS = ("theta", "phi")


def compare_estimates(
    problem: Problem, data: DataSets, posteriors: Mapping[int, Posteriors]
) -> xarray.Dataset:
    """Return both estimates of every coefficient in every data set, after some numbers of users.

    Parameters
    ----------
    problem : Problem
        The GLSE needs its link, and the standard errors its noise.
    data : DataSets
        The data sets; the posteriors are those of the first of them.
    posteriors : mapping of int to Posteriors
        By the number of users that the posterior has seen.

    Returns
    -------
    xarray.Dataset
        ``estimate`` and ``se`` over estimator (GLSE, posterior), users, data_set, parameter
        (theta, phi) and feature; ``truth`` over data_set, parameter and feature.
    """
    sets = next(iter(posteriors.values())).theta.shape[0]
    fourth = getattr(problem.noise, "fourth_moment", None)
    estimates, errors = [], []
    for users, draws in posteriors.items():
        theta, phi, theta_se, phi_se = glse_by_data_set(
            first_users(data, users, sets), problem.link, fourth_moment=fourth
        )
        means = [leaf.mean(axis=1) for leaf in draws]
        sds = [leaf.std(axis=1, ddof=1) for leaf in draws]
        estimates.append([np.stack([theta, phi], axis=1), np.stack(means, axis=1)])
        errors.append([np.stack([theta_se, phi_se], axis=1), np.stack(sds, axis=1)])
    dims = ("users", "estimator", "data_set", "parameter", "feature")
    return xarray.Dataset(
        {
            "estimate": (dims, np.array(estimates)),
            "se": (dims, np.array(errors)),
            "truth": (dims[2:], np.stack([leaf[:sets] for leaf in data.truths], axis=1)),
        },
        coords={
            "users": list(posteriors),
            "estimator": list(ESTIMATORS),
            "parameter": ["theta", "phi"],
            "feature": [f"x{j + 1}" for j in range(problem.dimension)],
        },
    )


def efficiency(estimates: xarray.Dataset) -> xarray.Dataset:
    """Return mean squared errors and their ratio, by users and parameter.

    ``efficiency`` is the error of the posterior mean divided by that of the GLSE: below 1 the posterior
    mean is nearer the truth. Its standard error is that of the linearised ratio over data sets.
    ``error_ratio`` is the root mean square of (estimate − truth)/se: 1 if standard errors are calibrated.
    """
    away = estimates.estimate - estimates.truth
    each = (away**2).sum("feature")
    mse = each.mean("data_set")
    glse_error, posterior_error = (each.sel(estimator=name, drop=True) for name in ESTIMATORS)
    ratio = mse.sel(estimator="posterior", drop=True) / mse.sel(estimator="GLSE", drop=True)
    residual = posterior_error - ratio * glse_error
    sets = estimates.sizes["data_set"]
    se = residual.std("data_set", ddof=1) / np.sqrt(sets) / mse.sel(estimator="GLSE", drop=True)
    error_ratio = np.sqrt(((away / estimates.se) ** 2).mean(("data_set", "feature")))
    return xarray.Dataset({"mse": mse, "efficiency": ratio, "efficiency_se": se, "error_ratio": error_ratio})


class EstimatesResult(NamedTuple):
    """Estimates and their errors, by truths: over the prior, and at the truth."""

    estimates: dict[str, xarray.Dataset]  # see compare_estimates
    efficiency: dict[str, xarray.Dataset]  # see efficiency
    left_out: str = ""  # why there is nothing to compare


@register("estimates")
class Estimates(Diagnostic[EstimatesResult]):
    """The GLSE and the posterior mean: mean squared errors, and errors compared with standard errors."""

    title = "Estimates side by side"
    order = 7.0
    needs = ("over_prior", "at_truth")

    def compute(self, inputs: SharedInputs) -> EstimatesResult:
        """Return estimates and their errors, over the prior and at the truth."""
        problem = inputs.study.problem
        why = why_no_glse(problem.link)
        if why:
            return EstimatesResult({}, {}, why)
        estimates = {
            truths: compare_estimates(problem, fitted.data, fitted.posteriors)
            for truths, fitted in ((OVER_PRIOR, inputs.over_prior), (AT_TRUTH, inputs.at_truth))
        }
        return EstimatesResult(estimates, {truths: efficiency(one) for truths, one in estimates.items()})

    def verdicts(self, result: EstimatesResult) -> list[Verdict]:
        """Return which estimate is nearer the truth, by truths."""
        if result.left_out:
            return [Verdict(None, f"Estimates side by side: left out, {result.left_out}", counts=False)]
        return [estimates_verdict(truths, table) for truths, table in result.efficiency.items()]

    def figures(self, result: EstimatesResult) -> list[ReportFigure]:
        """Return both estimates in one data set, and the efficiency of the GLSE."""
        if result.left_out:
            return []
        return [
            ReportFigure(
                "estimates",
                "Both estimates of the coefficients (the first four features at most) as users arrive, in one data set.",
                lambda: plot_estimates(result.estimates[AT_TRUTH]),
            ),
            ReportFigure(
                "efficiency",
                "Efficiency of the GLSE: mean squared error of the posterior mean divided by that of the GLSE, with two "
                "standard errors.",
                lambda: plot_efficiency(result.efficiency),
            ),
        ]

    def write_section(self, page: Page, result: EstimatesResult) -> None:
        """Write mean squared errors, efficiency and error ratios."""
        if result.left_out:
            page.text(f"Left out: {result.left_out}.")
            return
        rows = [
            [
                truths,
                int(users),
                SYMBOLS[parameter],
                *(float(cell.mse.sel(estimator=name)) for name in ESTIMATORS),
                f"{float(cell.efficiency):.2f} ± {float(cell.efficiency_se):.2f}",
                *(float(cell.error_ratio.sel(estimator=name)) for name in ESTIMATORS),
            ]
            for truths, users, parameter, cell in _cells(result.efficiency)
        ]
        errors = ["MSE, GLSE", "MSE, posterior mean", "efficiency of the GLSE"]
        page.table(
            ["truths", "users", "parameter", *errors, "error / se, GLSE", "error / sd, posterior"],
            rows,
            "Mean squared errors, summed over coefficients; efficiency is the second divided by the first. Error / se: "
            "root mean square, 1 if standard errors are calibrated; empty where the noise has no known fourth moment, "
            "without which φ̂ has no standard errors.",
        )

    def to_plain(self, result: EstimatesResult) -> Mapping[str, object]:
        """Return mean squared errors, efficiency and error ratios."""
        return {
            "estimates": [
                {
                    "truths": truths,
                    "users": users,
                    "parameter": parameter,
                    "efficiency": finite(cell.efficiency),
                    "se": finite(cell.efficiency_se),
                }
                | {
                    f"{name.lower()}_{key}": finite(cell[column].sel(estimator=name))
                    for name in ESTIMATORS
                    for key, column in (("mse", "mse"), ("honesty", "error_ratio"))
                }
                for truths, users, parameter, cell in _cells(result.efficiency)
            ]
        }

    def to_datasets(self, result: EstimatesResult) -> Mapping[str, xarray.Dataset]:
        """Return estimates and their errors, by truths."""
        groups: dict[str, xarray.Dataset] = {}
        for truths, table in result.efficiency.items():
            path = f"estimates/{truths.replace(' ', '_')}"
            groups |= {path: result.estimates[truths], f"{path}/efficiency": table}
        return groups


def _cells(tables: Mapping[str, xarray.Dataset]) -> list[tuple[str, int, str, xarray.Dataset]]:
    """Return truths, number of users, parameter and the numbers there, one by one."""
    return [
        (truths, int(users), parameter, table.sel(users=users, parameter=parameter))
        for truths, table in tables.items()
        for users in table.users.values
        for parameter in _PARAMETERS
    ]


def estimates_verdict(truths: str, table: xarray.Dataset) -> Verdict:
    """Return which estimate is nearer the truth, and whose standard errors are calibrated."""
    users = int(table.users[-1])
    parts = []
    for parameter in _PARAMETERS:
        cell = table.sel(users=users, parameter=parameter)
        errors = " and ".join(
            f"{float(ratio):.2f} ({ratio.estimator.item()})"
            for ratio in cell.error_ratio
            if np.isfinite(ratio)  # not where the noise has no fourth moment
        )
        parts.append(
            f"for {SYMBOLS[parameter]} the GLSE has efficiency {float(cell.efficiency):.2f} ± "
            f"{float(cell.efficiency_se):.2f}, and errors are {errors} of their standard errors"
        )
    return Verdict(None, f"After {users} users, {truths}: {'; '.join(parts)}", counts=False)


def plot_estimates(estimates: xarray.Dataset, data_set: int = 0) -> Figure:
    """Draw both estimates of every coefficient in one data set, with their standard errors, as users arrive."""
    from matplotlib.figure import Figure

    one_set = estimates.isel(data_set=data_set)
    features = [str(name) for name in one_set.feature.values[:MOST_FEATURES]]
    with plot.style():
        figure = Figure(figsize=(plot.PAGE_WIDTH, 3.3), layout="constrained")
        panels = figure.subplots(2, len(features), sharex=True, sharey="row", squeeze=False)
        for row, parameter in zip(panels, _PARAMETERS, strict=True):
            for axes, feature in zip(row, features, strict=True):
                coefficient = one_set.sel(parameter=parameter, feature=feature)
                for number, name in enumerate(estimates.estimator.values):
                    one = coefficient.sel(estimator=name)
                    look = plot.look_of(number)
                    axes.fill_between(
                        one.users, one.estimate - one.se, one.estimate + one.se, color=look.color, alpha=0.15
                    )
                    axes.plot(one.users, one.estimate, color=look.color, marker=look.marker, label=str(name))
                axes.axhline(
                    float(coefficient.truth), color="#000000", linewidth=0.8, linestyle="--", label="truth"
                )
                axes.set_xscale("log")
                plot.label_plainly(axes.xaxis, one_set.users.values)
                axes.set_title(f"{SYMBOLS[parameter]}, {feature}", loc="left", fontsize=7)
        for axes in panels[-1]:
            axes.set_xlabel("users")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        title = "bands: one standard error"
        if np.isnan(one_set.se).any():
            title += "; none of the GLSE for φ, as the noise has no known fourth moment"
        figure.legend(handles, labels, loc="outside lower center", ncols=3, title=title, title_fontsize=7)
    return figure


def plot_efficiency(tables: Mapping[str, xarray.Dataset]) -> Figure:
    """Draw the mean squared error of the posterior mean divided by that of the GLSE, as users arrive."""
    from matplotlib.figure import Figure

    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 2.3), layout="constrained")
        axes = figure.subplots()
        for row, (truths, table) in enumerate(tables.items()):
            for column, parameter in enumerate(_PARAMETERS):
                curve = table.sel(parameter=parameter)
                look = plot.look_of(2 * row + column)
                axes.errorbar(
                    curve.users,
                    curve.efficiency,
                    yerr=2 * curve.efficiency_se,
                    color=look.color,
                    marker=look.marker,
                    linestyle=look.linestyle,
                    capsize=2,
                    label=f"{SYMBOLS[parameter]}, {truths}",
                )
        axes.axhline(1, color="#000000", linewidth=0.7)
        axes.set(xscale="log", xlabel="users", ylabel="squared error,\nposterior mean over GLSE")
        plot.label_plainly(
            axes.xaxis, sorted({int(users) for table in tables.values() for users in table.users})
        )
        axes.set_ylim(bottom=0)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
