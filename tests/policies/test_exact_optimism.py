"""The largest value over a rectangle, compared with a grid."""

import jax.numpy as jnp
import numpy as np

import hrprob
from hrprob._core.precision import double_precision
from hrprob.policies.radii.rectangle import largest_value
from tests.policies.problems import PROBLEM


def test_the_largest_value_is_the_maximum_over_the_rectangle() -> None:
    rng = np.random.default_rng(0)
    with double_precision():
        known = PROBLEM.known(10)
        contexts = rng.normal(size=(6, 3))
        contexts *= rng.uniform(size=(6, 1)) / np.linalg.norm(contexts, axis=1, keepdims=True)
        length = np.linalg.norm(contexts, axis=1)
        for beta in (-1.0, 0.1, 0.9):
            u, w = (
                (rng.uniform(-0.5, 0.5, 6), rng.uniform(0, 0.4, 6)),
                (rng.uniform(1, 3, 6), rng.uniform(0, 1, 6)),
            )
            got = largest_value(known, jnp.asarray(contexts), beta, u, w, 0.01)
            low_w, high_w = (np.clip(w[0] + s * w[1], 2 - 1.6 * length, 2 + 1.6 * length) for s in (-1, 1))
            low_u, high_u = (np.clip(u[0] + s * u[1], -length, length) for s in (-1, 1))
            grid = [
                hrprob.h(low_u + a * (high_u - low_u), low_w + b * (high_w - low_w), beta)
                for a in np.linspace(0, 1, 21)
                for b in np.linspace(0, 1, 21)
            ]
            np.testing.assert_allclose(got, np.max(grid, axis=0), rtol=1e-12)
