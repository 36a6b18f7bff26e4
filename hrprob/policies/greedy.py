r"""Greedy: the estimates taken for the truth, index h_β(θ̂ᵀx, f(φ̂ᵀx)).

Where contexts vary from user to user they explore for free and greedy is hard to
beat; where they do not, it can lock in for good [1]_.

References
----------
.. [1] H. Bastani, M. Bayati, K. Khosravi, "Mostly exploration-free algorithms for
   contextual bandits", Management Science 67(3), 2021.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hrprob.policies.base import register
from hrprob.policies.learners import GLSELearner

__all__ = ["Greedy"]


@register("greedy")
class Greedy(GLSELearner):
    """Serve the action of largest estimated value (GLSE plugged in, no exploration)."""

    def select(self, state: Any, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of h at the estimates."""
        return jnp.argmax(self.known.value(*self.plug_in(state, contexts), beta))
