r"""Thompson sampling over θ and φ: serve each user as if one posterior draw were the truth.

With ``temper`` τ the draw is from the tempered posterior,

.. math:: p_\tau(\theta, \phi) \propto p_0(\theta, \phi) \prod_i p(r_i \mid x_i, \theta, \phi)^\tau,

which counts every round as τ rounds: below 1 it is wider, by about τ^{−1/2}, and closer to the prior [2]_ [3]_. ``scale`` widens
the draws about the same centre instead and keeps the prior's weight.

References
----------
.. [1] D. Russo, B. Van Roy, A. Kazerouni, I. Osband, Z. Wen, "A tutorial on Thompson
   sampling", Foundations and Trends in Machine Learning 11(1), 2018.
.. [2] P. Grünwald, T. van Ommen, "Inconsistency of Bayesian inference for misspecified linear models, and a
   proposal for repairing it", Bayesian Analysis 12(4), 2017.
.. [3] P. Alquier, J. Ridgway, "Concentration of tempered posteriors and of their variational approximations",
   Annals of Statistics 48(3), 2020.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import jax

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.records import set_frozen, with_fields
from hrprob.numerics.choice import first_largest
from hrprob.policies.base import register
from hrprob.policies.bayes import BayesLearner, BayesState

if TYPE_CHECKING:
    from hrprob.estimation.posterior.target import Target

__all__ = ["Thompson"]


@register("thompson", static=("capacity", "warm_rows"))
class Thompson(BayesLearner):
    """Serve the best action under one draw of (θ, φ) from the posterior.

    Parameters
    ----------
    scale : float
        Factor on the spread of the posterior: below 1 explores less, 0 is the centre.
    temper : float, optional
        τ, the power of the likelihood; by default 1. The engines "laplace" and "smc" follow it, others refuse it.
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
    temper: float | None = dataclasses.field(default=None, kw_only=True)

    def check(self) -> None:
        """Check the scale, and that the engine can temper where that is asked for."""
        set_frozen(self, scale=check_number("scale", self.scale, low=0, remedy="it multiplies a spread"))
        if self.temper is None:
            return
        remedy = "it is a power of the likelihood: 0.5 counts every round as half a round"
        set_frozen(self, temper=check_number("temper", self.temper, low=0, open_low=True, remedy=remedy))
        if not self.engine.tempers:
            must = f'must be left out with the engine "{self.engine.kind}"'
            raise InvalidInput(
                "temper", must, self.temper, 'take "laplace" or "smc", which follow it exactly'
            )

    @property
    def target(self) -> Target:
        """The posterior that the engine approximates, tempered where that is asked for."""
        return with_fields(super().target, temper=self.temper)

    def select(self, state: BayesState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the value at one draw."""
        theta, phi = self.engine.draw_coefficients(self.target, state.belief, key, self.scale)
        return first_largest(self.values_at(theta, phi, contexts, beta))
