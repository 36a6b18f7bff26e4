"""Data sets and posteriors without a sampler: truths and draws from the same distribution, or nearly."""

import numpy as np
import xarray
from arviz_base import from_dict

import hrprob
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.diagnostics.reneging import PREDICTORS
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior
from hrprob.simulation.data_sets import DataSets
from hrprob.simulation.truths import Truths

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
    posteriors = {}
    for number in users:
        noise = 0.1 * rng.normal(size=(2, sets, 199, 2))
        posteriors[number] = Posteriors(
            centres[0][:, None] + noise[0], centres[1][:, None] + spread * noise[1] + bias
        )
    return data, posteriors


def chains_of(dimension, **shifted):
    """Chains that agree, but for one of them at the features named, which is shifted."""
    rng = np.random.default_rng(2)
    draws = {name: rng.normal(size=(4, 100, dimension)) for name in ("theta", "phi")}
    for feature, shift in shifted.items():
        draws["phi"][3, :, int(feature[1:]) - 1] += shift
    groups = {
        "posterior": draws,
        "sample_stats": {"energy": rng.normal(size=(4, 100)), "diverging": np.zeros((4, 100), dtype=bool)},
    }
    coords = {"feature": [f"x{number + 1}" for number in range(dimension)]}
    return from_dict(groups, coords=coords, dims={"theta": ["feature"], "phi": ["feature"]})


def predictions(shift=0.0, sets=100, users=40, seed=0):
    """Events with probabilities as said by the first predictor; the others say something else."""
    rng = np.random.default_rng(seed)
    probability = rng.uniform(0.1, 0.9, size=(sets, users))
    said = np.clip(probability + shift, 0.01, 0.99)
    axes = ("predictor", "data_set", "user")
    every = np.stack([said, np.full_like(said, 0.5), probability**2])
    return xarray.Dataset(
        {
            "probability": (axes, every),
            "stay_score": (axes, np.log(every)),
            "left": (axes[1:], rng.uniform(size=probability.shape) < probability),
        },
        coords={"predictor": list(PREDICTORS)},
    )
