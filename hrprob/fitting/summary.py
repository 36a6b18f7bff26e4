"""Mean, standard deviation, interval and diagnostics of all parameters, as a table and in words.

Of engines that make draws by chain (``nuts``), R-hat, effective sample sizes and Monte Carlo errors are
ArviZ's, rank-normalised [1]_. Of engines whose chains are independent fits (``smc``), draws from one fit
repeat its particles: the Monte Carlo error is the standard error of the means of the fits, and there is no
effective sample size. Draws of the others (``laplace``, ``svi``) are independent; the Pareto k̂ says
whether they come from the right distribution.

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
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.base import Engine
from hrprob.fitting.intervals import check_prob
from hrprob.io.result_table import ResultTable
from hrprob.problem.links.base import is_affine

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["as_table", "concerns", "restricted", "summarise", "to_plain"]

MOST_RHAT = 1.01
LEAST_ESS = 400
# The quantiles for the effective sample size of the tails.
TAILS = (0.05, 0.95)
MOST_PARETO_K = 0.7
# Effective sample size of the importance weights as a share of the draws: below the first the approximation is
# refused, above the second means and usual intervals hardly change by weighting.
LEAST_SHARE, ENOUGH = 0.1, 0.8
# Largest error of an approximation's mean, in standard deviations, and of its standard deviation, as a factor.
MOST_SHIFT, MOST_RATIO = 0.2, 1.25
# The bound restricts θ or φ where more than this share of draws has a norm above this share of the bound; under the
# uniform prior 1 − 0.98^d of the draws do.
_NEAR, _RESTRICTED = 0.98, 0.5


def summarise(posterior: Posterior, prob: float = 0.9) -> xarray.Dataset:
    """Return the table that :meth:`Posterior.summary` documents."""
    check_prob(prob)
    names, draws = _stacked(posterior)
    low, high = np.quantile(draws, [0.5 - prob / 2, 0.5 + prob / 2], axis=(0, 1))
    columns = {
        "mean": draws.mean(axis=(0, 1)),
        "sd": draws.std(axis=(0, 1), ddof=1),
        "low": low,
        "high": high,
    }
    columns |= _diagnostics(posterior.engine, draws)
    facts = {"pareto_k": posterior.pareto_k, "divergences": posterior.divergences}
    return xarray.Dataset(
        {name: ("parameter", column) for name, column in columns.items()},
        coords={"parameter": names},
        attrs={"prob": prob, "interval": "central", "engine": posterior.engine.kind}
        | {name: value for name, value in facts.items() if value is not None},
    )


def _stacked(posterior: Posterior) -> tuple[list[str], np.ndarray]:
    """Return a label for every parameter, and the draws (chain, draw, parameter)."""
    entries = posterior.table.features
    names, parts = [], []
    for name, value in ({"theta": posterior.theta, "phi": posterior.phi} | dict(posterior.sites)).items():
        for place in np.ndindex(value.shape[2:]):
            where = entries[place[0]] if name in ("theta", "phi") else ", ".join(map(str, place))
            names.append(f"{name}[{where}]" if where else name)
            parts.append(value[(slice(None), slice(None), *place)])
    return names, np.stack(parts, axis=-1)


# Chains that never moved have no variance: their R-hat is NaN, and a concern.
@np.errstate(divide="ignore", invalid="ignore")
def _diagnostics(engine: Engine, draws: np.ndarray) -> dict[str, np.ndarray]:
    from arviz_stats import ess, mcse, rhat  # type: ignore[attr-defined]

    chains = draws.shape[0]
    if not engine.makes_draws and engine.replicates == 1:
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


def concerns(posterior: Posterior, least_ess: float = LEAST_ESS) -> list[str]:
    """Return what :meth:`Posterior.concerns` documents; ``least_ess`` is the effective sample size asked for."""
    table, engine = summarise(posterior), posterior.engine
    reasons = []
    if posterior.divergences:
        reasons.append(
            f"{posterior.divergences} draws of {engine.kind} diverged: part of the posterior may be missing; "
            f"{_raise(engine.raise_for_divergences)}"
        )
    # NumPy's extremes, unlike xarray's, are NaN where any value is, and NaN is a concern.
    if "rhat" in table and not np.max(table.rhat.values) <= MOST_RHAT:
        worst = int(np.argmax(table.rhat.values))
        reasons.append(
            f"R-hat of {table.parameter.values[worst]} is {table.rhat.values[worst]:.3f}, not below {MOST_RHAT}: "
            f"chains disagree, or do not move; {_raise(engine.raise_for_rhat)}"
        )
    least = {part: np.min(table[f"ess_{part}"].values) for part in ("bulk", "tail") if f"ess_{part}" in table}
    few = [f"{size:.0f} ({part})" for part, size in least.items() if not size >= least_ess]
    if few:
        reasons.append(
            f"the least effective sample size is {' and '.join(few)}, below {least_ess:.0f}: raise `draws`"
        )
    still = table.parameter.values[table.sd.values == 0.0]
    if still.size:
        reasons.append(
            f"all draws of {still[0]} are the same: give outcomes in units of about their sd, √f(φᵀx), "
            "and bounds in the same"
        )
    if posterior.pareto_k is not None:
        reasons += _poorly_weighted(posterior) or _misplaced(posterior, table)
    return reasons + _projected(posterior) + restricted(posterior)


def _raise(setting: str) -> str:
    """Return the remedy of raising a setting of the engine, or of another engine where there is none."""
    return f"raise `{setting}` of the engine" if setting else "take nuts"


def _poorly_weighted(posterior: Posterior) -> list[str]:
    """Return the concern that the importance weights of an approximation raise, if they do."""
    again = posterior.reweight()
    worth = f"weighted by `reweight()`, its {again.weight.size} draws are worth {again.effective:.0f}"
    kind, share = posterior.engine.kind, again.effective / again.weight.size
    if not again.pareto_k < MOST_PARETO_K:
        why = f"the posterior has tails that {kind} misses"
        if math.isfinite(again.pareto_k) and share > ENOUGH:
            why += f", far out ({worth}); take nuts where such tails matter"
        else:
            why += f" ({worth}); take nuts"
        return [f"Pareto k̂ is {again.pareto_k:.2f}, not below {MOST_PARETO_K}: {why}"]
    if not share >= LEAST_SHARE:
        return [f"{kind} is far from the posterior: {worth}; take nuts"]
    return []


def _projected(posterior: Posterior) -> list[str]:
    """Return the concern that many draws of θ were projected onto its ball, if they were."""
    radius = _radius(posterior, "theta")
    length = np.linalg.norm(posterior.slopes("theta"), axis=-1) / radius
    share = float(np.mean(length > 1.0 - 1e-9))
    if not posterior.engine.cuts_to_ball or share < 0.01:
        return []
    remedy = f"take nuts, or {_wider(posterior, 'theta')}"
    return [
        f"{share:.0%} of draws of {posterior.engine.kind} were cut to ‖θ‖ at its bound {radius:g}: {remedy}"
    ]


def _misplaced(posterior: Posterior, table: xarray.Dataset) -> list[str]:
    """Return the concern that a mean or sd is wrong although k̂ is low: the weights correct it."""
    again = posterior.reweight()
    _, draws = _stacked(posterior)
    draws = draws.reshape(-1, draws.shape[-1])
    # A parameter that does not vary has no standard deviation to measure errors in.
    varies = table.sd.values > 0.0
    table, draws = table.sel(parameter=varies), draws[:, varies]
    mean = again.weight @ draws
    shift = np.abs(mean - table["mean"].values) / table.sd.values
    ratio = np.sqrt(again.weight @ (draws - mean) ** 2) / table.sd.values
    slack = 3.0 / math.sqrt(again.effective)
    right = (shift <= MOST_SHIFT + slack) & (np.abs(np.log(ratio)) <= math.log(MOST_RATIO) + slack)
    wrong = ~right
    if not wrong.any():
        return []
    worst = int(np.argmax(np.where(wrong, shift + np.abs(np.log(ratio)), -1.0)))
    return [
        f"{posterior.engine.kind} has {table.parameter.values[worst]} off by {shift[worst]:.2f} sd, "
        f"its sd {1.0 / ratio[worst]:.2f} times as large as it is: take nuts, or the weights of `reweight()`"
    ]


def restricted(posterior: Posterior) -> list[str]:
    """Return the concerns that the bounds of θ and φ restrict the posterior."""
    concerns = []
    for name, symbol in (("theta", "θ"), ("phi", "φ")):
        radius = _radius(posterior, name)
        share = float(np.mean(np.linalg.norm(posterior.slopes(name), axis=-1) > _NEAR * radius))
        if share > _RESTRICTED and share > 1.5 * (1.0 - _NEAR ** posterior.slopes(name).shape[-1]):
            concerns.append(
                f"{share:.0%} of draws have ‖{symbol}‖ within 2 % of its bound {radius:g}: "
                f"if it may be larger, {_wider(posterior, name)}"
            )
    return concerns


def _radius(posterior: Posterior, name: str) -> float:
    """Return the radius of the prior's ball of θ or φ, which may be smaller than the bound of the norm."""
    # Single precision is too coarse: draws lie closer to the edge of the ball than its rounding error.
    with double_precision():
        return float(posterior.target.radii[("theta", "phi").index(name)])


def _wider(posterior: Posterior, name: str) -> str:
    """Return the remedy that lets θ or φ be larger."""
    if _radius(posterior, name) < (1.0 - 1e-6) * float(getattr(posterior.setting.bounds, name)):
        return f"widen the ball of the prior's `{name}`"
    affine = is_affine(posterior.setting.link)
    offset = ', with it the offset of the link, or take `link="log"`, which needs none'
    return f"raise `bounds.{name}`" + (offset if name == "phi" and affine else "")


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
