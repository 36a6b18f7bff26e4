"""Stays that a policy is shown, without a simulation."""

import jax.numpy as jnp
import numpy as np

from hrprob.policies import Seen


def seen(user, row, action=0, **changes):
    context = jnp.asarray([1.0, 0.0, 0.0, 0.0]) * 0.5
    values = {
        "user": jnp.asarray(float(user)),
        "contexts": jnp.zeros((20, 4)),
        "action": jnp.asarray(action),
        "context": context,
        "beta": jnp.zeros(()),
        "played": jnp.asarray(3.0),
        "left": jnp.asarray(True),
        "sampled": jnp.asarray(2.0),
        "total": jnp.asarray(float(row)),
        "squares": jnp.asarray(float(row * row) + 1.0),
        "outcomes": jnp.full(16, float(row)),
    }
    return Seen(**{name: values[name] for name in Seen._fields} | changes)


def some_stays():
    """Contexts, rounds, Σr and Σr² of six stays."""
    rng = np.random.default_rng(4)
    x, m = rng.normal(size=(6, 2)) / 3, rng.integers(1, 4, 6).astype(float)
    total = m * rng.normal(size=6)
    return x, m, total, total**2 / m + rng.chisquare(3, 6)
