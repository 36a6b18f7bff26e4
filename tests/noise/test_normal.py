"""The normal noise against mpmath, to the ends of float64."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.noise import NORMAL, Normal

# Accuracy to the last digits is that of optimised code.
pytestmark = pytest.mark.optimised

mpmath.mp.dps = 50

# From a probability of reneging of 1e-300 to one that rounds to 1, with both sides of every switch of formula.
POINTS = np.concatenate([np.linspace(-37.0, 9.0, 139), [-6.0 - 1e-12, -6.0, -6.0 + 1e-12, 0.0, -1e-300]])


def exact(z):
    """Φ, its logarithm, 1/Φ with two derivatives, and the second derivative of ln Φ."""
    z = mpmath.mpf(float(z))
    probability = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
    m = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi) / probability
    return {
        "cdf": probability,
        "log_cdf": mpmath.log(probability),
        "inverse": 1 / probability,
        "first": -m / probability,
        "second": m * (2 * m + z) / probability,
        "log_first": m,
        "log_second": -m * (z + m),
    }


@pytest.fixture(scope="module")
def reference():
    return [exact(z) for z in POINTS]


def worst(values, reference, name):
    return max(
        float(abs(mpmath.mpf(float(value)) / row[name] - 1))
        for value, row in zip(values, reference, strict=True)
    )


@pytest.mark.parametrize(
    ("name", "function"),
    [("cdf", NORMAL.cdf), ("log_cdf", NORMAL.log_cdf), ("inverse", NORMAL.reciprocal_cdf)],
)
def test_values_are_accurate_in_the_tails(reference, name, function):
    assert worst(function(POINTS), reference, name) < 1e-12


@pytest.mark.parametrize("width", [1e-9, 0.004, 0.006, 0.05, 0.7, 9.0, 40.0])
def test_the_mean_of_lifetimes_between_two_points(width):
    """On both sides of each switch of formula, against Gauss-Legendre sums over short panels."""
    low = np.array([-37.0, -20.3, -9.1, -3.2, -1.2, -1.0, -0.8, 0.0, 0.9, 3.0, 7.5])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    wanted = []
    for z in low:
        edges = np.unique(
            [*np.linspace(z, z + min(width, 45 / (1 + abs(z))), 60), *np.linspace(z, z + width, 60)]
        )
        half = np.diff(edges)[:, None] / 2
        t = edges[:-1, None] + half * (1 + nodes)
        wanted.append(np.sum(half * weights * np.exp(-log_ndtr(t))) / (edges[-1] - edges[0]))
    np.testing.assert_allclose(NORMAL.mean_reciprocal_cdf(low, low + width), wanted, rtol=2e-11)


def test_the_mean_of_lifetimes_at_its_limits():
    assert NORMAL.mean_reciprocal_cdf(-0.3, -0.3) == NORMAL.reciprocal_cdf(-0.3)
    assert NORMAL.mean_reciprocal_cdf([-39.0, -50.0], [-38.9, 3.0]).tolist() == [np.inf, np.inf]
    assert NORMAL.mean_reciprocal_cdf(9.5, 12.0) == 1.0


@pytest.mark.parametrize(
    ("name", "function", "order"),
    [
        ("first", NORMAL.reciprocal_cdf, 1),
        ("second", NORMAL.reciprocal_cdf, 2),
        ("log_first", NORMAL.log_cdf, 1),
        ("log_second", NORMAL.log_cdf, 2),
    ],
)
@pytest.mark.parametrize("differentiate", [jax.grad, jax.jacfwd])
def test_derivatives_are_accurate_in_the_tails(reference, name, function, order, differentiate):
    for _ in range(order):
        function = differentiate(function)
    with double_precision():
        values = np.asarray(jax.vmap(function)(jnp.asarray(POINTS)))
    assert worst(values, reference, name) < 1e-11


def test_log_cdf_is_accurate_where_the_probability_underflows():
    for z in (-40.0, -1e3, -1e8):
        exact_log = mpmath.log(mpmath.erfc(-mpmath.mpf(z) / mpmath.sqrt(2)) / 2)
        assert float(NORMAL.log_cdf(z)) == pytest.approx(float(exact_log), rel=1e-14)


def test_limits():
    assert NORMAL.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    assert NORMAL.log_cdf([-np.inf, np.inf]).tolist() == [-np.inf, 0.0]
    assert NORMAL.reciprocal_cdf([-np.inf, -39.0, np.inf]).tolist() == [np.inf, np.inf, 1.0]
    assert np.isnan(NORMAL.reciprocal_cdf(np.nan))
    with double_precision():
        slopes = [float(jax.grad(NORMAL.reciprocal_cdf)(z)) for z in (-jnp.inf, jnp.inf)]
    assert slopes == [0.0, 0.0]


@given(st.floats(-8.0, 8.0))
def test_both_tails_add_up_to_one(z):
    assert float(NORMAL.cdf(z) + NORMAL.cdf(-z)) == pytest.approx(1.0, abs=1e-15)


# Above 5 the value is so close to 1 that a step may be lost to rounding.
@given(st.floats(-37.0, 5.0), st.floats(1e-6, 1.0))
def test_a_higher_level_shortens_the_stay(z, step):
    assert NORMAL.reciprocal_cdf(z + step) < NORMAL.reciprocal_cdf(z)


def test_pdf_is_the_slope_of_cdf():
    z = np.linspace(-8.0, 8.0, 33)
    with double_precision():
        slope = np.asarray(jax.vmap(jax.grad(NORMAL.cdf))(jnp.asarray(z)))
    np.testing.assert_allclose(NORMAL.pdf(z), slope, rtol=1e-13)


def test_draws_are_standardised_float64():
    n = 200_000
    with double_precision():
        keys = trial_keys(3, np.arange(2))
        draws = np.asarray(NORMAL.draw(Source(keys, jnp.arange(n // 20, dtype=jnp.uint32)), 10))
    assert draws.shape == (n // 20, 10, 2)
    assert draws.dtype == np.float64
    # Five standard errors: 1/√n for the mean, √(2/n) for the variance, √(.25/n) for a median count.
    assert abs(draws.mean()) < 5 / np.sqrt(n)
    assert abs(draws.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((draws < NORMAL.cdf(0.0) - 0.5).mean() - 0.5) < 5 * np.sqrt(0.25 / n)


def test_plain_calls_leave_the_global_switch_alone():
    before = jax.config.jax_enable_x64
    assert NORMAL.cdf(0.3).dtype == np.float64
    assert jax.config.jax_enable_x64 == before


def test_normal_is_a_pytree_without_leaves():
    assert jax.tree.leaves(Normal()) == []
    with double_precision():
        compiled = jax.jit(lambda noise, z: noise.reciprocal_cdf(z))(Normal(), jnp.asarray(POINTS))
    np.testing.assert_allclose(compiled, NORMAL.reciprocal_cdf(POINTS), rtol=1e-14)


def test_the_normal_has_a_log_density():
    np.testing.assert_allclose(np.exp(Normal().log_pdf([-3.0, 0.0])), NORMAL.pdf([-3.0, 0.0]), rtol=1e-15)
