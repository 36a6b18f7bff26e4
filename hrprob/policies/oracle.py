"""The oracle, which knows θ* and φ* and has no regret (Section 4.2 of the paper)."""

from __future__ import annotations

from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.records import set_later, with_fields
from hrprob.lifetime import oracle
from hrprob.numerics.products import contract
from hrprob.policies.base import Policy, Seen, register
from hrprob.problem import Problem

__all__ = ["Oracle"]


@register("oracle")
class Oracle(Policy[tuple[()]]):
    """Select the action of largest true value, the reference for the regret.

    Examples
    --------
    Its regret is 0, whoever comes:

    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), Oracle(), users=50, trials=2)  # slow
    >>> float(result.regret.max())
    0.0
    """

    knows_truth: ClassVar[bool] = True
    is_oracle: ClassVar[bool] = True
    truth: tuple[np.ndarray, np.ndarray] = set_later()

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with θ* and φ* of this problem."""
        return with_fields(super().bind(problem, users), truth=(problem.theta, problem.phi))

    def init(self) -> tuple[()]:
        """Return an empty state."""
        return ()

    def select(self, state: tuple[()], key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest true value."""
        theta, phi = self.truth
        u, w = contract(contexts, theta), jnp.maximum(self.known.link(contract(contexts, phi)), 0.0)
        return oracle(self.known.value(u, w, beta)).action

    def update(self, state: tuple[()], seen: Seen) -> tuple[()]:
        """Return the state unchanged."""
        return state
