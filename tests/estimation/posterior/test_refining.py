"""Draws that are moved from an approximation to the posterior: from far off, in many directions, at an edge."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior import refining
from hrprob.estimation.posterior.resampling import effective_size, largest_power, systematic

# As it is: all other tests leave draws as they are.
IS_NEAR = refining.is_near


def moved(density, q, start, seed=0):
    """Draws of one group of particles, tempered from q to a density."""
    with double_precision():
        group = functools.partial(refining._group, density, q, batch=250, begin=0.0, recorded=4)
        found = jax.jit(group)(jnp.asarray(start), jax.random.key(seed))
        return np.asarray(found.z), np.asarray(found.log_density)


@pytest.mark.slow
def test_particles_reach_a_distribution_that_is_narrow_skewed_and_far_from_the_approximation():
    # The first coordinate is 3 + 0.5 z₁, the second the logarithm of an exponential variable plus half of z₁: E ln = −0.577.
    def density(z):
        tilted = z[1] - 0.5 * (z[0] - 3.0) / 0.5
        return -0.5 * ((z[0] - 3.0) / 0.5) ** 2 + tilted - jnp.exp(tilted)

    start = np.random.default_rng(0).normal(size=(250, 2))
    z, value = moved(density, lambda z: -0.5 * jnp.sum(z**2), start)
    assert z.shape == (1000, 2)
    np.testing.assert_allclose(value[-5:], jax.jit(jax.vmap(density))(z[-5:]), rtol=1e-4)
    # About 400 of 1000 draws are effective: four standard errors are 0.2 sds. The sds are 0.5 and √(π²/6 + 0.25).
    sd = np.array([0.5, np.sqrt(np.pi**2 / 6 + 0.25)])
    assert np.all(np.abs(z.mean(axis=0) - [3.0, -0.5772]) < 0.2 * sd)
    assert np.all(np.abs(np.log(z.std(axis=0) / sd)) < 0.2)


@pytest.mark.slow
def test_an_edge_that_a_normal_approximation_does_not_follow_is_refined(monkeypatch):
    monkeypatch.setattr(refining, "is_near", IS_NEAR)
    # Uniform-like outcomes: their edges cut the posterior, and the normal approximation has draws beyond.
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=(40, 1))
    noise = hrprob.noise.TruncatedNormal(width=1.0)
    r = 0.4 * x[:, 0] + np.sqrt(2.0 + x[:, 0]) * np.asarray(noise.quantile(rng.uniform(size=40)))
    posterior = hrprob.fit((x, r), "auto", model={"kind": "truncated-normal", "width": 1.0}, draws=1000)
    assert posterior.refined
    assert posterior.pareto_k is None
    assert posterior.chosen[-1].startswith("auto chose laplace")
    assert posterior.theta.shape == (1, 1000, 1)
    assert float(posterior.summary().rhat.max()) < 1.02
    # Against a sum over a grid of both balls, uniform prior.
    theta, phi = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-2, 2, 401), indexing="ij")
    w = 2.0 + phi[..., None] * x[:, 0]
    e = (r - theta[..., None] * x[:, 0]) / np.sqrt(np.maximum(w, 1e-9))
    model = hrprob.models.make_model({"kind": "truncated-normal", "width": 1.0})
    with double_precision():
        each = np.asarray(model.noise.log_pdf(jnp.asarray(e))) - 0.5 * np.log(np.maximum(w, 1e-9))
    weight = np.exp(each.sum(axis=-1) - each.sum(axis=-1).max())
    weight /= weight.sum()
    for draws, value in ((posterior.theta, theta), (posterior.phi, phi)):
        mean = float((weight * value).sum())
        sd = float(np.sqrt((weight * (value - mean) ** 2).sum()))
        assert abs(draws.mean() - mean) < 0.2 * sd
        assert abs(np.log(draws.std() / sd)) < 0.2


def test_weights_are_tempered_to_the_share_that_is_asked_for():
    with double_precision():
        log_weight = jnp.asarray(10.0 * np.random.default_rng(0).normal(size=200))
        power = float(largest_power(log_weight, 0.5))
        assert 0.0 < power < 1.0
        assert float(effective_size(power * log_weight)) == pytest.approx(100.0, rel=1e-3)
        assert float(largest_power(0.01 * log_weight, 0.5)) == 1.0
        picks = np.asarray(systematic(jnp.asarray(0.3), jnp.asarray([0.25, 0.0, 0.75]), 8))
        assert np.bincount(picks, minlength=3).tolist() == [2, 0, 6]
