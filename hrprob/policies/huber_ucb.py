r"""HR-UCB for heavy tails: adaptive Huber regression with one pass over the data [1]_ [2]_.

An outcome far from its estimated mean says little about the mean and, squared, even less about the variance. So residuals are clipped at a
threshold that grows as estimates become accurate. With Σ_θ and Σ_φ as in the weighted estimator
(:mod:`hrprob.estimation.weighted`), w̃ its weighting variance and ψ_τ(z) = max(−τ, min(z, τ)), a stay under x updates

.. math::
    \hat\theta \mathrel{+}= \Sigma_\theta \frac{x}{\sqrt{\tilde w}} \sum_i \psi_{\tau_\theta}\!\Big(\frac{r_i - \hat\theta^\top x}{\sqrt{\tilde w}}\Big),
    \qquad
    \hat\phi \mathrel{+}= \Sigma_\phi \frac{M_f\,x}{\sqrt2\,\tilde w}
    \sum_i \psi_{\tau_\phi}\!\Big(\frac{(r_i - \hat\theta^\top x)^2 - f(\hat\phi^\top x)}{\sqrt2\,\tilde w}\Big),

the second with the new θ̂. This is the step of online mirror descent of [1]_, taken once per stay; without clipping it is recursive weighted least
squares, exactly. With a the leverage of x in the regression (:math:`x^\top\Sigma_\theta x/\tilde w` and
:math:`M_f^2 x^\top\Sigma_\phi x/(2\tilde w^2)`), and n the rounds so far,

.. math:: \tau_\theta = \tau_0 \sqrt{(1 + a)/a}, \qquad \tau_\phi = \tau_0 \sqrt{(1 + a)/a}\; n^{(1 - \varepsilon)/(2(1 + \varepsilon))},

as [1]_ has them for noise with finite moments of order 2 (outcomes) and 1 + ε (their squares). The action is that of largest lifetime within
the sets, as of ``hr-ucb-weighted``.

The published algorithm is for the mean reward and is told the moments of the noise; here the variance is estimated by the
same kind of regression, and the radius of the sets is that of a normal belief: nothing is proved for the lifetime. Only
single outcomes can be clipped, so a stay counts with its first sixteen rounds in the sample set.

References
----------
.. [1] J. Wang, Y.-J. Zhang, P. Zhao, Z.-H. Zhou, "Heavy-tailed linear bandits: Huber regression with one-pass update",
   ICML 2025, arXiv:2503.00419.
.. [2] J. Huang, H. Zhong, L. Wang, L. F. Yang, "Tackling heavy-tailed rewards in reinforcement learning with function
   approximation: minimax optimal and instance-dependent regret bounds", NeurIPS 2023.
"""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob.estimation import glse
from hrprob.estimation.weighted import Belief, Estimates
from hrprob.numerics.products import contract, quadratic_form
from hrprob.policies.base import Seen, register
from hrprob.policies.learners import WeightedState
from hrprob.policies.weighted import HRUCBWeighted
from hrprob.problem.links.base import as_affine

__all__ = ["HuberUCB"]

# A leverage of 0, of a context that is 0, would make the threshold infinite.
_LEAST_LEVERAGE = 1e-12


@register("huber-ucb", static=("radius",))
class HuberUCB(HRUCBWeighted):
    """Select the action of largest lifetime within confidence sets around adaptive Huber regressions.

    Parameters
    ----------
    threshold : float, default 1
        τ₀: residuals beyond τ₀((1 + a)/a)^{1/2} standard deviations are clipped, a being the leverage of the context.
    moments_of_squares : float, default 0.5
        ε in (0, 1]: squares of outcomes are taken to have a finite moment of order 1 + ε.

    Examples
    --------
    >>> HuberUCB(threshold=2.0).threshold
    2.0
    """

    threshold: float = dataclasses.field(default=1.0, kw_only=True)
    moments_of_squares: float = dataclasses.field(default=0.5, kw_only=True)

    def check(self) -> None:
        """Check thresholds, and the parameters of the radii."""
        super().check()
        remedy = "residuals are clipped at multiples of it, in standard deviations"
        threshold = check_number("threshold", self.threshold, low=0, open_low=True, remedy=remedy)
        remedy = "squares of normal outcomes have ε = 1; of outcomes with three finite moments, 0.5"
        moments = check_number(
            "moments_of_squares", self.moments_of_squares, low=0, high=1, open_low=True, remedy=remedy
        )
        set_frozen(self, threshold=threshold, moments_of_squares=moments)
        self.refuse_forgetting("every stay is used once and kept nowhere")

    def update(self, state: WeightedState, seen: Seen) -> WeightedState:
        """Take one step for θ and one for φ, with clipped residuals of the stay; no sums are kept but the sample size."""
        theta, phi = state.estimates
        x, link = seen.context, as_affine(self.known.link)
        most = seen.outcomes.shape[0]
        rounds = jnp.minimum(1.0 * seen.sampled, 1.0 * most)
        used = jnp.arange(most) < rounds
        variance, _ = self.weighting(state, x)
        sd, sd_of_square = jnp.sqrt(variance), math.sqrt(2.0) * variance

        leverage = quadratic_form(theta.covariance, x) / variance
        off = (seen.outcomes - contract(x, theta.mean)) / sd
        theta = _step(theta, x / sd, rounds, jnp.sum(jnp.where(used, self._clip(off, leverage), 0.0)))

        # One unit of φᵀx moves a squared residual by M_f.
        along = link.slope * x / sd_of_square
        leverage = quadratic_form(phi.covariance, along)
        n = jnp.maximum(state.sample_size + rounds, 1.0)
        growing = n ** (0.5 * (1.0 - self.moments_of_squares) / (1.0 + self.moments_of_squares))
        squares = jnp.square(seen.outcomes - contract(x, theta.mean))
        off = (squares - link(contract(x, phi.mean))) / sd_of_square
        phi = _step(phi, along, rounds, jnp.sum(jnp.where(used, self._clip(off, leverage, growing), 0.0)))
        return state._replace(
            statistics=state.statistics._replace(sample_size=state.sample_size + rounds),
            estimates=Estimates(theta, phi),
        )

    def _clip(self, residuals: jax.Array, leverage: jax.Array, factor: float | jax.Array = 1.0) -> jax.Array:
        """Return ψ_τ of residuals, with τ from the leverage of their context."""
        a = jnp.maximum(leverage, _LEAST_LEVERAGE)
        most = self.threshold * factor * jnp.sqrt((1.0 + a) / a)
        return jnp.clip(residuals, -most, most)


def _step(belief: Belief, along: jax.Array, rounds: jax.Array, pull: jax.Array) -> Belief:
    """Return the belief after some rounds under the scaled context ``along`` whose residuals sum to ``pull``."""
    covariance = glse.sherman_morrison(belief.covariance, along, rounds)
    return Belief(belief.mean + contract(covariance, along) * pull, covariance)
