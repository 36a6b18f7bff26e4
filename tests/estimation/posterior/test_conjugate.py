"""Draws of θ in its ball."""

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.conjugate import draw_in_ball, prior_precision


def test_draws_in_the_ball_have_the_uniform_prior():
    with double_precision():
        covariance = jnp.eye(4) / prior_precision(4, 2.0)
        keys = jax.random.split(jax.random.key(0), 4000)
        draws = jax.jit(jax.vmap(lambda key: draw_in_ball(key, jnp.zeros(4), covariance, 2.0)))(keys)
        volume = np.sort((np.linalg.norm(draws, axis=1) / 2.0) ** 4)
        # Kolmogorov-Smirnov at a level of 1e-3; one draw in 3000 is pulled onto the sphere.
        assert np.abs(volume - np.arange(1, 4001) / 4000).max() < 1.95 / np.sqrt(4000)
