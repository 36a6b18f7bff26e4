r"""σ_max-UCB: optimism about the mean, every variance taken for the largest (Remark 4 of the paper).

Index :math:`1/\Phi((\beta - \hat\theta^\top x)/\sigma_{\max}) + \xi \lVert x\rVert_{V^{-1}}`. The
released program divides by σ²_max instead.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import jax
import jax.numpy as jnp

from hrprob.errors import check_choice, check_number
from hrprob.estimation.contraction import contract
from hrprob.policies.learners import RidgeLearner, RidgeState, norm_of
from hrprob.policies.radius import check_radius, variance_max_of, width_of
from hrprob.policies.registry import register
from hrprob.problem import Problem
from hrprob.record import with_fields

__all__ = ["SigmaMaxUCB"]


@register("sigma-max-ucb", static=("radius", "divide_by"))
class SigmaMaxUCB(RidgeLearner):
    """Serve the action of largest optimistic lifetime if all had the largest variance.

    Parameters
    ----------
    divide_by : {"sigma", "variance"}
        What β − θ̂ᵀx is divided by: σ_max as in the text, or σ²_max as in the released program.
    growth, delta, radius, xi, variance_max, c1, c2, c3, c4
        As for HR-UCB.
    variance_floor : float
        Bears on c3 and c4 only, where these are "computed".
    """

    growth: Any = dataclasses.field(default=5.0, kw_only=True)
    divide_by: Any = "sigma"
    delta: Any = 0.1
    radius: Any = "released"
    xi: Any = None
    variance_max: Any = None
    c1: Any = 1.0
    c2: Any = 1.0
    c3: Any = 1.0
    c4: Any = 1.0
    variance_floor: Any = 0.01
    width: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Check what bears on ξ and on the division."""
        check_choice("divide_by", self.divide_by, ("sigma", "variance"))
        check_radius(self)
        floor_remedy = "it bounds the domain over which c3 and c4 are computed"
        check_number("variance_floor", self.variance_floor, low=0, open_low=True, remedy=floor_remedy)
        remedy = "the width needs λ above 0"
        check_number("ridge", self.ridge, low=0, open_low=True, remedy=remedy)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its width and its variance settled for this problem."""
        bound = super().bind(problem, users)
        largest = variance_max_of(bound.known, self.variance_max)
        spent = dict.fromkeys(("delta", "xi", "c1", "c2", "c3", "c4", "variance_floor"))
        return with_fields(
            bound,
            width=width_of(self, bound.known),
            variance_max=largest if self.divide_by == "sigma" else largest**2,
            radius="settled",
            divide_by="settled",
            **spent,
        )

    def select(self, state: RidgeState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the index."""
        value = self.known.value(contract(contexts, state.theta), self.variance_max, beta)
        return jnp.argmax(value + self.width(state.taken) * norm_of(state.inverse, contexts))
