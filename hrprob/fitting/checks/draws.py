"""Are the draws those of the posterior? Compared with an importance sample made in another way.

The last fit of the prequential predictions gives weighted points of the same posterior. Means and standard deviations of
θ and φ are compared with theirs; engines with chains are judged by R-hat and effective sample sizes as well. While
:meth:`hrprob.Posterior.concerns` has a reason not to trust the draws, the check does not pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrprob._core.formatting import format_number
from hrprob.fitting import summary
from hrprob.fitting.checks.base import Check, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.concerns import MOST_RATIO, MOST_SHIFT, about_draws

__all__ = ["DrawsCheck", "DrawsResult"]

_MOST_RHAT, _LEAST_ESS = 1.05, 100.0
# Monte Carlo errors that a difference must exceed: one of 4d comparisons exceeds them with probability below 1e-3.
_ERRORS = 4.0
_LEAST_EFFECTIVE = 100.0
_DECIDED_BY = "a longer run of the engine, or nuts,"


class DrawsResult(NamedTuple):
    """Errors of the draws: the worst shift and ratio of sds, each with its Monte Carlo error, and R-hat, ESS."""

    engine: str
    parameter: str
    shift: float
    ratio: float  # of the draws' sd to that of the reference, the one farthest from 1
    error: float  # Monte Carlo error of shifts, in sds; that of ln ratio is about the same
    rhat: float
    effective: float
    concerns: tuple[str, ...] = ()  # reasons not to trust the draws, by other means


@register("draws")
class DrawsCheck(Check[DrawsResult]):
    """Draws compared with an importance sample, R-hat, effective sample size, divergences."""

    title = "Draws of the posterior"
    order = 0.0
    remedy = "a longer run, or the engine nuts"

    def compute(self, inputs: CheckInputs) -> DrawsResult:
        """Return the errors."""
        posterior, made = inputs.posterior, inputs.prequential
        table = summary.summarise(posterior)
        rhat = float(np.max(table.rhat.values)) if "rhat" in table else 1.0
        count = posterior.theta[..., 0].size
        effective = (
            float(min(np.min(table.ess_bulk.values), np.min(table.ess_tail.values)))
            if "ess_bulk" in table
            else float(count)
        )
        facts = (rhat, effective, tuple(one.words for one in about_draws(posterior)))
        if made is None or made.points.effective < _LEAST_EFFECTIVE:
            return DrawsResult(posterior.engine.kind, "", 0.0, 1.0, math.inf, *facts)
        points, flat = made.points, posterior.flat()
        weight = np.exp(points.log_weight)
        reference = np.concatenate([points.theta, points.phi], axis=1)
        drawn = np.concatenate([flat["theta"], flat["phi"]], axis=1)
        mean = weight @ reference
        sd = np.sqrt(weight @ (reference - mean) ** 2)
        shift = np.abs(drawn.mean(axis=0) - mean) / sd
        ratio = drawn.std(axis=0) / sd
        worst = int(np.argmax(np.maximum(shift / MOST_SHIFT, np.abs(np.log(ratio)) / math.log(MOST_RATIO))))
        names = [f"{name}[{feature}]" for name in ("theta", "phi") for feature in inputs.table.features]
        error = math.sqrt(1.0 / max(min(effective, count), 1.0) + 1.0 / points.effective)
        return DrawsResult(
            posterior.engine.kind, names[worst], float(shift[worst]), float(ratio[worst]), error, *facts
        )

    def evidence(self, result: DrawsResult) -> Evidence:
        """Return whether the draws can stand for the posterior."""
        sampler = []
        if not result.rhat <= _MOST_RHAT:
            sampler.append(f"R-hat {format_number(result.rhat, 2)}")
        if not result.effective >= _LEAST_ESS:
            sampler.append(f"effective sample size {format_number(result.effective, 0)}")
        if sampler:
            words = f"{result.engine} has not converged: {', '.join(sampler)}; run it longer"
            return Evidence(
                words, f"limits: R-hat {_MOST_RHAT}, {_LEAST_ESS:.0f} effective draws", sound=False
            )
        detectable = f"detects means off by {format_number(MOST_SHIFT + _ERRORS * result.error, 2)} sd"
        if not math.isfinite(result.error):
            words = "no independent reference: importance weights of a normal approximation degenerate"
            limits = "R-hat and effective sample size are within their limits"
            return Evidence("; ".join([words, *result.concerns]), limits, decided_by=_DECIDED_BY)
        off = abs(math.log(result.ratio)), result.shift
        wrong = off[0] > math.log(MOST_RATIO) + _ERRORS * result.error or (
            off[1] > MOST_SHIFT + _ERRORS * result.error
        )
        right = off[0] <= math.log(MOST_RATIO) and off[1] <= MOST_SHIFT
        words = (
            f"at worst {result.parameter} is off by {format_number(result.shift, 2)} sd and its sd is "
            f"{format_number(result.ratio, 2)} times that of an importance sample"
        )
        sound = False if wrong else True if right and not result.concerns else None
        return Evidence("; ".join([words, *result.concerns]), detectable, sound=sound, decided_by=_DECIDED_BY)

    def to_plain(self, result: DrawsResult) -> Mapping[str, object]:
        """Return the errors."""
        plain = {name: value for name, value in result._asdict().items() if not isinstance(value, float)}
        numbers = {name: value for name, value in result._asdict().items() if isinstance(value, float)}
        return plain | {name: value if math.isfinite(value) else None for name, value in numbers.items()}
