r"""Simulation-based calibration: whether an engine computes the posterior.

Truths are drawn from the prior, data from the model given each truth, and an engine is
fitted to each data set. If the engine computes the posterior, the rank of the truth among
its draws is uniform, for every quantity that is a function of truth and data [1]_:

==========  ====================================================================
quantity    definition
==========  ====================================================================
θ_j, φ_j    the coefficients
σ²(x)       f(φᵀx) at a fresh context, and at the one that is served next
h           the expected lifetime there, at the level of a fresh, of the next user
ln p(data)  the log likelihood of the data set, which depends on truth and data [2]_
==========  ====================================================================

Ranks are divided by the number of draws and randomised, so that they lie in [0, 1] (PIT).
The p-values of one engine at one number of users are adjusted together, so that there a
sound engine fails any of its tests with a stated probability at most. The p-values of several
engines or numbers of users are not adjusted for each other.

References
----------
.. [1] S. Talts, M. Betancourt, D. Simpson, A. Vehtari, A. Gelman, "Validating Bayesian
   inference algorithms with simulation-based calibration", arXiv:1804.06788, 2018.
.. [2] M. Modrák, A. H. Moon, S. Kim, P. Bürkner, N. Huurre, K. Faltejsková, A. Gelman, A. Vehtari,
   "Simulation-based calibration checking for Bayesian computation: the choice of test quantities
   shapes sensitivity", arXiv:2211.02383, 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob import lifetime, plot
from hrprob._core.formatting import p_is, percent
from hrprob.diagnostics.base import Diagnostic, Page, ReportFigure, Verdict, register
from hrprob.diagnostics.data_likelihood import log_likelihoods
from hrprob.diagnostics.drawing import (
    MOST_QUANTITIES,
    indices_of_smallest,
    pass_colour,
    plot_pit,
    uniformity_p_values,
)
from hrprob.diagnostics.inputs import OVER_PRIOR, SharedInputs
from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.diagnostics.power import ERROR_RATE, describe_detectable_shift
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.multiple_testing import holm
from hrprob.numerics.uniformity import pit_among
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, check_fresh, check_users

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SBC", "SBCResult", "quantities", "ranks", "uniformity_tests"]


def quantities(dimension: int) -> list[str]:
    """Return the names of the quantities that are ranked.

    Examples
    --------
    >>> quantities(1)
    ['θ1', 'φ1', 'σ²(x)', 'σ²(x) served', 'h', 'h served', 'ln p(data)']
    """
    coefficients = [f"{symbol}{j + 1}" for symbol in "θφ" for j in range(dimension)]
    return [*coefficients, "σ²(x)", "σ²(x) served", "h", "h served", "ln p(data)"]


def ranks(
    problem: Problem, target: Target, data: DataSets, posteriors: Mapping[int, Posteriors], seed: int = 0
) -> xarray.DataArray:
    """Return the rank in [0, 1] of each true quantity among its draws, over users, quantity and data set.

    Parameters
    ----------
    problem : Problem
        Its link and noise turn true parameters into variances and lifetimes.
    target : Target
        Its setting and model do so for draws.
    data : DataSets
        Data sets with fresh contexts, and with one user more than the largest number in ``posteriors``.
    posteriors : mapping of int to Posteriors
        By the number of users that the posterior has seen.
    seed : int
        Breaks ties.
    """
    check_users(posteriors, data)
    check_fresh(data)
    rng = np.random.default_rng(seed)
    ranked = [_ranks_at(problem, target, data, users, draws, rng) for users, draws in posteriors.items()]
    return xarray.DataArray(
        np.stack(ranked),
        dims=("users", "quantity", "data_set"),
        coords={"users": list(posteriors), "quantity": quantities(problem.dimension)},
        name="rank",
    )


def _ranks_at(
    problem: Problem, target: Target, data: DataSets, users: int, draws: Posteriors, rng: np.random.Generator
) -> np.ndarray:
    sets = draws.theta.shape[0]
    theta, phi = (leaf[:sets] for leaf in data.truths)
    # The first fresh context, and the one that the policy picks after these users.
    x = np.stack([data.fresh[:sets, 0], np.asarray(data.stays.x)[:sets, users]], axis=1)
    beta = np.stack([data.fresh_beta[:sets, 0], data.beta[:sets, users]], axis=1)
    u, w = moments_of(target, draws, x)
    true_u, true_w = np.einsum("spd,sd->sp", x, theta), _variance(problem, x, phi)
    h = np.asarray(lifetime.h(u, w, beta[:, None], target.model.noise))
    true_h = np.asarray(lifetime.h(true_u, true_w, beta, problem.noise))
    of_data = log_likelihoods(target, data, users, draws)
    truths = np.concatenate([theta, phi, true_w, true_h, of_data[:, -1:]], axis=1)
    drawn = np.concatenate([draws.theta, draws.phi, w, h, of_data[:, :-1, None]], axis=2)
    return pit_among(truths, drawn, rng).T


def _variance(problem: Problem, x: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return np.maximum(np.asarray(problem.link(np.einsum("spd,sd->sp", x, phi))), 0.0)


def uniformity_tests(ranked: xarray.DataArray, error_rate: float = ERROR_RATE) -> xarray.Dataset:
    """Return p-values of uniformity, raw and adjusted over the quantities at one number of users, and passes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ranked = xarray.DataArray(rng.uniform(size=(1, 2, 100)), dims=("users", "quantity", "data_set"))
    >>> uniformity_tests(ranked).passed.values.tolist()
    [[True, True]]
    """
    axes = ("users", "quantity")
    p = np.stack([uniformity_p_values(at_users) for at_users in ranked.values])
    adjusted = np.stack([holm(row) for row in p])
    return xarray.Dataset(
        {"p_value": (axes, p), "adjusted": (axes, adjusted), "passed": (axes, adjusted >= error_rate)},
        coords={name: ranked[name] for name in axes if name in ranked.coords},
        attrs={"error_rate": error_rate, "data_sets": ranked.sizes["data_set"]},
    )


class SBCResult(NamedTuple):
    """Ranks and their tests, by engine; the engine in use comes first."""

    ranks: dict[str, xarray.DataArray]
    tests: dict[str, xarray.Dataset]


@register("sbc")
class SBC(Diagnostic[SBCResult]):
    """Simulation-based calibration of every engine: ranks of the truth among posterior draws."""

    title = "Simulation-based calibration"
    order = 2.0
    needs = ("over_prior_of_model",)

    def own_steps(self, inputs: SharedInputs) -> int:
        """Return one step for each engine beside the one in use."""
        return len(inputs.other_engines)

    def compute(self, inputs: SharedInputs) -> SBCResult:
        """Return ranks and tests of the engine in use and of the others."""
        study, fitted = inputs.study, inputs.over_prior_of_model
        posteriors = {study.engine.kind: fitted.posteriors}
        for engine in inputs.other_engines:
            with inputs.step(f"{engine.kind}: posteriors {OVER_PRIOR}"):
                users = (inputs.sizes.other_users,)
                posteriors[engine.kind] = inputs.fit_each(
                    engine, fitted.data, users, f"{OVER_PRIOR} of the model", follow=False
                )
        seed = study.seed_for("sbc")
        ranked = {
            engine: ranks(fitted.problem, study.target, fitted.data, by_users, seed)
            for engine, by_users in posteriors.items()
        }
        return SBCResult(ranked, {engine: uniformity_tests(one) for engine, one in ranked.items()})

    def verdicts(self, result: SBCResult) -> list[Verdict]:
        """Return whether each engine passes, by number of users."""
        return [verdict for engine, tests in result.tests.items() for verdict in sbc_verdicts(engine, tests)]

    def error_families(self, result: SBCResult) -> int:
        """Return one for each engine and number of users."""
        return sum(tests.sizes["users"] for tests in result.tests.values())

    def figures(self, result: SBCResult) -> list[ReportFigure]:
        """Return PIT curves of the engine in use, and histograms for all engines."""
        middle = {engine: _at_middle_users(ranked) for engine, ranked in result.ranks.items()}
        users = {engine: int(ranked.users) for engine, ranked in middle.items()}
        in_use = next(iter(middle))
        curves = {
            str(name): middle[in_use].sel(quantity=name).values for name in middle[in_use].quantity.values
        }
        return [
            ReportFigure(
                "sbc",
                f"Simulation-based calibration of the engine in use after {users[in_use]} users: ECDF of the ranks of "
                "the truth among the draws, minus the diagonal. The bands contain the curves of all quantities with "
                "probability 99 % if the engine is sound; a quantity whose curve leaves its band fails, and is orange. "
                "Of more than twelve quantities, those with the smallest p are shown. The table has all numbers of users.",
                lambda: plot_pit(curves, ERROR_RATE),
            ),
            ReportFigure(
                "ranks",
                f"The same ranks as histograms, for every engine ({_after(users)}): at most twelve quantities, those with "
                "the smallest p for any engine. Orange: quantities that fail by the test above. Grey contains all bars of "
                "an engine with probability 99 % if it is sound.",
                lambda: plot_ranks(middle, ERROR_RATE),
            ),
        ]

    def write_section(self, page: Page, result: SBCResult) -> None:
        """Write the smallest p-value of each engine and number of users."""
        page.text(
            "The rank of each true quantity among its draws must be uniform. p-values are adjusted (Holm) over all "
            "quantities at one number of users. Served: at the context that the policy picks for the next user; these "
            "ranks are not uniform if the policy knows more than its data."
        )
        rows, good = [], []
        for engine, tests in result.tests.items():
            for users in tests.users.values:
                at_users = tests.sel(users=users)
                worst = at_users.isel(quantity=int(np.argmin(at_users.p_value.values)))
                verdict = _verdict_at(engine, at_users)
                numbers = [float(worst.p_value), float(worst.adjusted)]
                where = [engine, int(users), tests.attrs["data_sets"], str(worst.quantity.item())]
                rows.append([*where, *numbers, verdict.end])
                good.append(verdict.good)
        header = ["engine", "users", "data sets", "smallest p at", "p", "adjusted", "verdict"]
        page.table(header, rows, "", good)

    def to_plain(self, result: SBCResult) -> Mapping[str, object]:
        """Return all tests."""
        return {
            "sbc": [
                {
                    "engine": engine,
                    "users": int(users),
                    "quantity": str(quantity),
                    "p_value": float(test.p_value),
                    "adjusted": float(test.adjusted),
                    "pass": bool(test.passed),
                }
                for engine, tests in result.tests.items()
                for users in tests.users.values
                for quantity in tests.quantity.values
                for test in [tests.sel(users=users, quantity=quantity)]
            ]
        }

    def to_datasets(self, result: SBCResult) -> Mapping[str, xarray.Dataset]:
        """Return tests and ranks, by engine."""
        return {
            f"sbc/{engine}": tests.assign(rank=result.ranks[engine]) for engine, tests in result.tests.items()
        }


def sbc_verdicts(engine: str, tests: xarray.Dataset) -> list[Verdict]:
    """Return whether an engine passes simulation-based calibration, by number of users."""
    return [_verdict_at(engine, tests.sel(users=users)) for users in tests.users.values]


def _verdict_at(engine: str, tests: xarray.Dataset) -> Verdict:
    failing = [str(name) for name in tests.quantity.values[~tests.passed.values]]
    data_sets, rate, count = tests.attrs["data_sets"], tests.attrs["error_rate"], tests.sizes["quantity"]
    made = (
        f"{count} quantities over {data_sets} data sets of {int(tests.users)} users, smallest adjusted "
        f"{p_is(tests.adjusted.min())}; a sound engine and policy fail with probability at most {percent(rate)}"
    )
    if failing:
        words = f"{engine} FAILS simulation-based calibration at {', '.join(failing)}: {made}"
        if all("served" in name for name in failing):
            words += ". Only quantities at the served context fail: does the policy know the truth?"
        return Verdict(False, words)
    enough, power = describe_detectable_shift(data_sets, rate / count)
    if enough:
        return Verdict(True, f"{engine} passes simulation-based calibration: {made}; {power}")
    return Verdict(None, f"{engine}, simulation-based calibration: {made}; {power}")


def _at_middle_users(ranked: xarray.DataArray) -> xarray.DataArray:
    """Return the ranks at the second number of users, or at the only one."""
    return ranked.isel(users=min(1, ranked.sizes["users"] - 1))


def _after(users: Mapping[str, int]) -> str:
    """Return in words after how many users engines are examined.

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


