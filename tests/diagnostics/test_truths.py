"""Truths drawn from a prior."""

import numpy as np

from hrprob.diagnostics.truths import draw_truths
from hrprob.models import Setting, make_prior


def test_truths_from_the_uniform_prior_fill_their_balls():
    truths = draw_truths(make_prior("uniform"), Setting(4), sets=2000, seed=0)
    for vectors, radius in zip(truths, (1.0, 2.0), strict=True):
        volume = np.sort((np.linalg.norm(vectors, axis=1) / radius) ** 4)
        # Kolmogorov-Smirnov at a level of 1e-3.
        assert np.abs(volume - np.arange(1, 2001) / 2000).max() < 1.95 / np.sqrt(2000)
