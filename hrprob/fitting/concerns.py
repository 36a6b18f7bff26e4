"""Reasons not to trust draws, in words: what :meth:`hrprob.Posterior.concerns` says.

An *error estimate* comes first: of chains and groups of particles, R-hat, from which the standard error of a mean follows
(.07 posterior sds at 1.01); of weighted draws of an approximation, by how much the weights move means and standard
deviations. The Pareto k̂ comes second, where the weights are so uneven that they estimate nothing.

A concern is *short* where the sampler only drew too few: more draws decide, and nothing else is wrong.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.refining import GROUPS
from hrprob.fitting.summary import stack_draws, summarise
from hrprob.problem.links.base import is_affine

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = [
    "MOST_PARETO_K",
    "MOST_RATIO",
    "MOST_SHIFT",
    "Concern",
    "about_draws",
    "at_bounds",
    "concerns",
    "restricted",
]

MOST_SHIFT, MOST_RATIO = 0.15, 1.15
"""Largest error of a mean, in standard deviations, and of a standard deviation, as a factor."""
MOST_PARETO_K = 1.0
"""From this shape on importance weights have no mean, and estimate no error. Below it k̂ hardly ranks the error, and changes with the seed."""
MOST_RHAT = 1.01
# Effective draws that are asked for, unless that is more than a fifth of all; below this share of all, the sampler moves too
# slowly, however many are drawn.
LEAST_ESS, _ASKED_SHARE, _SLOW_SHARE = 400, 0.2, 0.13
# R-hat of perfect chains: with m effective draws per half chain R-hat² − 1 exceeds 3/m for one of some dozen
# parameters in a thousand cases; a fifth of all draws may be effective.
_RHAT_NOISE = 3.0
# Effective sample size of the importance weights, at least, as a number and as a share of the draws.
_LEAST_EFFECTIVE, _LEAST_SHARE = 100, 0.1
# The bound restricts θ or φ where more than this share of draws has a norm above this share of the bound; under the
# uniform prior 1 − 0.98^d of the draws do.
_NEAR, _RESTRICTED = 0.98, 0.5
# Residuals in predicted sds: of one round, and typical ones; normal residuals have a median of 0.67.
_FAR_OUT, _TYPICAL_LOW, _TYPICAL_HIGH = 30.0, 0.03, 4.0
# Contexts whose largest norm is below this hardly let the variance vary.
_SHORT_CONTEXTS = 0.01


class Concern(NamedTuple):
    """One reason not to trust the draws."""

    words: str
    short: bool = False  # whether more draws alone would settle it


def concerns(posterior: Posterior) -> list[Concern]:
    """Return all concerns: about the draws, the bounds, and the units of the data."""
    return about_draws(posterior) + restricted(posterior) + _off_scale(posterior)


def about_draws(posterior: Posterior) -> list[Concern]:
    """Return the concerns that the draws are not those of the posterior."""
    table, engine = summarise(posterior), posterior.engine
    reasons = []
    if posterior.divergences:
        words = (
            f"{posterior.divergences} draws of {engine.kind} diverged: part of the posterior may be missing"
        )
        reasons.append(Concern(f"{words}; {_raise(engine.raise_for_divergences)}"))
    reasons += _disagreeing(posterior, table) + _few_effective(posterior, table)
    still = table.parameter.values[table.sd.values == 0.0]
    if still.size:
        words = f"all draws of {still[0]} are the same: give outcomes in units of about their sd, √f(φᵀx), "
        reasons.append(Concern(words + "and bounds in the same"))
    if posterior.pareto_k is not None:
        reasons += _poorly_weighted(posterior, table)
    return reasons + _projected(posterior)


def _raise(setting: str) -> str:
    """Return the remedy of raising a setting of the engine, or of another engine where there is none."""
    return f"raise `{setting}` of the engine" if setting else "take nuts"


def _disagreeing(posterior: Posterior, table: xarray.Dataset) -> list[Concern]:
    """Return the concern that R-hat raises, if it does; NaN, of chains that never moved, is one."""
    # NumPy's extremes, unlike xarray's, are NaN where any value is.
    if "rhat" not in table or np.max(table.rhat.values) <= MOST_RHAT:
        return []
    worst = int(np.argmax(table.rhat.values))
    value, name = float(table.rhat.values[worst]), table.parameter.values[worst]
    length = posterior.theta.shape[1] / (GROUPS if posterior.refined else 1)
    half = max(_ASKED_SHARE * length / 2.0, 1.0)
    words = f"R-hat of {name} is {value:.3f}, not below {MOST_RHAT}: "
    if value <= math.sqrt(1.0 + _RHAT_NOISE / half):
        return [Concern(words + "so few draws do not show that chains agree; raise `draws`", short=True)]
    remedy = _raise("" if posterior.refined else posterior.engine.raise_for_rhat)
    return [Concern(words + f"chains disagree, or do not move; {remedy}")]


def _few_effective(posterior: Posterior, table: xarray.Dataset) -> list[Concern]:
    """Return the concern that few draws are effective, if they are."""
    draws = posterior.theta[..., 0].size
    asked = min(LEAST_ESS, _ASKED_SHARE * draws)
    least = {part: np.min(table[f"ess_{part}"].values) for part in ("bulk", "tail") if f"ess_{part}" in table}
    few = {part: size for part, size in least.items() if not size >= asked}
    if not few:
        return []
    sizes = " and ".join(f"{size:.0f} ({part})" for part, size in few.items())
    words = f"the least effective sample size is {sizes}, below {asked:.0f}: raise `draws`"
    return [Concern(words, short=all(size >= _SLOW_SHARE * draws for size in few.values()))]


def _poorly_weighted(posterior: Posterior, table: xarray.Dataset) -> list[Concern]:
    """Return the concern that the importance weights of an approximation raise, if they do."""
    again, kind = posterior.reweight(), posterior.engine.kind
    worth = f"weighted by `reweight()`, its {again.weight.size} draws are worth {again.effective:.0f}"
    if (
        again.effective < max(_LEAST_EFFECTIVE, _LEAST_SHARE * again.weight.size)
        or again.pareto_k == math.inf
    ):
        return [Concern(f"{kind} is far from the posterior: {worth}; take nuts")]
    wrong = _misplaced(posterior, table)
    if wrong or again.pareto_k < MOST_PARETO_K:
        return wrong
    words = f"Pareto k̂ is {again.pareto_k:.2f}, not below {MOST_PARETO_K:g}: the posterior may have tails that {kind} misses"
    return [Concern(f"{words}, although means and sds are right ({worth}); take nuts where tails matter")]


def _misplaced(posterior: Posterior, table: xarray.Dataset) -> list[Concern]:
    """Return the concern that a mean or sd is wrong by the weights, beyond their own error."""
    again = posterior.reweight()
    _, draws = stack_draws(posterior)
    draws = draws.reshape(-1, draws.shape[-1])
    # A parameter that does not vary has no standard deviation to measure errors in.
    varies = table.sd.values > 0.0
    table, draws = table.sel(parameter=varies), draws[:, varies]
    mean = again.weight @ draws
    shift = np.abs(mean - table["mean"].values) / table.sd.values
    ratio = np.sqrt(again.weight @ (draws - mean) ** 2) / table.sd.values
    # Twice the standard error of the weighted mean: with even weights it is shared by both, and cancels.
    slack = 2.0 * math.sqrt(max(1.0 / again.effective - 1.0 / again.weight.size, 0.0))
    wrong = (shift > MOST_SHIFT + slack) | (np.abs(np.log(ratio)) > math.log(MOST_RATIO) + slack)
    if not wrong.any():
        return []
    worst = int(np.argmax(np.where(wrong, shift + np.abs(np.log(ratio)), -1.0)))
    words = (
        f"{posterior.engine.kind} has {table.parameter.values[worst]} off by {shift[worst]:.2f} sd, "
        f"its sd {1.0 / ratio[worst]:.2f} times as large as it is"
    )
    return [Concern(f"{words}: take nuts, or the weights of `reweight()`")]


def _projected(posterior: Posterior) -> list[Concern]:
    """Return the concern that many draws of θ were projected onto its ball, if they were."""
    radius = _radius(posterior, "theta")
    length = np.linalg.norm(posterior.slopes("theta"), axis=-1) / radius
    share = float(np.mean(length > 1.0 - 1e-9))
    if not posterior.engine.cuts_to_ball or share < 0.01:
        return []
    words = f"{share:.0%} of draws of {posterior.engine.kind} were cut to ‖θ‖ at its bound {radius:g}"
    return [Concern(f"{words}: take nuts, or {_wider(posterior, 'theta')}")]


def restricted(posterior: Posterior) -> list[Concern]:
    """Return the concerns that the bounds of θ and φ restrict the posterior."""
    found = []
    for name, (share, most) in at_bounds(posterior).items():
        if share > most:
            symbol = {"theta": "θ", "phi": "φ"}[name]
            words = (
                f"{share:.0%} of draws have ‖{symbol}‖ within 2 % of its bound {_radius(posterior, name):g}"
            )
            found.append(Concern(f"{words}: if it may be larger, {_wider(posterior, name)}"))
    return found


def at_bounds(posterior: Posterior) -> dict[str, tuple[float, float]]:
    """Return by name, of θ and φ, the share of draws near the bound, and the one above which the bound restricts."""
    found = {}
    for name in ("theta", "phi"):
        length = np.linalg.norm(posterior.slopes(name), axis=-1)
        by_chance = 1.0 - _NEAR ** posterior.slopes(name).shape[-1]
        share = float(np.mean(length > _NEAR * _radius(posterior, name)))
        found[name] = share, max(_RESTRICTED, 1.5 * by_chance)
    return found


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


def _off_scale(posterior: Posterior) -> list[Concern]:
    """Return the concerns that outcomes or contexts are not in the units that the model assumes."""
    table, found = posterior.table, []
    mean, variance = (np.mean(part, axis=(0, 1)) for part in posterior.moments_at(table.x))
    sd = np.sqrt(np.maximum(variance, 1e-300))
    residual = np.abs(table.r - mean) / sd
    typical, worst = float(np.median(residual)), int(np.argmax(residual))
    units = "give outcomes in units of about their sd, or change the link and `bounds.theta`"
    if typical > _TYPICAL_HIGH:
        found.append(
            f"outcomes are off scale: half of them lie {typical:.3g} predicted sds or more from their mean"
        )
    elif residual[worst] > _FAR_OUT:
        units = "look at that round, or take outcomes with heavier tails, student-t"
        found.append(
            f"the outcome of round {worst + 1} lies {residual[worst]:.3g} predicted sds from its mean"
        )
    elif len(table) > 1 and typical < _TYPICAL_LOW:
        found.append(
            f"outcomes are off scale: half of them lie within {typical:.2g} predicted sds of their mean, as the link "
            "allows no smaller variance"
        )
    found = [f"{words}: {units}" for words in found]
    longest = float(np.linalg.norm(table.x, axis=1).max(initial=0.0))
    if 0.0 < longest < _SHORT_CONTEXTS:
        words = (
            f"contexts are off scale: the longest has norm {longest:.2g}, so that θᵀx and φᵀx can hardly vary"
        )
        found.append(f"{words}: multiply them, so that the longest has norm 1")
    return [Concern(words) for words in found]