def plot_ranks(ranked: Mapping[str, xarray.DataArray], error_rate: float) -> Figure:
    """Draw histograms of ranks, one row per engine and one column per quantity.

    A histogram is orange if its ranks are not uniform, by the same test as in :func:`.drawing.plot_pit`.

    Parameters
    ----------
    ranked : mapping of str to DataArray
        Ranks over quantity and data_set, by engine. Of more than twelve quantities, those with the
        smallest p-values for any engine are drawn.
    error_rate : float
        Probability at most that any histogram of a row is orange, and that any bar leaves its range, if
        all ranks are uniform.
    """
    from matplotlib.figure import Figure

    with plot.style():
        p_values = {engine: uniformity_p_values(one.values) for engine, one in ranked.items()}
        shown = indices_of_smallest(np.min(list(p_values.values()), axis=0), MOST_QUANTITIES)
        figure = Figure(figsize=(plot.PAGE_WIDTH, 0.45 + 0.75 * len(ranked)), layout="constrained")
        panels = figure.subplots(len(ranked), len(shown), sharex=True, sharey=True, squeeze=False)
        for row, (engine, one) in zip(panels, ranked.items(), strict=True):
            count, sets = one.shape
            bins = 10 if sets >= 100 else 5
            low, high = bar_range(sets, bins, error_rate / count)
            fails = holm(p_values[engine]) < error_rate
            for axes, index in zip(row, shown, strict=True):
                counts, edges = np.histogram(one.values[index], bins, (0, 1))
                axes.axhspan(low, high, color=plot.BAND, linewidth=0)
                axes.stairs(
                    counts * bins / sets, edges, fill=True, alpha=0.7, color=pass_colour(fails[index])
                )
                axes.grid(visible=False)
                axes.set_xticks([])
            row[0].set_ylabel(f"{engine}\n{sets} sets", fontsize=7)
        names = next(iter(ranked.values())).quantity.values[shown]
        for axes, name in zip(panels[0], names, strict=True):
            axes.set_title(str(name), fontsize=6)
        figure.supxlabel("rank of the truth among the draws, 0 to 1", fontsize=7)
    return figure


def bar_range(sets: int, bins: int, error_rate: float) -> tuple[float, float]:
    """Return the heights between which all bars of a histogram of uniform numbers lie, their mean being 1.

    Examples
    --------
    >>> bar_range(200, 10, 0.01)
    (0.4, 1.75)
    """
    tails = (error_rate / (2 * bins), 1.0 - error_rate / (2 * bins))
    low, high = (float(stats.binom.ppf(tail, sets, 1.0 / bins)) * bins / sets for tail in tails)
    return low, high
