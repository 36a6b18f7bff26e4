"""The map onto the ball: exact against mpmath, smooth everywhere, uniform."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.models.ball import from_ball, log_volume, to_ball
from hrprob.models.priors import BallTransform

mpmath.mp.dps = 40


def exact_length(norm, d):
    """F_d(|z|²)^{1/d} with 40 digits."""
    s = mpmath.mpf(norm) ** 2 / 2
    return mpmath.gammainc(mpmath.mpf(d) / 2, 0, s, regularized=True) ** (mpmath.mpf(1) / d)


@pytest.mark.parametrize("d", [1, 4, 7, 65])
def test_lengths_are_those_of_the_definition(d):
    switch = float(np.sqrt(d))
    norms = np.array([1e-9, 1e-3, 0.5, 1.0, switch - 1e-9, switch, switch + 1e-9, 3.0, switch + 6])
    with double_precision():
        lengths = np.asarray(jax.jit(to_ball)(norms[:, None] * np.eye(d)[0], 1.0))[:, 0]
    wanted = np.array([float(exact_length(float(norm), d)) for norm in norms])
    np.testing.assert_allclose(lengths, wanted, rtol=1e-13 if d < 65 else 1e-12)


@pytest.mark.parametrize("d", [1, 4])
def test_three_derivatives_are_right_near_zero_at_the_switch_and_far_out(d):
    def along(t):
        return to_ball(t * jnp.eye(d)[0], 1.0)[0]

    def orders(t):
        one = jax.jvp(along, (t,), (1.0,))[1]
        two = jax.jvp(lambda t: jax.jvp(along, (t,), (1.0,))[1], (t,), (1.0,))[1]
        three = jax.grad(jax.grad(jax.grad(along)))(t)
        return jnp.stack([along(t), one, two, three])

    near = [0.1, np.sqrt(d) - 1e-6, np.sqrt(d) + 1e-6, 5.0]
    with double_precision():
        got = np.asarray(jax.jit(jax.vmap(orders))(jnp.asarray([*near, 0.0, 40.0, 1e6, 1e150])))
    for at, row in zip(near, got, strict=False):
        wanted = mpmath.taylor(lambda t: exact_length(t, d), at, 3)
        wanted = [float(wanted[order] * mpmath.factorial(order)) for order in range(4)]
        np.testing.assert_allclose(row, wanted, rtol=1e-7, atol=1e-9)
    # At the centre the map is odd: a slope, no second derivative, a finite third. Far out it has
    # arrived at the sphere and stays there.
    assert np.all(np.isfinite(got))
    assert got[4, 1] > 0
    assert abs(got[4, 2]) < 1e-12
    np.testing.assert_allclose(got[5:, 0], 1.0, rtol=1e-13)


def test_the_inverse_map():
    rng = np.random.default_rng(0)
    with double_precision():
        for d in (1, 4):
            z = rng.normal(size=(50, d))
            back = jax.jit(lambda z: from_ball(to_ball(z, 2.0), 2.0))(z)
            np.testing.assert_allclose(back, z, atol=1e-8)
        assert np.all(np.asarray(from_ball(jnp.zeros(3), 2.0)) == 0.0)


@pytest.mark.parametrize("d", [2, 3])
def test_log_determinant_is_that_of_the_jacobian(d):
    with double_precision():
        onto = BallTransform(2.0)
        z = jnp.asarray(np.random.default_rng(d).normal(size=(5, d)))
        jacobian = jax.jit(jax.vmap(jax.jacfwd(onto)))(z)
        _, wanted = np.linalg.slogdet(np.asarray(jacobian))
        np.testing.assert_allclose(onto.log_abs_det_jacobian(z, onto(z)), wanted, atol=1e-10)


def test_volume():
    assert float(jnp.exp(log_volume(3, 2.0))) == pytest.approx(4 / 3 * np.pi * 8, rel=1e-5)
