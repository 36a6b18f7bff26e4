"""Draws of one engine compared with those of another."""

import jax
import numpy as np

from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import sample_posterior
from hrprob.models import Stays

from .reference import PHI, THETA


def coefficients(draws):
    """θ and φ of all draws, (·, 2d)."""
    both = np.concatenate([draws.theta, draws.phi], axis=-1)
    return both.reshape(-1, both.shape[-1])


def shift_and_ratio(draws, reference):
    """How far means are apart, in standard deviations of the reference, and the ratio of standard deviations."""
    mean, deviation = reference.mean(axis=0), reference.std(axis=0)
    return np.abs(draws.mean(axis=0) - mean) / deviation, draws.std(axis=0) / deviation


def by(kind, target, data, draws=4000):
    return sample_posterior(make_engine(kind), target, data, jax.random.key(0), draws)


def against_nuts(kind, target, data, draws=4000):
    """Return shift and ratio of standard deviations of θ and φ from those of nuts."""
    return shift_and_ratio(*(coefficients(by(name, target, data, draws)) for name in (kind, "nuts")))


def long_stays(rounds, seed):
    """Return stays with these numbers of rounds."""
    rng, users = np.random.default_rng(seed), len(rounds)
    x = rng.normal(size=(users, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    u, w = x @ THETA, x @ PHI + 2
    mean = u + np.sqrt(w / rounds) * rng.normal(size=users)
    within = w * np.where(rounds > 1, rng.chisquare(np.maximum(rounds - 1, 1)), 0.0)
    return Stays(x, rounds, rounds * mean, within + rounds * mean**2)
