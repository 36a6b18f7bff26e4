"""Thompson sampling over θ and φ: serve each user as if one posterior draw were the truth.

References
----------
.. [1] D. Russo, B. Van Roy, A. Kazerouni, I. Osband, Z. Wen, "A tutorial on Thompson
   sampling", Foundations and Trends in Machine Learning 11(1), 2018.
"""

from __future__ import annotations

from typing import ClassVar

import jax

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob.numerics.choice import first_largest
from hrprob.policies.base import register
from hrprob.policies.bayes import BayesLearner, BayesState

__all__ = ["Thompson"]


@register("thompson", static=("capacity", "warm_rows"))
class Thompson(BayesLearner):
    """Serve the best action under one draw of (θ, φ) from the posterior.

    Parameters
    ----------
    scale : float
        Factor on the spread of the posterior: below 1 explores less, 0 is the centre.
    eager : bool
        A new draw, and a new choice, every round. Outcomes of the same stay change the next draw with the
        engine "smc" only; the others learn when the user has left.

    Examples
    --------
    >>> policy = Thompson(engine={"kind": "smc", "particles": 512}, scale=0.5)
    >>> policy.engine.particles, policy.scale
    (512, 0.5)
    """

    design: ClassVar[str] = "thompson"
    trials_apart: ClassVar[bool] = False
    scale: float = 1.0

    def check(self) -> None:
        """Check the scale."""
        set_frozen(self, scale=check_number("scale", self.scale, low=0, remedy="it multiplies a spread"))

    def select(self, state: BayesState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the value at one draw."""
        theta, phi = self.engine.draw_coefficients(self.target, state.belief, key, self.scale)
        return first_largest(self.values_at(theta, phi, contexts, beta))
