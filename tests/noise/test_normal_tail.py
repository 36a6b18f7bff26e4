"""1/Φ and the exponential that are written out: where their coefficients come from, and how accurate they are."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.noise import NORMAL
from hrprob.noise.normal_tail import COEFFICIENTS
from hrprob.numerics.exponential import LEAST, exp_of_negative


def _smooth(q: mpmath.mpf) -> mpmath.mpf:
    """Return (a + 5) exp(a²/2) Φ(−a) at a = 5(1 + q)/(1 − q)."""
    a = 5 * (1 + q) / (1 - q)
    if a < 60:
        return (a + 5) * mpmath.exp(a * a / 2) * mpmath.ncdf(-a)
    fraction = mpmath.mpf(0)
    for k in range(200, 0, -1):
        fraction = k / (a + fraction)
    return (a + 5) / (a + fraction) / mpmath.sqrt(2 * mpmath.pi)


def test_coefficients_are_those_of_chebyshev_interpolation() -> None:
    with mpmath.workdps(60):
        n = len(COEFFICIENTS)
        nodes = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
        values = mpmath.matrix([_smooth(q) for q in nodes])
        powers = mpmath.matrix([[q**k for k in range(n)] for q in nodes])
        derived = mpmath.lu_solve(powers, values)
        assert [float(value) for value in derived] == list(COEFFICIENTS)


@pytest.mark.optimised
def test_reciprocal_is_accurate_down_to_its_limit() -> None:
    z = np.concatenate([np.linspace(-37.5, 9.0, 400), np.linspace(-3.0, 3.0, 200)])
    with mpmath.workdps(40):
        exact = np.array([float(1 / mpmath.ncdf(x)) for x in z.tolist()])
    # The exponent a²/2 is rounded to half a unit of its last digit, 6e-14 at a = 37.5.
    errors = np.abs(np.asarray(NORMAL.reciprocal_cdf(z)) / exact - 1.0)
    assert errors.max() < 1.2e-13
    assert errors[z > -8.0].max() < 6e-15
    assert NORMAL.reciprocal_cdf(0.0) == 2.0


def test_limits_of_the_reciprocal() -> None:
    below = NORMAL.reciprocal_cdf(np.array([-37.7, -40.0, -1e200, -np.inf]))
    assert np.all(np.isposinf(below))
    assert NORMAL.reciprocal_cdf(np.inf) == 1.0
    assert np.isnan(NORMAL.reciprocal_cdf(np.nan))


@pytest.mark.optimised
def test_exponential() -> None:
    x = np.linspace(LEAST, 0.0, 20001)
    with double_precision():
        found = np.asarray(jax.jit(exp_of_negative)(x))
        assert float(exp_of_negative(jnp.asarray(-math.inf))) == found[0]
    np.testing.assert_allclose(found, np.exp(x), rtol=6e-16)
