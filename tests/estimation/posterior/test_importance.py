"""Importance weights: which tails are trusted, and what the weights add up to."""

import jax
import numpy as np
import pytest

from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.importance import reweight
from hrprob.estimation.posterior.inference import Draws, draw_many, fit_engine


@pytest.mark.slow
def test_a_bad_approximation_is_not_trusted(target, data):
    engine = make_engine("laplace")
    belief = fit_engine(engine, target, data, jax.random.key(1))
    narrow = belief._replace(factor=0.3 * np.asarray(belief.factor))
    draws = draw_many(engine, target, narrow, data, jax.random.key(2))
    again = reweight(draws)
    assert not again.trusted
    # The weights are in the order of the ratios.
    assert np.all(np.diff(again.weight[np.argsort(draws.log_ratio.reshape(-1))]) >= -1e-15)


@pytest.mark.parametrize(
    ("ratio", "k"),
    [
        # Rounding to halves decides on the weights; or leaves nothing of what ratios differ by.
        (lambda noise: 3e15 + noise, np.inf),
        (lambda noise: 1e200 + noise, np.inf),
        # A tail with ties at its lower end.
        (lambda noise: np.maximum(noise, 2.0), np.inf),
        (lambda noise: -99.0 + 1e-13 * noise, -np.inf),
    ],
)
def test_weights_without_a_tail_to_fit(ratio, k):
    noise = np.random.default_rng(0).normal(size=(1, 1000))
    z = np.zeros((1, 1000, 2))
    assert reweight(Draws(z[..., :1], z[..., 1:], z, ratio(noise))).pareto_k == k


def spread(log_ratio):
    z = np.zeros((1, len(log_ratio), 1))
    return reweight(Draws(z, z, z, np.asarray(log_ratio)[None]))


def test_ratios_too_far_apart_are_not_trusted():
    z = np.random.default_rng(0).normal(size=4000)
    for size in (500.0, 1e4, 1e30):
        again = spread(size * z)
        assert (again.pareto_k, again.trusted) == (np.inf, False)
        # One draw has all the weight.
        assert again.effective == pytest.approx(1.0)
        assert again.weight[np.argmax(z)] == pytest.approx(1.0)
    assert spread(3.0 * z).pareto_k < 1.0
    for wrong in (np.nan, np.inf, -np.inf):
        again = spread(np.where(np.arange(4000) < 3, wrong, 0.1 * z))
        assert not again.trusted
        assert again.weight.sum() == pytest.approx(1.0)
        assert again.weight[:3] == pytest.approx(1 / 3 if wrong == np.inf else 0.0)
    # The largest are all the same: there is no tail.
    assert spread(np.minimum(z, 0.0)).pareto_k == np.inf
