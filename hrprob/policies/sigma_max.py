r"""σ_max-UCB: optimism about the mean, with the largest variance for every action (Remark 4 of the paper).

Index :math:`1/\Phi((\beta - \hat\theta^\top x)/\sigma_{\max}) + \xi \lVert x\rVert_{V^{-1}}`. The
released program divides by σ²_max instead.
"""

from __future__ import annotations

from typing import ClassVar, Self

import jax

from hrprob._core.errors import check_choice, check_number
from hrprob._core.records import set_frozen, with_fields
from hrprob.numerics.choice import first_largest
from hrprob.numerics.products import contract
from hrprob.policies.base import register
from hrprob.policies.learners import RidgeLearner, RidgeState, norm_of
from hrprob.policies.optimism import Optimist, OptimistState
from hrprob.policies.radii.theory_constants import variance_max_of
from hrprob.problem import Problem

__all__ = ["SigmaMaxUCB"]


@register("sigma-max-ucb", static=("divide_by",))
class SigmaMaxUCB(Optimist[RidgeState], RidgeLearner):  # type: ignore[misc]  # its state contains the estimator's
    """Select the action of largest optimistic lifetime, assuming that every action has the largest variance.

    Parameters
    ----------
    divide_by : {"sigma", "variance"}, default "sigma"
        The divisor of β − θ̂ᵀx: σ_max as in the paper, or σ²_max as in the released program.
    radius : {"paper", "corrected", "explicit", "released", "constant"}, default "released"
        The radii of the sets; see :mod:`hrprob.policies.radii`. "calibrated" needs an estimate of φ, which there is not.
    variance_floor : float, default 0.01
        Used only where c3 or c4 is "computed": the smallest variance considered.

    Examples
    --------
    >>> SigmaMaxUCB(divide_by="variance").divide_by
    'variance'
    """

    estimates_phi: ClassVar[bool] = False

    divide_by: str = "sigma"
    variance_floor: float = 0.01

    def check(self) -> None:
        """Check the divisor and the parameters of the radii."""
        check_choice("divide_by", self.divide_by, ("sigma", "variance"))
        super().check()
        remedy = "it bounds the domain over which c3 and c4 are computed"
        floor = check_number("variance_floor", self.variance_floor, low=0, open_low=True, remedy=remedy)
        set_frozen(self, variance_floor=floor)
        check_number("ridge", self.ridge, low=0, open_low=True, remedy="the radii need λ above 0")

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its width and its variance for this problem."""
        bound = super().bind(problem, users)
        largest = variance_max_of(bound.known, self.variance_max)
        return with_fields(
            bound,
            variance_max=largest if self.divide_by == "sigma" else largest**2,
            divide_by="bound",
            variance_floor=None,
        )

    def select(
        self, state: OptimistState[RidgeState], key: jax.Array, contexts: jax.Array, beta: jax.Array
    ) -> jax.Array:
        """Return the action of largest index."""
        assert self.variance_max is not None  # set by `bind`
        value = self.known.value(contract(contexts, state.learned.theta), self.variance_max, beta)
        return first_largest(
            value + self.width.xi(state.width, state.learned) * norm_of(state.inverse, contexts)
        )
