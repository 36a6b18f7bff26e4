r"""Variance-aware Thompson sampling: a draw of θ around the weighted regression [1]_.

.. math:: \tilde\theta \sim N(\hat\theta,\ \beta^2\, \Sigma)

with θ̂ and Σ of the regression whose weights know variance and uncertainty
(:mod:`hrprob.policies.weighted_oful`), and β by its ``radius``: 1 for a draw from the normal belief
itself ("belief", the default), or one of those of weighted OFUL. The index is the mean under the draw,
or the lifetime at that mean and the estimated variance.

The published algorithm meets unknown variances by layers of regressions, one for each order of
uncertainty; here they are estimated, and there is one regression. φ is not drawn: that is what
tells this rival from Thompson sampling over θ and φ.

References
----------
.. [1] R. Xu, Y. Min, T. Wang, "Noise-adaptive Thompson sampling for linear contextual bandits",
   NeurIPS 2023.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from hrprob.numerics.factors import cholesky
from hrprob.numerics.products import contract
from hrprob.policies.base import register
from hrprob.policies.learners import WeightedState
from hrprob.policies.weighted_oful import RADII, UncertaintyWeighted

__all__ = ["VarianceThompson"]


@register("variance-thompson")
class VarianceThompson(UncertaintyWeighted):
    """Serve the best action under a draw of θ from the variance-weighted regression.

    Parameters
    ----------
    radius : {"belief", "published", "calibrated", "constant"}
        β, by which the spread of the draw is multiplied.
    index, delta, xi
        As for weighted OFUL.
    variance_floor, growth, eager, warmup
        As for every policy on the weighted estimator.
    """

    offered: ClassVar[tuple[str, ...]] = ("belief", *RADII)

    radius: Any = "belief"

    def select(self, state: WeightedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the index at one draw of θ."""
        belief = state.estimates.theta
        noise = jax.random.normal(key, belief.mean.shape)
        theta = belief.mean + self.beta(state) * contract(cholesky(belief.covariance), noise)
        of = self.moments(state, contexts)
        return jnp.argmax(self.worth(contract(contexts, theta), of, beta))
