"""Whether predicted variances are right, everywhere and along every feature, its square and products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hrprob._core.formatting import format_number, signed
from hrprob.fitting.checks import drawing
from hrprob.fitting.checks.base import Check, CheckFigure, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.martingales import (
    SKEWNESS_OF_SIZE,
    Effects,
    context_weights,
    effects,
    spread,
)
from hrprob.numerics.power import detectable_difference

__all__ = ["Variances", "VariancesResult"]

# Largest relative error of a variance that does not matter.
_MARGIN = 0.3


class VariancesResult(NamedTuple):
    """Effects on the size of residuals; None where there are no prequential predictions."""

    found: Effects | None
    level: float


@register("variance")
class Variances(Check[VariancesResult]):
    """Sizes of prequential residuals against contexts, their squares and products."""

    title = "Variances along the features"
    order = 3.0

    def compute(self, inputs: CheckInputs) -> VariancesResult:
        """Return the effects of contexts on the size of residuals, as relative errors of the variance."""
        made = inputs.prequential
        if made is None:
            return VariancesResult(None, inputs.level)
        weights = context_weights(inputs.table.x, inputs.table.features, made.mean)
        size, unit = spread(made.residual)
        return VariancesResult(effects(size, weights, unit, SKEWNESS_OF_SIZE), inputs.level)

    def evidence(self, result: VariancesResult) -> Evidence:
        """Return whether any variance is off."""
        if result.found is None:
            return Evidence(drawing.NO_PREDICTIONS)
        found = result.found
        at = found.largest
        worst = (
            f"largest error {signed(100 * found.effect[at], 0)} ± {format_number(100 * found.se, 0)} % "
            f"of the variance ({found.names[at]})"
        )
        seen = detectable_difference(found.se, float("inf"), result.level / len(found.names))
        return Evidence(
            f"{worst} of {len(found.names)} directions",
            f"detects variances off by {format_number(100 * seen, 0)} %",
            found.p_value,
            found.within(_MARGIN),
        )

    def figures(self, result: VariancesResult) -> list[CheckFigure]:
        """Return the effects."""
        return drawing.effects_figure("variance", "Relative error of the variance", result.found)

    def to_plain(self, result: VariancesResult) -> Mapping[str, object]:
        """Return the effects."""
        return drawing.effects_to_plain(result.found)
