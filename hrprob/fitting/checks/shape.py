"""Whether outcomes have the model's shape: skewness, tails, the largest outcome, the whole distribution.

Prequential residuals are independent and standard normal under the model, whatever the model's own noise is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from hrprob._core.formatting import format_number, p_is, signed
from hrprob.fitting.checks import drawing
from hrprob.fitting.checks.base import NO_PREDICTIONS, Check, CheckFigure, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.numerics.multiple_testing import holm
from hrprob.numerics.power import detectable_difference
from hrprob.numerics.uniformity import uniformity_p_value

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["Shape", "ShapeResult"]

# Excess kurtosis and skewness of residuals that do not matter.
_MOST_KURTOSIS, _MOST_SKEWNESS = 1.0, 0.5
# The tests of skewness and kurtosis need this many rounds.
_LEAST_ROUNDS = 20
_LIGHTER = "outcomes with lighter tails: the models gaussian, truncated-normal or mixture"
_ELSEWHERE = (
    "see which of users, mean and variance fails; if none does, another model: `--compare` ranks them"
)


class ShapeResult(NamedTuple):
    """Statistics of residuals; no p-values where they are too few, None where there are none."""

    residual: np.ndarray | None
    skewness: float
    kurtosis: float
    largest: float
    p_values: dict[str, float]
    level: float


@register("shape")
class Shape(Check[ShapeResult]):
    """Skewness, kurtosis and the largest prequential residual."""

    title = "Shape of the outcomes"
    order = 4.0
    remedy = "outcomes with heavier tails: the models student-t or mixture"

    def advice(self, posterior: Posterior) -> str:
        """Return the remedy; if outcomes are not normal already, how to find a model that fits."""
        normal = posterior.target.model.noise_kind == "normal"
        return self.remedy if normal else "another model: `--compare` ranks them"

    def compute(self, inputs: CheckInputs) -> ShapeResult:
        """Return the statistics and their p-values."""
        made = inputs.prequential
        e = None if made is None else made.residual[made.usable]
        if made is None or e is None or e.size < _LEAST_ROUNDS:
            return ShapeResult(e, math.nan, math.nan, math.nan, {}, inputs.level)
        farthest = float(np.max(np.abs(e)))
        p_values = {
            "skewness": float(stats.skewtest(e).pvalue),
            "kurtosis": float(stats.kurtosistest(e).pvalue),
            # 1 − (1 − q)ⁿ, q being the probability of a residual as far out.
            "largest": float(-np.expm1(e.size * np.log1p(-2.0 * stats.norm.sf(farthest)))),
            "distribution": uniformity_p_value(made.pit[made.usable]),
        }
        return ShapeResult(
            e, float(stats.skew(e)), float(stats.kurtosis(e)), farthest, p_values, inputs.level
        )

    def evidence(self, result: ShapeResult) -> Evidence:
        """Return whether the shape is not that of the model."""
        if result.residual is None:
            return NO_PREDICTIONS
        n = result.residual.size
        if not result.p_values:
            return Evidence(f"{n} rounds are too few, of at least {_LEAST_ROUNDS}")
        ses = {"skewness": math.sqrt(6.0 / n), "kurtosis": math.sqrt(24.0 / n)}
        bound = stats.norm.ppf(0.95)
        within = (
            abs(result.skewness) + bound * ses["skewness"] <= _MOST_SKEWNESS
            and abs(result.kurtosis) + bound * ses["kurtosis"] <= _MOST_KURTOSIS
        )
        seen = detectable_difference(ses["kurtosis"], math.inf, result.level / len(result.p_values))
        return Evidence(
            f"residuals have skewness {signed(result.skewness, 2)} ± {format_number(ses['skewness'], 2)}, excess "
            f"kurtosis {signed(result.kurtosis, 2)} ± {format_number(ses['kurtosis'], 2)}, largest "
            f"{format_number(result.largest, 1)} sd; PIT uniform: {p_is(result.p_values['distribution'])}",
            f"detects an excess kurtosis of {format_number(seen, 1)}",
            float(np.min(holm(list(result.p_values.values())))),
            bool(within),
            remedy=_remedy(result, ses["kurtosis"]),
            resolution=seen / _MOST_KURTOSIS,
        )

    def figures(self, result: ShapeResult) -> list[CheckFigure]:
        """Return a normal quantile plot of the residuals."""
        if result.residual is None or not result.p_values:
            return []
        residual = result.residual
        caption = "Prequential residuals against normal quantiles; grey: the 99 % range of each quantile."
        return [CheckFigure("shape", caption, lambda: drawing.plot_quantiles(residual))]

    def to_plain(self, result: ShapeResult) -> Mapping[str, object]:
        """Return statistics and p-values."""
        if not result.p_values:
            return {}
        return {
            "skewness": result.skewness,
            "kurtosis": result.kurtosis,
            "largest": result.largest,
            "p_values": result.p_values,
        }


def _remedy(result: ShapeResult, se: float) -> str:
    """Return what to do if the shape is wrong, by the test that says so; "" for heavier tails, which is the usual case."""
    adjusted = dict(zip(result.p_values, holm(list(result.p_values.values())), strict=True))
    moments = min(adjusted["skewness"], adjusted["kurtosis"])
    if min(adjusted, key=lambda name: result.p_values[name]) == "distribution" and moments >= result.level:
        return _ELSEWHERE
    lighter = result.kurtosis < 0 and -result.kurtosis / se > stats.norm.ppf(0.95)
    return _LIGHTER if lighter else ""
