"""Thompson sampling in closed form, against the same in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from tests.helpers import make
from tests.policies.stays import seen, some_stays


@pytest.mark.parametrize("kind", ["thompson-known-variance", "thompson-homoscedastic"])
def test_closed_forms_are_those_of_all_rounds_at_once(kind):
    rng = np.random.default_rng(0)
    x, m, total = rng.normal(size=(6, 4)) / 4, rng.integers(1, 4, 6).astype(float), rng.normal(size=6)
    with double_precision():
        bound = make(kind, {}).bind(hrprob.Problem(), users=10)
        state = bound.init()
        for row in range(6):
            each = {
                "context": jnp.asarray(x[row]),
                "sampled": jnp.asarray(m[row]),
                "total": jnp.asarray(total[row]),
            }
            state = bound.update(state, seen(row + 1, 0, **each))
    known = kind == "thompson-known-variance"
    w = x @ np.array([0.5, 0.2, 0.8, 0.9]) + 2 if known else np.ones(6)
    precision = (6.0 if known else 1.0) * np.eye(4) + (x.T * (m / w)) @ x
    np.testing.assert_allclose(state.covariance, np.linalg.inv(precision), rtol=1e-9)
    np.testing.assert_allclose(state.sum_rx, x.T @ (total / w), rtol=1e-9)


CONTEXTS = np.array([[0.9, 0.1], [0.2, 0.9], [-0.4, 0.6], [0.5, -0.7]])
SMALL = hrprob.Problem(theta=[0.5, 0.2], phi=[0.9, -1.2], contexts=hrprob.Ball(actions=4))


@jax.jit
def picks(bound, state, keys, beta):
    return jax.vmap(lambda key: bound.select(state, key, jnp.asarray(CONTEXTS), beta))(keys)


def choices(kind, parameters, keys, beta):
    """Let a policy learn from these stays; return what it then serves under each key."""
    bound = make(kind, parameters).bind(SMALL, users=10)
    state, update = bound.init(), jax.jit(bound.update)
    for row, (x, m, total, squares) in enumerate(zip(*some_stays(), strict=True)):
        state = update(state, seen(row + 1, 0, context=x, sampled=m, total=total, squares=squares))
    return picks(bound, state, keys, beta).tolist()


def best(theta, w, beta):
    """The action of the longest expected life under each θ (draws, 2)."""
    return np.argmax(1.0 / stats.norm.cdf((beta - theta @ CONTEXTS.T) / np.sqrt(w)), axis=1).tolist()


def test_thompson_with_known_variance_serves_the_best_action_under_its_draw():
    x, m, total, _ = some_stays()
    w, beta = x @ SMALL.phi + 2, -0.3
    # Under N(0, I/4), truncated to the ball, with 4 = d + 2 subtracted from the precision: a uniform prior on the ball.
    covariance = np.linalg.inv(4.0 * np.eye(2) + (x.T * (m / w)) @ x)
    mean, factor = covariance @ x.T @ (total / w), np.linalg.cholesky(covariance)
    with double_precision():
        keys = jax.random.split(jax.random.key(0), 40)

        @jax.jit
        @jax.vmap
        def numbers(key):
            by_noise, by_probability = jax.random.split(key)
            return jax.random.normal(by_noise, (32, 2)), jax.random.uniform(by_probability, (32,))

        noise, probability = (np.asarray(leaf) for leaf in numbers(keys))
        for scale in (1.0, 0.4):
            tries = mean + scale * noise @ factor.T
            size = np.sum(tries**2, axis=-1)
            kept = (size <= 1) & (probability < np.exp(2.0 * (size - 1)))
            assert kept.any(axis=1).all()
            theta = tries[np.arange(40), np.argmax(kept, axis=1)]
            wanted = best(theta, CONTEXTS @ SMALL.phi + 2, beta)
            assert choices("thompson-known-variance", {"scale": scale}, keys, beta) == wanted
            assert len(set(wanted)) > 1


@pytest.mark.slow
def test_homoscedastic_thompson_serves_the_best_action_under_its_draw():
    x, m, total, squares = some_stays()
    shape, ridge, beta = 1.5, 0.7, -0.3
    covariance = np.linalg.inv(ridge * np.eye(2) + (x.T * m) @ x)
    mean, factor = covariance @ x.T @ total, np.linalg.cholesky(covariance)
    # Σ(r − θ̂ᵀx)² + λ|θ̂|², stay by stay.
    rest = np.sum(squares - 2 * total * (x @ mean) + m * (x @ mean) ** 2) + ridge * mean @ mean
    with double_precision():
        keys = jax.random.split(jax.random.key(0), 40)

        @jax.jit
        @jax.vmap
        def numbers(key):
            by_gamma, by_noise = jax.random.split(key)
            return jax.random.gamma(by_gamma, shape + 0.5 * m.sum()), jax.random.normal(by_noise, (2,))

        gamma, noise = (np.asarray(leaf) for leaf in numbers(keys))
        variance = (shape * 2.0 + 0.5 * rest) / gamma[:, None]
        for scale in (1.0, 0.4):
            theta = mean + scale * np.sqrt(variance) * noise @ factor.T
            wanted = best(theta, variance, beta)
            parameters = {"scale": scale, "shape": shape, "ridge": ridge}
            assert choices("thompson-homoscedastic", parameters, keys, beta) == wanted
            assert len(set(wanted)) > 1
