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

import dataclasses
from typing import Any, Self

import jax
import jax.numpy as jnp

from hrprob.policies.learners import GLSELearner, GLSEState, norm_of
from hrprob.policies.radius import check_radius, width_of
from hrprob.policies.registry import register
from hrprob.problem import Problem
from hrprob.record import with_fields

__all__ = ["HRUCB"]


@register("hr-ucb", static=("radius",))
class HRUCB(GLSELearner):
    """Serve the action of largest optimistic lifetime (the paper's policy).

    Parameters
    ----------
    growth : float
        K, the growth of the sample set a user.
    delta : float
        δ, the chance that a confidence set misses.
    radius : {"paper", "corrected", "released", "constant"}
        Which ξ; see :mod:`hrprob.policies.radius`.
    xi : float, optional
        ξ itself, with ``radius="constant"``.
    variance_max : float, optional
        σ²_max; f at the bound of φ unless given.
    c1, c2, c3, c4 : float
        Constants that the theory leaves open; c3 and c4 may be "computed".
    ridge, variance_floor, eager, warmup
        As for every policy on the GLSE.

    Examples
    --------
    >>> import hrprob
    >>> policy = HRUCB(growth=5, radius="released", variance_max=2 + 1.74**0.5)
    >>> bound = policy.bind(hrprob.Problem(), users=30000)
    >>> round(float(bound.width.xi), 2)
    26.03
    """

    growth: Any = dataclasses.field(default=5.0, kw_only=True)
    delta: Any = 0.1
    radius: Any = "released"
    xi: Any = None
    variance_max: Any = None
    c1: Any = 1.0
    c2: Any = 1.0
    c3: Any = 1.0
    c4: Any = 1.0
    width: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Check what bears on ξ."""
        check_radius(self)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its width settled for this problem."""
        bound = super().bind(problem, users)
        # The width says it all from here on: without the rest, radii that are numbers share a program.
        spent = dict.fromkeys(("delta", "xi", "variance_max", "c1", "c2", "c3", "c4"))
        return with_fields(bound, width=width_of(self, bound.known), radius="settled", **spent)

    def select(self, state: GLSEState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of Q."""
        value = self.known.value(*self.plug_in(state, contexts), beta)
        return jnp.argmax(value + self.width(state.taken) * norm_of(state.inverse, contexts))
