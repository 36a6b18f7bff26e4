r"""HR-UCB, Algorithm 1 of the paper [1]_.

=============  ==============================  ==========================
symbol         name                            where
=============  ==============================  ==========================
Γ(t) = Kt      ``growth`` = K                  Algorithm 1, line 7
ξ_t(δ)         ``radius``, ``delta``, ``xi``   Section 4.2
Q(x)           ``select``                      Section 4.2
lazy, eager    ``eager``                       Algorithm 1, Remark 3
=============  ==============================  ==========================

.. math:: Q(x) = h_\beta(\hat\theta^\top x, f(\hat\phi^\top x)) + \xi\,\lVert x\rVert_{V^{-1}}

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob.estimation.weighted import Estimates
from hrprob.numerics.choice import first_largest
from hrprob.policies.base import register
from hrprob.policies.learners import GLSELearner, GLSEState
from hrprob.policies.optimism import Optimist, OptimistState
from hrprob.policies.radii.base import Radii

__all__ = ["HRUCB"]


@register("hr-ucb")
class HRUCB(Optimist[GLSEState], GLSELearner):  # type: ignore[misc]  # its state contains the estimator's
    """Select the action of largest upper confidence bound on the expected lifetime (the paper's policy).

    Parameters
    ----------
    growth : float, default 5
        K, the growth of the sample set per user.
    delta : float, default 0.1
        δ, the probability that a confidence set misses the truth.
    radius : {"paper", "corrected", "explicit", "released", "constant", "calibrated", "likelihood-ratio"}, default "released"
        The radii of the confidence sets; see :mod:`hrprob.policies.radii`.
    xi : float, optional
        The radius itself, with ``radius="constant"``.
    scale : float, default 1
        Factor on the radius, with ``radius="likelihood-ratio"``; below 1 nothing is promised.
    variance_max : float, optional
        σ²_max; by default f at the bound of ‖φ‖.
    c1, c2, c3, c4 : float, default 1
        Constants for which the theory gives no values; c3 and c4 may be "computed".

    Examples
    --------
    >>> import hrprob
    >>> policy = HRUCB(growth=5, radius="released", variance_max=2 + 1.74**0.5)
    >>> bound = policy.bind(hrprob.Problem(), users=30000)
    >>> round(float(bound.width.value), 2)
    26.03
    """

    design: ClassVar[str] = "hr-ucb"

    def select(
        self, state: OptimistState[GLSEState], key: jax.Array, contexts: jax.Array, beta: jax.Array
    ) -> jax.Array:
        """Return the action of largest Q."""
        value = self.known.value(*self.plug_in(state.learned, contexts), beta)
        return first_largest(value + self.width.bonus(self, state, contexts))

    def confidence_sets(self, state: OptimistState[GLSEState]) -> tuple[Estimates, Radii]:
        """Return the confidence sets: centres and shapes of two ellipsoids, and their radii."""
        return self.width.confidence_sets(state)
