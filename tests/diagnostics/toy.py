"""Data sets and posteriors without a sampler: truths and draws from the same distribution, or nearly."""

import numpy as np

import hrprob
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior
from hrprob.simulation.data_sets import DataSets, Truths

PROBLEM = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.9])
TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting.of(PROBLEM))


def toy(sets=200, users=(4, 8), spread=1.0, bias=0.0, seed=0):
    """Truths N(m, 0.1²) about a centre m of their own, and draws about the same centre.

    ``spread`` multiplies that of the draws of φ, ``bias`` is added to them.
    """
    rng = np.random.default_rng(seed)
    last = max(users) + 4
    centres = rng.uniform(-0.3, 0.3, size=(2, sets, 2))
    truths = Truths(*(centres + 0.1 * rng.normal(size=(2, sets, 2))))
    x = rng.normal(size=(sets, last + 5, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    rounds = rng.integers(1, 4, size=(sets, last)).astype(float)
    mean = np.einsum("snd,sd->sn", x[:, :last], truths.theta)
    data = DataSets(
        truths,
        Stays(x[:, :last], rounds, rounds * mean, rounds * mean**2 + 2.0 * rounds),
        rng.uniform(-1, 1, size=(sets, last)),
        rounds,
        np.zeros((sets, last, 0)),
        x[:, last:],
        rng.uniform(-1, 1, size=(sets, 5)),
    )
    found = {}
    for number in users:
        noise = 0.1 * rng.normal(size=(2, sets, 199, 2))
        found[number] = Posteriors(
            centres[0][:, None] + noise[0], centres[1][:, None] + spread * noise[1] + bias
        )
    return data, found
