"""The frame of checks whether a residual depends on the contexts."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from hrprob._core.formatting import format_number, signed
from hrprob.fitting.checks import drawing
from hrprob.fitting.checks.base import NO_PREDICTIONS, Check, CheckFigure, Evidence
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.martingales import Effects, context_weights, effects
from hrprob.numerics.power import detectable_difference

__all__ = ["ContextEffects", "ContextEffectsResult", "Residual"]


class Residual(NamedTuple):
    """A residual of mean 0 and variance 1 if the model holds, its skewness, and what one of it is in effects."""

    values: np.ndarray
    scale: float = 1.0
    skewness: float = 0.0


class ContextEffectsResult(NamedTuple):
    """Effects on a residual; None where there are no prequential predictions, or too few."""

    found: Effects | None
    level: float
    missing: Evidence | None = None  # what is said where there are none


class ContextEffects(Check[ContextEffectsResult]):
    """Effects of contexts, their squares and products on a residual.

    Attributes
    ----------
    margin : float
        The largest effect that does not matter.
    label : str
        What an effect is, for the axis of the figure.
    subject : str
        What is off where there is one, in the plural.
    factor, decimals, unit, unit_of_largest : float, int, str, str
        Effects are written multiplied by ``factor``, with these decimals and this unit.
    """

    margin: ClassVar[float]
    label: ClassVar[str]
    subject: ClassVar[str]
    factor: ClassVar[float] = 1.0
    decimals: ClassVar[int] = 2
    unit: ClassVar[str]
    unit_of_largest: ClassVar[str]

    @abc.abstractmethod
    def residual(self, standardised: np.ndarray) -> Residual:
        """Return the residual, from the prequential residuals in standard deviations."""

    def compute(self, inputs: CheckInputs) -> ContextEffectsResult:
        """Return the effects."""
        made = inputs.prequential
        if made is None or inputs.unpredicted:
            return ContextEffectsResult(None, inputs.level, inputs.unpredicted)
        every = context_weights(inputs.table.x, inputs.table.features, made.mean)
        weights = {name: column[made.usable] for name, column in every.items()}
        residual = self.residual(made.residual[made.usable])
        return ContextEffectsResult(
            effects(residual.values, weights, residual.scale, residual.skewness), inputs.level
        )

    def evidence(self, result: ContextEffectsResult) -> Evidence:
        """Return whether anything is off."""
        if result.found is None:
            return result.missing or NO_PREDICTIONS
        found = result.found
        at = found.largest
        largest = f"{signed(self.factor * found.effect[at], self.decimals)} ± {self._written(found.se)}"
        seen = detectable_difference(found.se, math.inf, result.level / len(found.names))
        return Evidence(
            f"largest error {largest} {self.unit_of_largest} ({found.names[at]}) of {len(found.names)} directions",
            f"detects {self.subject} off by {self._written(seen)} {self.unit}",
            found.p_value,
            found.within(self.margin),
            resolution=seen / self.margin,
        )

    def figures(self, result: ContextEffectsResult) -> list[CheckFigure]:
        """Return the effects."""
        return drawing.effects_figure(self.kind, self.label, result.found)

    def to_plain(self, result: ContextEffectsResult) -> Mapping[str, object]:
        """Return the effects."""
        return drawing.effects_to_plain(result.found)

    def _written(self, effect: float) -> str:
        return format_number(self.factor * effect, self.decimals)
