"""The streaming estimators compared with a pass over all samples in plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrprob._core.precision import double_precision
from hrprob.estimation import glse
from tests.estimation.samples import LINK, assert_same, by_definition, distance, samples

ADD, SHERMAN_MORRISON = jax.jit(glse.add), jax.jit(glse.sherman_morrison)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "d", "ridge"),
    [
        (1, 1, 1.0),
        (100_000, 1, 1.0),
        (3, 4, 0.01),
        (4097, 4, 0.5),
        (100_000, 4, 1.0),
        (20_000, 16, 0.1),
        (100, 64, 0.01),
        (100_000, 64, 1.0),
    ],
)
def test_solve_is_the_definition(n, d, ridge):
    x, r = samples(n + d, n, d)
    statistics = glse.add_samples(glse.empty(d), x, r)
    estimates = glse.solve(statistics, ridge, LINK)
    theta, phi = by_definition(x, r, ridge)
    assert float(statistics.count) == n
    assert estimates.theta.dtype == np.float64
    assert distance(estimates.theta, theta) < 1e-9
    assert distance(estimates.phi, phi) < 1e-9
    inverse = np.linalg.inv(x.T @ x + ridge * np.eye(d))
    assert distance(estimates.inverse, inverse) < 1e-9


def stream(x, r, ridge):
    """All samples one by one, V⁻¹ by rank-one updates, as one compiled loop."""
    d = x.shape[1]

    def step(carry, sample):
        statistics, inverse = carry
        x, r = sample
        return (glse.add(statistics, x, 1.0, r, r * r), glse.sherman_morrison(inverse, x, 1.0)), None

    start = (jax.tree.map(jnp.asarray, glse.empty(d)), jnp.eye(d) / ridge)
    (statistics, inverse), _ = jax.lax.scan(step, start, (x, r))
    return statistics, glse.estimate(statistics, inverse, LINK)


@pytest.mark.parametrize("kind", ["sphere", "one direction"])
def test_a_long_stream_does_not_drift(kind):
    """After 1e5 updates V⁻¹ is off by 4e-15 on the sphere, and the estimates by 1e-14.

    With all contexts within 1e-3 of one direction V has a condition number of 8e4. There V⁻¹
    and θ̂ are off by 5e-12 and φ̂ by 7e-10, and so is the φ̂ of a fresh factorisation: it is not
    the updates that lose digits but the expansion of the squared residuals.
    """
    x, r = samples(8, 100_000, 4)
    if kind == "one direction":
        x = np.array([0.9, 0.1, 0.0, -0.2]) + 1e-3 * x
    with double_precision():
        statistics, estimates = jax.jit(stream)(x, r, 1.0)
    theta, phi = by_definition(x, r, 1.0)
    tolerance = 1e-12 if kind == "sphere" else 1e-8
    assert float(statistics.count) == 100_000
    assert distance(estimates.inverse, np.linalg.inv(x.T @ x + np.eye(4))) < tolerance
    assert distance(estimates.theta, theta) < tolerance
    assert distance(estimates.phi, phi) < tolerance


def test_merged_halves_equal_the_whole():
    x, r = samples(1, 1000, 5)
    whole = glse.add_samples(glse.empty(5), x, r)
    halves = glse.merge(
        glse.add_samples(glse.empty(5), x[:321], r[:321]), glse.add_samples(glse.empty(5), x[321:], r[321:])
    )
    assert_same(halves, whole)
    assert_same(glse.add_samples(glse.add_samples(glse.empty(5), x[:321], r[:321]), x[321:], r[321:]), whole)


def test_chunking_changes_nothing(monkeypatch):
    x, r = samples(2, 103, 3)
    whole = glse.add_samples(glse.empty(3), x, r)
    monkeypatch.setattr(glse, "_CHUNK_ROWS", 10)
    assert_same(glse.add_samples(glse.empty(3), x, r), whole)
    monkeypatch.setattr(glse, "_CHUNK_ENTRIES", 1)
    assert_same(glse.add_samples(glse.empty(3), x, r), whole)


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.lists(st.floats(-5, 5), min_size=0, max_size=8),
)
def test_rounds_of_one_context_enter_together(x, outcomes):
    x, r = np.array(x), np.array(outcomes)
    start = glse.add_samples(glse.empty(3), *samples(3, 10, 3))
    start_inverse = np.linalg.inv(start.gram + np.eye(3))
    with double_precision():
        together = ADD(start, x, float(r.size), r.sum(), (r**2).sum())
        inverse = SHERMAN_MORRISON(start_inverse, x, float(r.size))
        one_by_one, inverse_one_by_one = start, start_inverse
        for outcome in outcomes:
            one_by_one = ADD(one_by_one, x, 1.0, outcome, outcome**2)
            inverse_one_by_one = SHERMAN_MORRISON(inverse_one_by_one, x, 1.0)
    assert_same(together, one_by_one)
    np.testing.assert_allclose(inverse, inverse_one_by_one, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        inverse, np.linalg.inv(np.asarray(together.gram) + np.eye(3)), rtol=1e-11, atol=1e-13
    )


def test_zero_rounds_change_nothing():
    statistics = glse.add_samples(glse.empty(3), *samples(4, 10, 3))
    after = glse.add(statistics, [0.3, -0.2, 0.9], 0, 0.0, 0.0)
    for before, value in zip(statistics, after, strict=True):
        np.testing.assert_array_equal(value, before)
    inverse = np.linalg.inv(statistics.gram + np.eye(3))
    np.testing.assert_array_equal(glse.sherman_morrison(inverse, [0.3, -0.2, 0.9], 0), inverse)


def test_jit_and_vmap_change_nothing():
    trials = [samples(seed, 50, 3) for seed in range(4)]
    x, r = (np.stack(part) for part in zip(*trials, strict=True))

    def fit(x, r):
        statistics = glse.add_samples(glse.empty(3), x, r)
        return glse.solve(statistics, 0.5, LINK)

    with double_precision():
        mapped = jax.jit(jax.vmap(fit))(x, r)
        compiled = jax.jit(fit)(x[0], r[0])
        streamed = jax.jit(jax.vmap(lambda x, r: stream(x, r, 0.5)[1]))(x, r)
    assert_same(compiled, fit(x[0], r[0]))
    for trial in range(4):
        plain = fit(x[trial], r[trial])
        assert_same(jax.tree.map(lambda leaf, trial=trial: leaf[trial], mapped), plain)
        assert_same(jax.tree.map(lambda leaf, trial=trial: leaf[trial], streamed), plain)


def test_the_hot_loop_calls_no_library():
    """A call to BLAS or LAPACK costs more than these small products."""
    x, r = samples(0, 5, 4)
    with double_precision():
        program = str(jax.make_jaxpr(lambda x, r: stream(x, r, 1.0))(x, r))
    for primitive in ("dot_general", "cholesky", "triangular_solve", "custom_call"):
        assert primitive not in program
