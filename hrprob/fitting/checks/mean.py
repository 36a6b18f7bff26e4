"""Whether predicted means are right, everywhere and along every feature."""

from __future__ import annotations

import numpy as np

from hrprob.fitting.checks.base import register
from hrprob.fitting.checks.context_effects import ContextEffects, Residual

__all__ = ["Means"]


@register("mean")
class Means(ContextEffects):
    """Prequential residuals against contexts, their squares and products."""

    title = "Means along the features"
    order = 2.0
    remedy = "other features; look for rounds in other units"
    margin = 0.15  # standard deviations of an outcome
    label = "Error of the mean, in sds of an outcome"
    subject = "means"
    unit = unit_of_largest = "sd"

    def residual(self, standardised: np.ndarray) -> Residual:
        """Return the residuals themselves."""
        return Residual(standardised)
