r"""The best-mean oracle, which knows θ* and ignores variance and β: the limit of policies on the mean.

It selects :math:`\arg\max_x \theta_*^\top x`. LinUCB and σ_max-UCB tend to it as their estimates of
θ* converge (Remark 4 of the paper), so its rate of regret is the rate at which theirs ends.
"""

from __future__ import annotations

import jax

from hrprob.numerics.choice import first_largest
from hrprob.numerics.products import contract
from hrprob.policies.base import register
from hrprob.policies.oracle import Oracle

__all__ = ["MeanOracle"]


@register("mean-oracle")
class MeanOracle(Oracle):
    """Select the action of largest true mean outcome, the limit of LinUCB and σ_max-UCB.

    Examples
    --------
    >>> MeanOracle().kind, MeanOracle.is_oracle
    ('mean-oracle', True)
    """

    def select(self, state: tuple[()], key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest mean."""
        theta, _ = self.truth
        return first_largest(contract(contexts, theta))
