r"""HR-UCB with exact optimism: h maximised over the confidence sets.

The paper adds to h a bound on its error, C₃·(radius for θ) + C₄·(radius for φ) times
‖x‖, with constants that are suprema over all means and variances and mostly infinite.
They are not needed. A confidence set for θ of radius r_θ confines u = θᵀx to the interval
û ± r_θ‖x‖ in the norm of V⁻¹, one for φ confines w to ŵ ± M_f r_φ‖x‖, and over such a rectangle

.. math:: \max_{u, w} h_\beta(u, w) = \max\{h_\beta(u_+, w_-),\ h_\beta(u_+, w_+)\}

exactly: h increases in u, and given u it increases in w where β > u and decreases where β < u. The
rectangle is clipped to the bounds |u| ≤ R_θ‖x‖ and |φᵀx| ≤ R_φ‖x‖.

Other objectives are evaluated at the same two corners; those of hrprob increase in the mean
(a total reward does where the mean is positive).

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019, Section 4.2.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hrprob.numerics.products import contract
from hrprob.policies.base import register
from hrprob.policies.hr_ucb import HRUCB
from hrprob.policies.learners import norm_of
from hrprob.policies.optimism import OptimistState
from hrprob.problem import Known

__all__ = ["HRUCBExact", "largest_value"]


def largest_value(
    known: Known,
    contexts: jax.Array,
    beta: jax.Array,
    u: tuple[jax.Array, jax.Array],
    w: tuple[jax.Array, jax.Array],
    floor: Any,
) -> jax.Array:
    """Return the largest value of each action (actions,) over intervals of u and w, each (centre, half width)."""
    length = jnp.sqrt(contract(contexts, contexts))
    most_u, most_v = known.bounds.theta * length, known.bounds.phi * length
    least, most = jnp.maximum(known.link(-most_v), floor), jnp.maximum(known.link(most_v), floor)
    high = jnp.clip(u[0] + u[1], -most_u, most_u)
    ends = (jnp.clip(w[0] + side * w[1], least, most) for side in (-1.0, 1.0))
    low_risk, high_risk = (known.value(high, end, beta) for end in ends)
    return jnp.maximum(low_risk, high_risk)


@register("hr-ucb-exact")
class HRUCBExact(HRUCB):
    """Select the action of largest expected lifetime within the two confidence sets.

    Parameters
    ----------
    growth, delta, radius, xi, variance_max, c1, c2
        The sample set and the radii of the confidence sets; see :mod:`hrprob.policies.radii`.
    c3, c4
        Not used: no bound on the derivatives of h is needed.
    ridge, variance_floor, project, samples, eager, warmup
        As for every policy on the GLSE.

    Examples
    --------
    >>> import hrprob
    >>> run = hrprob.simulate(hrprob.Problem(), HRUCBExact(radius="corrected"), users=20, trials=2)  # slow
    >>> run.sizes["user"]
    20
    """

    def select(self, state: OptimistState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest value within the sets."""
        u, w = self.plug_in(state.learned, contexts)
        norm, radii = norm_of(state.inverse, contexts), self.width.radii(state.width, state.learned)
        half_u, half_w = radii.theta * norm, self.known.link.slope * radii.phi * norm
        return jnp.argmax(
            largest_value(self.known, contexts, beta, (u, half_u), (w, half_w), self.variance_floor)
        )
