"""Whether predicted variances are right, everywhere and along every feature, its square and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrprob.fitting.checks.base import register
from hrprob.fitting.checks.context_effects import ContextEffects, Residual
from hrprob.fitting.checks.martingales import SKEWNESS_OF_SIZE, spread
from hrprob.problem.links.base import is_affine

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["Variances"]


@register("variance")
class Variances(ContextEffects):
    """Sizes of prequential residuals against contexts, their squares and products."""

    title = "Variances along the features"
    order = 3.0
    remedy = 'another offset of the link, `link = "log"`, or other features'
    margin = 0.2  # relative error
    label = "Relative error of the variance"
    subject = "variances"
    factor, decimals = 100.0, 0
    unit, unit_of_largest = "%", "% of the variance"

    def advice(self, posterior: Posterior) -> str:
        """Return the remedy; a link that is not affine has no offset, and is the other one already."""
        return self.remedy if is_affine(posterior.setting.link) else "other features, or another link"

    def residual(self, standardised: np.ndarray) -> Residual:
        """Return the sizes of the residuals, whose effects are relative errors of the variance."""
        size, scale = spread(standardised)
        return Residual(size, scale, SKEWNESS_OF_SIZE)
