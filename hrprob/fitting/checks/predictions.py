"""Are predictions calibrated? LOO-PIT of rounds, and of each user's first outcome with that user left out.

The test is POT-C, which allows for the dependence of LOO-PIT values
(:func:`~hrprob.numerics.uniformity.dependent_uniformity_p_value`). Leaving out users stands beside leaving out rounds: a
model whose rounds are predicted well from other rounds of the same user, but users badly from other users, lacks a user
effect.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from hrprob._core.formatting import format_number, p_is
from hrprob.fitting.checks import drawing
from hrprob.fitting.checks.base import Check, CheckFigure, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.leaving_out import MOST_PARETO_K, LeftOut
from hrprob.numerics.power import POWER
from hrprob.numerics.uniformity import dependent_uniformity_p_value

__all__ = ["PredictionResult", "PredictionsCheck", "detectable_scale"]

# Relative error of a predictive sd that does not matter.
_MARGIN = 0.15
_SCALES = (1.03, 1.05, 1.08, 1.12, 1.16, 1.2, 1.3, 1.4, 1.6, 2.0, 3.0, 5.0)
_SIMULATED, _MOST_SIMULATED = 50, 512


class PredictionResult(NamedTuple):
    """Leave-one-out predictions with the p-values of their uniformity."""

    left_out: LeftOut
    p_values: dict[str, float]
    level: float


@register("predictions")
class PredictionsCheck(Check[PredictionResult]):
    """LOO-PIT of rounds and of users, tested with allowance for their dependence."""

    title = "Leave-one-out predictions"
    order = 1.0
    remedy = "see which of the checks of users, mean, variance and shape fails"

    def compute(self, inputs: CheckInputs) -> PredictionResult:
        """Return leave-one-out predictions, and tests of their PIT values."""
        left = inputs.left_out
        p_values = {"rounds": dependent_uniformity_p_value(left.pit)}
        if left.user_pit is not None:
            p_values["users"] = dependent_uniformity_p_value(left.user_pit)
        return PredictionResult(left, p_values, inputs.level)

    def evidence(self, result: PredictionResult) -> Evidence:
        """Return whether predictions are calibrated."""
        pit, count = result.left_out.pit, len(result.p_values)
        spread = float(np.std(stats.norm.ppf(np.clip(pit, 1e-12, 1.0 - 1e-12))))
        se = 1.0 / math.sqrt(2.0 * pit.size)
        unreliable = float(np.mean(result.left_out.pareto_k > MOST_PARETO_K))
        words = f"outcomes scatter {format_number(spread, 2)} ± {format_number(se, 2)} times as widely as predicted; "
        words += "PIT uniform: " + ", ".join(f"{name} {p_is(p)}" for name, p in result.p_values.items())
        if unreliable:
            words += (
                f"; leave-one-out weights are unreliable for {format_number(100 * unreliable, 1)} % of rounds"
            )
        seen = detectable_scale(pit.size, result.level / count)
        return Evidence(
            words,
            f"detects predictive sds off by a factor of {format_number(seen, 2)}",
            min(1.0, count * min(result.p_values.values())),
            abs(math.log(max(spread, 1e-9))) + stats.norm.ppf(0.95) * se <= _MARGIN,
            resolution=math.log(seen) / _MARGIN,
        )

    def figures(self, result: PredictionResult) -> list[CheckFigure]:
        """Return the empirical distribution functions of PIT values."""
        pits = {"rounds": result.left_out.pit}
        if result.left_out.user_pit is not None:
            pits["users' first outcomes"] = result.left_out.user_pit
        caption = "Leave-one-out PIT: empirical distribution function minus the diagonal."
        return [CheckFigure("loo", caption, lambda: drawing.plot_ecdf(pits))]

    def tables(self, result: PredictionResult) -> list[tuple[list[str], list[list[object]], str]]:
        """Return the expected log predictive densities."""
        rows = [[name, *values.values()] for name, values in _densities(result.left_out).items()]
        header = ["left out", "elpd", "standard error", "k̂ above 0.7"]
        return [(header, rows, "Expected log predictive density, all rounds together.")]

    def to_plain(self, result: PredictionResult) -> Mapping[str, object]:
        """Return p-values and expected log predictive densities."""
        return {"p_values": result.p_values, "elpd": _densities(result.left_out)}


def _densities(left: LeftOut) -> dict[str, dict[str, float]]:
    parts = {"one round": (left.elpd, left.pareto_k)}
    if left.user_elpd is not None and left.user_pareto_k is not None:
        parts["one user"] = (left.user_elpd, left.user_pareto_k)
    return {
        name: {
            "elpd": float(np.sum(elpd)),
            "se": float(np.std(elpd, ddof=1) * math.sqrt(elpd.size)) if elpd.size > 1 else 0.0,
            "bad_k": float(np.mean(k > MOST_PARETO_K)),
        }
        for name, (elpd, k) in parts.items()
    }


def detectable_scale(rounds: int, level: float) -> float:
    """Return the factor by which predictive sds must be off to be detected by POT-C.

    Examples
    --------
    >>> detectable_scale(50, 0.01) > detectable_scale(500, 0.01) > 1
    True
    """
    simulated = min(1 << max(rounds - 1, 1).bit_length(), _MOST_SIMULATED)
    least = _least_scale(simulated, float(f"{level:.1g}"))
    return 1.0 + (least - 1.0) * math.sqrt(simulated / max(rounds, 1))


@functools.lru_cache(maxsize=64)
def _least_scale(rounds: int, level: float) -> float:
    """Return the least of some factors that is detected in simulations with the usual power."""
    e = np.random.default_rng(0).normal(size=(_SIMULATED, rounds))
    for scale in _SCALES:
        pits = stats.norm.cdf(scale * e)
        if np.mean([dependent_uniformity_p_value(pit) < level for pit in pits]) >= POWER:
            return scale
    return math.inf
