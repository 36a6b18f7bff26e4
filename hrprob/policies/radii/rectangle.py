"""The largest value of an action over an interval of its mean and one of its variance."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob.numerics.products import contract
from hrprob.problem import Known

__all__ = ["largest_value"]


def largest_value(
    known: Known,
    contexts: jax.Array,
    beta: jax.Array,
    u: tuple[jax.Array, jax.Array],
    w: tuple[jax.Array, jax.Array],
    floor: float,
) -> jax.Array:
    """Return the largest value of each action (actions,) over intervals of u and w, each (centre, half width)."""
    length = jnp.sqrt(contract(contexts, contexts))
    most_u, most_v = known.bounds.theta * length, known.bounds.phi * length
    least, most = jnp.maximum(known.link(-most_v), floor), jnp.maximum(known.link(most_v), floor)
    high = jnp.clip(u[0] + u[1], -most_u, most_u)
    ends = jnp.stack([jnp.clip(w[0] + side * w[1], least, most) for side in (-1.0, 1.0)])
    return known.largest_value(high[None], ends, beta)
