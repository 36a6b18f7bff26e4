r"""Variance-aware Thompson sampling: a draw of θ around the weighted regression [1]_.

.. math:: \tilde\theta \sim N(\hat\theta,\ \beta^2\, \Sigma)

with θ̂ and Σ of the regression weighted by variance and uncertainty
(:mod:`hrprob.policies.weighted_oful`), and β by its ``radius``: 1 for a draw from the normal belief
itself ("belief", the default), or one of those of weighted OFUL. The index is the mean under the draw,
or the lifetime at that mean and the estimated variance.

The published algorithm handles unknown variances by layers of regressions, one for each order of
uncertainty; here variances are estimated, and there is one regression. φ is not drawn, in contrast to
Thompson sampling over θ and φ.

References
----------
.. [1] R. Xu, Y. Min, T. Wang, "Noise-adaptive Thompson sampling for linear contextual bandits",
   NeurIPS 2023.
"""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob.numerics.choice import first_largest
from hrprob.numerics.factors import cholesky
from hrprob.numerics.products import contract
from hrprob.policies.base import register
from hrprob.policies.learners import WeightedState
from hrprob.policies.radii.base import Radius
from hrprob.policies.radii.constant import ConstantWidth
from hrprob.policies.radii.parameters import RadiusParameters
from hrprob.policies.weighted_oful import UncertaintyWeighted
from hrprob.problem import Known

__all__ = ["VarianceThompson"]


class Unscaled(Radius[RadiusParameters]):
    """β = 1: a draw from the normal belief itself."""

    def width(self, policy: RadiusParameters, known: Known) -> ConstantWidth:
        """Return 1."""
        return ConstantWidth(1.0)


@register("variance-thompson")
class VarianceThompson(UncertaintyWeighted):
    """Select the best action under a draw of θ from the variance-weighted regression.

    Parameters
    ----------
    radius : {"belief", "published", "calibrated", "constant"}, default "belief"
        β, the factor of the draw's standard deviations: 1, or a radius of weighted OFUL.

    Examples
    --------
    >>> VarianceThompson(index="lifetime").index
    'lifetime'
    """

    radius_choices: ClassVar[dict[str, Radius]] = {"belief": Unscaled(), **UncertaintyWeighted.radius_choices}

    radius: str = "belief"

    def select(self, state: WeightedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest index at one draw of θ."""
        belief = state.estimates.theta
        noise = jax.random.normal(key, belief.mean.shape)
        theta = belief.mean + self.beta(state) * contract(cholesky(belief.covariance), noise)
        return first_largest(self.index_value(contract(contexts, theta), self.moments(state, contexts), beta))
