"""Expected lifetimes against mpmath, their limits, the oracle, and the two forms of the regret."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision

# Accuracy to the last digits is that of optimised code.
pytestmark = pytest.mark.optimised

mpmath.mp.dps = 50

levels = st.floats(-1.0, 1.0)
means = st.floats(-1.0, 1.0)
variances = st.floats(0.01, 4.0)


def exact(u, w, beta):
    u, w, beta = (mpmath.mpf(float(value)) for value in (u, w, beta))
    z = (beta - u) / mpmath.sqrt(w)
    probability = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
    slope = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi) / probability**2
    return {
        "probability": probability,
        "log_probability": mpmath.log(probability),
        "h": 1 / probability,
        "du": slope / mpmath.sqrt(w),
        "dw": slope * z / (2 * w),
    }


@pytest.fixture(scope="module")
def cases():
    """Means, variances and levels with (β − u)/√w from −37 (a probability of 1e-300) to 8."""
    rng = np.random.default_rng(5)
    z = np.concatenate([[-37.0], rng.uniform(-37.0, 8.0, 200)])
    w = np.exp(rng.uniform(np.log(1e-3), np.log(4.0), z.size))
    beta = rng.uniform(-1.0, 1.0, z.size)
    u = beta - z * np.sqrt(w)
    return u, w, beta, [exact(*case) for case in zip(u, w, beta, strict=True)]


def worst(values, rows, name):
    return max(
        float(abs(mpmath.mpf(float(value)) / row[name] - 1)) for value, row in zip(values, rows, strict=True)
    )


def test_values_are_accurate_in_the_tails(cases):
    u, w, beta, rows = cases
    assert min(row["probability"] for row in rows) < 1e-299
    assert worst(lifetime.h(u, w, beta), rows, "h") < 1e-12
    assert worst(lifetime.reneging_probability(u, w, beta), rows, "probability") < 1e-12
    assert worst(lifetime.log_reneging_probability(u, w, beta), rows, "log_probability") < 1e-12


def test_gradients_are_right_in_the_tails(cases):
    u, w, beta, rows = cases
    gradient = lifetime.h_gradient(u, w, beta)
    assert worst(gradient.u, rows, "du") < 1e-10
    assert worst(gradient.w, rows, "dw") < 1e-10


@given(levels, st.floats(-1e-9, 1e-9), st.floats(1e-20, 1e-17))
def test_a_small_gap_keeps_its_digits(beta, gap, w):
    u = beta - gap
    assume(abs(beta - u) / np.sqrt(w) < 37)
    expected = exact(u, w, beta)["h"]
    assert float(abs(mpmath.mpf(float(lifetime.h(u, w, beta))) / expected - 1)) < 1e-12


def test_an_infinite_level_gives_one_round():
    assert lifetime.h([0.3, -2.0], [0.0, 2.0], np.inf).tolist() == [1.0, 1.0]
    gradient = lifetime.h_gradient([0.3, -2.0], [0.0, 2.0], np.inf)
    assert gradient.u.tolist() == [0.0, 0.0]
    assert gradient.w.tolist() == [0.0, 0.0]


def test_no_variance_leaves_or_stays_for_certain():
    beta = [0.5, -0.5, 0.0]  # above, below and at u = 0; an outcome equal to β is not below it
    assert lifetime.reneging_probability(0.0, 0.0, beta).tolist() == [1.0, 0.0, 0.0]
    assert lifetime.log_reneging_probability(0.0, 0.0, beta).tolist() == [0.0, -np.inf, -np.inf]
    assert lifetime.h(0.0, 0.0, beta).tolist() == [1.0, np.inf, np.inf]
    gradient = lifetime.h_gradient(0.0, 0.0, beta)
    assert gradient.u.tolist() == [0.0, np.inf, np.inf]
    assert gradient.w.tolist() == [0.0, -np.inf, -np.inf]


def test_no_variance_does_not_spoil_the_derivative_of_a_sum():
    with double_precision():
        w = jnp.asarray([0.0, 1.0, 0.0])
        beta = jnp.asarray([0.5, -0.5, -0.5])
        slopes = jax.grad(lambda w: lifetime.h(0.0, w, beta)[:2].sum())(w)
    assert np.asarray(slopes) == pytest.approx([0.0, float(lifetime.h_gradient(0.0, 1.0, -0.5).w), 0.0])


def test_nan_is_passed_on_and_a_negative_variance_refused():
    assert np.isnan(lifetime.h([np.nan, 0.0, 0.0], [0.0, np.nan, 1.0], [0.0, 0.0, np.nan])).all()
    with pytest.raises(InvalidInput, match="`w` must be at least 0, got -1e-09"):
        lifetime.h(0.0, -1e-9, 0.0)
    with pytest.raises(InvalidInput, match="variance"):
        lifetime.h_gradient(0.0, [1.0, -1.0], 0.0)


@given(means, variances, levels)
def test_gradient_has_the_signs_of_the_theory(u, w, beta):
    gradient = lifetime.h_gradient(u, w, beta)
    assert gradient.u > 0
    assert np.sign(gradient.w) == np.sign(beta - u)


@given(means, variances, levels)
def test_gradient_is_the_limit_of_differences(u, w, beta):
    # A central difference of step s = 1e-5√w is off by about s²h‴/6 ≤ 1e-7 of h near these values.
    assume(abs(beta - u) / np.sqrt(w) < 3)
    gradient, value = lifetime.h_gradient(u, w, beta), lifetime.h(u, w, beta)
    for slope, du, dw in ((gradient.u, 1e-5 * np.sqrt(w), 0.0), (gradient.w, 0.0, 1e-5 * w)):
        difference = lifetime.h(u + du, w + dw, beta) - lifetime.h(u - du, w - dw, beta)
        assert 2 * (du + dw) * slope == pytest.approx(difference, rel=1e-6, abs=1e-11 * value)


def test_jit_and_vmap_change_nothing(cases):
    u, w, beta, _ = cases
    plain = lifetime.h(u, w, beta)
    with double_precision():
        compiled = jax.jit(lifetime.h)(u, w, beta)
        mapped = jax.vmap(lifetime.h)(u, w, beta)
    one_by_one = [lifetime.h(*case) for case in zip(u[:20], w[:20], beta[:20], strict=True)]
    # A compiler may contract β − u and the product; z² times an ulp is 3e-13 at z = −37.
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)
    np.testing.assert_allclose(mapped, plain, rtol=1e-12)
    np.testing.assert_allclose(plain[:20], one_by_one, rtol=1e-12)


def test_plain_values_inside_a_jit():
    with double_precision():
        assert float(jax.jit(lambda y: y + lifetime.h(0.3, 2.0, 0.3))(1.0)) == 3.0


def test_oracle_chooses_the_longest_lifetime_and_the_first_of_equals():
    rng = np.random.default_rng(2)
    u, w, beta = rng.uniform(-1, 1, (12, 20)), rng.uniform(0.01, 4, (12, 20)), rng.uniform(-1, 1, 12)
    lifetimes = lifetime.h(u, w, beta[:, None])
    best = lifetime.oracle(lifetimes)
    for t in range(12):
        probabilities = [float(exact(u[t, a], w[t, a], beta[t])["probability"]) for a in range(20)]
        assert best.action[t] == np.argmin(probabilities)
        assert best.value[t] == pytest.approx(1 / min(probabilities), rel=1e-12)
    assert lifetime.oracle(lifetime.h([0.1, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, 2.0], 0.0)).action == 1
    assert lifetime.oracle(lifetime.h([0.1, 0.5, 0.6], [0.0, 0.0, 0.0], 0.0)).action == 0
    with double_precision():
        mapped = jax.vmap(lifetime.oracle)(lifetimes)
    np.testing.assert_array_equal(mapped.action, best.action)
    across = lifetime.oracle(lifetimes.T, axis=0)
    np.testing.assert_array_equal(across.value, best.value)


def test_pseudo_regret():
    inf = np.inf
    regret = lifetime.pseudo_regret([5.0, 2.0, inf, inf], [3.5, 2.0, inf, 7.0])
    assert regret.tolist() == [1.5, 0.0, 0.0, inf]


def test_round_cost_where_some_stays_never_end():
    inf = np.inf
    cost = lifetime.round_cost(
        best=np.array([inf, inf, 4.0]),
        value=np.array([inf, 2.0, 4.0]),
        probability=np.array([0.0, 0.5, 0.25]),
    )
    assert cost.tolist() == [0.0, inf, 0.0]


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_round_cost_of_a_lifetime_is_the_relative_excess_of_the_probability(one, other):
    p, best = max(one, other), min(one, other)
    cost = lifetime.round_cost(1 / best, 1 / p, p)
    assert float(cost) == pytest.approx((p - best) / best, rel=1e-9, abs=1e-12)
    assert cost >= 0


@given(means, variances, means, variances, levels)
def test_both_forms_of_the_regret_agree_for_one_action(u, w, u_best, w_best, beta):
    chosen, best = lifetime.h(u, w, beta), lifetime.h(u_best, w_best, beta)
    cost = lifetime.round_cost(best, chosen, 1 / chosen)
    # The chosen action is played for h rounds in expectation.
    assert chosen * cost == pytest.approx(
        float(lifetime.pseudo_regret(best, chosen)), rel=1e-9, abs=1e-12 * best
    )


def test_both_forms_of_the_regret_agree_for_any_sequence():
    """Expectation over the stay, summed exactly: actions change with the round, then one is kept."""
    probabilities, best = np.array([0.4, 0.1, 0.7, 0.2, 0.3]), 0.1
    last = 0.25
    reached = np.concatenate([[1.0], np.cumprod(1 - probabilities)])
    costs = lifetime.round_cost(1 / best, 1 / probabilities, probabilities)
    of_last = float(lifetime.round_cost(1 / best, 1 / last, last))
    total = reached[:-1] @ costs + reached[-1] / last * of_last
    stay = reached[:-1].sum() + reached[-1] / last
    assert total == pytest.approx(1 / best - stay, rel=1e-13)
