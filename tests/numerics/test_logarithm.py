"""The logarithm that is written out, against NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob.numerics.logarithm import log, log_and_reciprocal


def test_it_is_the_logarithm_over_the_whole_range():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0.5, 2.0, 4000), 10.0 ** rng.uniform(-307, 308, 4000)])
    near_one = 1.0 + 10.0 ** rng.uniform(-15, -3, 1000) * rng.choice([-1, 1], 1000)
    with double_precision():
        # Roundings of e ln 2 and of the series, which may be of opposite sign; next to 1 there is the series alone.
        np.testing.assert_allclose(log(jnp.asarray(x)), np.log(x), rtol=4e-16, atol=5e-16)
        np.testing.assert_allclose(log(jnp.asarray(near_one)), np.log(near_one), rtol=4e-16)
        edges = log(jnp.asarray([0.0, np.inf, -1.0, -np.inf, np.nan, 1e-310]))
    np.testing.assert_array_equal(edges, [-np.inf, np.inf, np.nan, np.nan, np.nan, -np.inf])


def test_with_the_reciprocal_one_division_serves_both():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0.5, 2.0, 4000), 10.0 ** rng.uniform(-307, 306, 4000)])
    with double_precision():
        value, reciprocal = log_and_reciprocal(jnp.asarray(x))
        edges, _ = log_and_reciprocal(jnp.asarray([0.0, -1.0, np.nan]))
        single, _ = log_and_reciprocal(jnp.asarray([4.0], jnp.float32))
    np.testing.assert_allclose(value, np.log(x), rtol=1e-15, atol=5e-16)
    # Three roundings of half a unit each, and one of the division.
    np.testing.assert_allclose(reciprocal, 1.0 / x, rtol=5e-16)
    np.testing.assert_array_equal(edges, [-np.inf, np.nan, np.nan])
    assert single.dtype == jnp.float32


def test_derivatives_are_exact():
    with double_precision():
        first, second = jax.grad(log)(4.0), jax.grad(jax.grad(log))(4.0)
    assert (float(first), float(second)) == (0.25, -0.0625)
