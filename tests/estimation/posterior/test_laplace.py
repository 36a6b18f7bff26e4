"""Laplace's approximation: without data, and for many trials at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.engines import make_engine
from hrprob.models import Stays, pad

from .reference import gathered


@pytest.mark.slow
def test_before_any_data_laplace_is_the_prior(target):
    with double_precision():
        empty = pad(Stays(jnp.zeros((1, 4)), jnp.zeros(1), jnp.zeros(1), jnp.zeros(1)))
        engine = make_engine("laplace")
        normal = jax.jit(lambda: engine.fit(target, [(empty, 1)], engine.init(target)))()
        # A thousand quasi-random points give the prior's moments to a few thousandths.
        np.testing.assert_allclose(normal.mean, 0.0, atol=0.02)
        np.testing.assert_allclose(normal.factor @ normal.factor.T, np.eye(8), atol=0.08)


@pytest.mark.slow
def test_many_trials_side_by_side_are_those_one_by_one(target):
    engine = make_engine({"kind": "laplace", "points": 0})
    with double_precision():
        sets = [jax.tree.map(jnp.asarray, gathered(20, seed)) for seed in range(3)]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *sets)
        one = jax.jit(lambda data: engine.fit(target, [(data, 20)], engine.init(target)))
        many = jax.jit(jax.vmap(lambda d: engine.fit(target, [(d, 20)], engine.init(target)), -1, -1))(
            stacked
        )
        for trial, data in enumerate(sets):
            np.testing.assert_allclose(many.mean[..., trial], one(data).mean, rtol=1e-6, atol=1e-8)
