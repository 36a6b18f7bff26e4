r"""LinUCB: optimism about the mean, without regard to the variance and to β.

Index :math:`\hat\theta^\top x + \alpha \lVert x\rVert_{V^{-1}}` [1]_. The released program
has no ridge (``ridge=0``) and learns from every round.

References
----------
.. [1] L. Li, W. Chu, J. Langford, R. E. Schapire, "A contextual-bandit approach to
   personalized news article recommendation", WWW 2010.
"""

from __future__ import annotations

import jax

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob.numerics.choice import first_largest
from hrprob.numerics.products import contract
from hrprob.policies.base import register
from hrprob.policies.learners import RidgeLearner, RidgeState, norm_of

__all__ = ["LinUCB"]


@register("linucb")
class LinUCB(RidgeLearner):
    """Select the action of largest upper confidence bound on the mean outcome.

    Parameters
    ----------
    alpha : float, default 1
        α, the factor of ‖x‖ in the index; 0 is greedy on the mean.

    Examples
    --------
    >>> LinUCB(alpha=0.5).alpha
    0.5
    """

    alpha: float = 1.0

    def check(self) -> None:
        """Check α."""
        remedy = "0 is greedy on the mean, 1 the released setting"
        set_frozen(self, alpha=check_number("alpha", self.alpha, low=0, remedy=remedy))

    def select(self, state: RidgeState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest index."""
        mean = contract(contexts, state.theta)
        return first_largest(mean + self.alpha * norm_of(state.inverse, contexts))
