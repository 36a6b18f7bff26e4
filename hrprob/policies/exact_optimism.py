r"""HR-UCB with exact optimism: h maximised over the confidence sets.

The paper adds to h a bound on its error, C₃·(radius for θ) + C₄·(radius for φ) times
‖x‖, with constants that are suprema over all means and variances and mostly infinite.
They are not needed. A confidence set for θ of radius r_θ confines u = θᵀx to the interval
û ± r_θ‖x‖ in the norm of V⁻¹, one for φ confines w to ŵ ± M_f r_φ‖x‖, and over such a rectangle

.. math:: \max_{u, w} h_\beta(u, w) = \max\{h_\beta(u_+, w_-),\ h_\beta(u_+, w_+)\}

exactly: h increases in u, and given u it increases in w where β > u and decreases where β < u. The
rectangle is clipped to the bounds |u| ≤ R_θ‖x‖ and |φᵀx| ≤ R_φ‖x‖.

With ``radius = "likelihood-ratio"`` there is one joint set for (θ, φ) instead of two, and h is maximised over the
boundary of what it allows for (u, w) (:mod:`hrprob.policies.radii.likelihood_ratio`).

Other objectives are evaluated at the same two corners; those of hrprob increase in the mean
(a total reward does where the mean is positive).

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019, Section 4.2.
"""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob.numerics.choice import first_largest
from hrprob.policies.base import register
from hrprob.policies.hr_ucb import HRUCB
from hrprob.policies.learners import GLSEState
from hrprob.policies.optimism import OptimistState

__all__ = ["HRUCBExact"]


@register("hr-ucb-exact")
class HRUCBExact(HRUCB):
    """Select the action of largest expected lifetime within the two confidence sets.

    Parameters
    ----------
    growth, delta, radius, xi, scale, variance_max, c1, c2
        The sample set and the radii of the confidence sets; see :mod:`hrprob.policies.radii`.
    c3, c4 : float, default 1
        Not used: no bound on the derivatives of h is needed.

    Examples
    --------
    >>> import hrprob
    >>> run = hrprob.simulate(hrprob.Problem(), HRUCBExact(radius="corrected"), users=20, trials=2)  # slow
    >>> run.sizes["user"]
    20
    """

    long_program: ClassVar[bool] = True

    def select(
        self, state: OptimistState[GLSEState], key: jax.Array, contexts: jax.Array, beta: jax.Array
    ) -> jax.Array:
        """Return the action of largest value within the sets."""
        return first_largest(self.width.largest_values(self, state, contexts, beta))
