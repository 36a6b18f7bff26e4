"""Whether predicted means are right, everywhere and along every feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hrprob._core.formatting import format_number, signed
from hrprob.fitting.checks import drawing
from hrprob.fitting.checks.base import Check, CheckFigure, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.martingales import Effects, context_weights, effects
from hrprob.numerics.power import detectable_difference

__all__ = ["Means", "MeansResult"]

# Largest error of a mean that does not matter, in standard deviations of an outcome.
_MARGIN = 0.25


class MeansResult(NamedTuple):
    """Effects on residuals; None where there are no prequential predictions."""

    found: Effects | None
    level: float


@register("mean")
class Means(Check[MeansResult]):
    """Prequential residuals against contexts, their squares and products."""

    title = "Means along the features"
    order = 2.0

    def compute(self, inputs: CheckInputs) -> MeansResult:
        """Return the effects of contexts on residuals."""
        made = inputs.prequential
        if made is None:
            return MeansResult(None, inputs.level)
        weights = context_weights(inputs.table.x, inputs.table.features, made.mean)
        return MeansResult(effects(made.residual, weights), inputs.level)

    def evidence(self, result: MeansResult) -> Evidence:
        """Return whether any mean is off."""
        if result.found is None:
            return Evidence(drawing.NO_PREDICTIONS)
        found = result.found
        at = found.largest
        worst = f"largest error {signed(found.effect[at], 2)} ± {format_number(found.se, 2)} sd ({found.names[at]})"
        seen = detectable_difference(found.se, float("inf"), result.level / len(found.names))
        return Evidence(
            f"{worst} of {len(found.names)} directions",
            f"detects means off by {format_number(seen, 2)} sd",
            found.p_value,
            found.within(_MARGIN),
        )

    def figures(self, result: MeansResult) -> list[CheckFigure]:
        """Return the effects."""
        return drawing.effects_figure("mean", "Error of the mean, in sds of an outcome", result.found)

    def to_plain(self, result: MeansResult) -> Mapping[str, object]:
        """Return the effects."""
        return drawing.effects_to_plain(result.found)
