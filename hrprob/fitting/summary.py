"""Mean, standard deviation, interval and diagnostics of all parameters, as a table and in words.

Of engines that make draws by chain (``nuts``), R-hat, effective sample sizes and Monte Carlo errors are
ArviZ's, rank-normalised [1]_. Of engines whose chains are independent fits (``smc``), draws from one fit
repeat its particles: the Monte Carlo error is the standard error of the means of the fits, and there is no
effective sample size. Draws of the others (``laplace``, ``svi``) are independent, and near the posterior by their
importance weights; or they were refined (:mod:`hrprob.estimation.posterior.refining`), in groups that are compared
as fits are.

References
----------
.. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, "Rank-normalization,
   folding, and localization: an improved R-hat", Bayesian Analysis 16(2), 2021.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import xarray

from hrprob._core.formatting import format_number
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.refining import GROUPS
from hrprob.fitting.intervals import check_prob
from hrprob.io.result_table import ResultTable

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["as_table", "by_group", "stack_draws", "summarise", "to_plain"]

# The quantiles for the effective sample size of the tails.
TAILS = (0.05, 0.95)


def summarise(posterior: Posterior, prob: float = 0.9) -> xarray.Dataset:
    """Return the table that :meth:`Posterior.summary` documents."""
    check_prob(prob)
    names, draws = stack_draws(posterior)
    low, high = np.quantile(draws, [0.5 - prob / 2, 0.5 + prob / 2], axis=(0, 1))
    columns = {
        "mean": draws.mean(axis=(0, 1)),
        "sd": draws.std(axis=(0, 1), ddof=1),
        "low": low,
        "high": high,
    }
    columns |= _diagnostics(posterior.engine, by_group(posterior, draws))
    facts = {"pareto_k": posterior.pareto_k, "divergences": posterior.divergences}
    return xarray.Dataset(
        {name: ("parameter", column) for name, column in columns.items()},
        coords={"parameter": names},
        attrs={"prob": prob, "interval": "central", "engine": posterior.engine.kind}
        | {name: value for name, value in facts.items() if value is not None},
    )


def stack_draws(posterior: Posterior) -> tuple[list[str], np.ndarray]:
    """Return a label for every parameter, and the draws (chain, draw, parameter)."""
    entries = posterior.table.features
    names, parts = [], []
    for name, value in ({"theta": posterior.theta, "phi": posterior.phi} | dict(posterior.sites)).items():
        for place in np.ndindex(value.shape[2:]):
            where = entries[place[0]] if name in ("theta", "phi") else ", ".join(map(str, place))
            names.append(f"{name}[{where}]" if where else name)
            parts.append(value[(slice(None), slice(None), *place)])
    return names, np.stack(parts, axis=-1)


def by_group(posterior: Posterior, draws: np.ndarray) -> np.ndarray:
    """Return draws (chain, draw, parameter) with the groups of refined ones as chains; others as they are."""
    return draws.reshape(GROUPS, -1, draws.shape[-1]) if posterior.refined else draws


# Chains that never moved have no variance: their R-hat is NaN, and a concern.
@np.errstate(divide="ignore", invalid="ignore")
def _diagnostics(engine: Engine, draws: np.ndarray) -> dict[str, np.ndarray]:
    from arviz_stats import ess, mcse, rhat  # type: ignore[attr-defined]

    chains = draws.shape[0]
    if not engine.makes_draws and chains == 1:
        return {"mcse": draws.std(axis=(0, 1), ddof=1) / math.sqrt(draws[..., 0].size)}
    dataset = xarray.Dataset({"value": (("chain", "draw", "parameter"), draws)})
    between = {"rhat": rhat(dataset)["value"].values} if chains > 1 else {}
    if not engine.makes_draws:
        return {"mcse": draws.mean(axis=1).std(axis=0, ddof=1) / math.sqrt(chains)} | between
    return {
        "mcse": mcse(dataset, method="mean")["value"].values,
        "ess_bulk": ess(dataset, method="bulk")["value"].values,
        "ess_tail": ess(dataset, method="tail", prob=TAILS)["value"].values,
    } | between


def as_table(table: xarray.Dataset) -> ResultTable:
    """Return the table of parameters for a terminal, a page or a paper.

    Examples
    --------
    >>> print(as_table(xarray.Dataset(
    ...     {"mean": ("parameter", [0.5]), "low": ("parameter", [-0.25]), "rhat": ("parameter", [1.0])},
    ...     coords={"parameter": ["theta[x1]"]}, attrs={"prob": 0.9})))
    parameter   mean      5%   rhat
    theta[x1]  0.500  −0.250  1.000
    """
    tail = 50.0 * (1.0 - table.attrs["prob"])
    heads = {"low": f"{tail:.3g}%", "high": f"{100.0 - tail:.3g}%"}
    names = [str(name) for name in table.data_vars]
    rows = [
        [str(parameter), *(_cell(name, table[name].values[place]) for name in names)]
        for place, parameter in enumerate(table.parameter.values)
    ]
    return ResultTable(["parameter", *(heads.get(name, name) for name in names)], rows)


def _cell(name: str, value: float) -> str:
    if name.startswith("ess"):
        return format_number(value, 0)
    return format_number(value, 3) if name != "mcse" else f"{value:.2g}"


def to_plain(table: xarray.Dataset) -> dict[str, object]:
    """Return the table as plain data, by parameter.

    Examples
    --------
    >>> to_plain(xarray.Dataset({"mean": ("parameter", [0.5])}, coords={"parameter": ["theta[x1]"]}))
    {'theta[x1]': {'mean': 0.5}}
    """
    return {
        str(name): {
            str(column): float(values.values[place]) if math.isfinite(values.values[place]) else None
            for column, values in table.data_vars.items()
        }
        for place, name in enumerate(table.parameter.values)
    }
