"""Policies that rank actions by what a posterior says, against the same written in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.normal import Normal
from tests.helpers import make

PROBLEM = hrprob.Problem(theta=[0.5, 0.2], phi=[0.3, -0.2], contexts=hrprob.Ball(actions=2))
MEAN = np.array([0.6, -0.1, 0.3, 0.2])
FACTOR = np.diag([0.08, 0.9, 0.1, 0.5])
# The first is known well; of the second little is known, in mean and in variance.
CONTEXTS, BETA = np.array([[0.9, 0.0], [0.3, 0.9]]), -1.0


def in_ball(z, radius):
    """A normal vector in two dimensions as one uniform on a disc."""
    norm = np.linalg.norm(z, axis=-1, keepdims=True)
    return radius * z / norm * np.sqrt(stats.chi2(2).cdf(norm**2))


def values(draws=200_000):
    """The expected lifetime of both actions under draws of the belief."""
    return lifetimes(MEAN + np.random.default_rng(0).normal(size=(draws, 4)) @ FACTOR.T)


def lifetimes(z):
    theta, phi = in_ball(z[:, :2], 1.0), in_ball(z[:, 2:], 2.0)
    u, w = theta @ CONTEXTS.T, phi @ CONTEXTS.T + 2.0
    return 1.0 / stats.norm.cdf((BETA - u) / np.sqrt(w))


def chosen(policy, times=5):
    with double_precision():
        bound = policy.bind(PROBLEM, 10)
        state = bound.init()._replace(belief=Normal(*(jnp.asarray(leaf) for leaf in (MEAN, MEAN, FACTOR))))
        select = jax.jit(lambda key: bound.select(state, key, jnp.asarray(CONTEXTS), BETA))
        return [int(select(jax.random.key(seed))) for seed in range(times)]


def test_bayes_greedy_takes_the_largest_mean():
    found = np.minimum(values(), 1e6).mean(axis=0)
    assert chosen(make("bayes-greedy", {"draws": 4096})) == [int(np.argmax(found))] * 5


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_bayes_ucb_takes_the_largest_quantile(level):
    found = np.quantile(values(), level, axis=0)
    assert chosen(make("bayes-ucb", {"level": level, "draws": 4096})) == [int(np.argmax(found))] * 5


def test_the_tested_quantiles_select_different_actions():
    # Or what is tested here would tell no quantile from another.
    assert {int(np.argmax(np.quantile(values(), level, axis=0))) for level in (0.1, 0.9)} == {0, 1}


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_thompson_takes_the_best_under_one_draw(scale):
    with double_precision():
        noise = [np.asarray(jax.random.normal(jax.random.key(seed), (4,))) for seed in range(30)]
    best = np.argmax(lifetimes(MEAN + scale * np.array(noise) @ FACTOR.T), axis=1).tolist()
    assert chosen(make("thompson", {"scale": scale}), times=30) == best
    assert set(best) == {0, 1}


@pytest.mark.parametrize("kind", ["laplace", "nuts", "svi"])
def test_scale_is_a_factor_on_the_spread(kind):
    with double_precision():
        engine, draws = make_engine(kind), np.random.default_rng(1).normal(size=(512, 4))
        belief = jnp.asarray(draws) if kind == "nuts" else Normal(MEAN, MEAN, jnp.asarray(FACTOR))
        mean = draws.mean(axis=0) if kind == "nuts" else MEAN
        whole, half, none = (
            np.asarray(engine.draw(None, belief, jax.random.key(3), scale)) for scale in (1.0, 0.5, 0.0)
        )
    np.testing.assert_allclose(none, mean, atol=1e-12)
    np.testing.assert_allclose(half - mean, 0.5 * (whole - mean), atol=1e-12)
    assert np.abs(whole - mean).max() > 0.01
