"""Truths drawn from a prior: what is true in each data set of a calibration study."""

from __future__ import annotations

import jax
import numpy as np

from hrprob._core.errors import check_count
from hrprob._core.precision import double_precision
from hrprob.models import Setting
from hrprob.models.priors import Prior
from hrprob.simulation.truths import Truths

__all__ = ["draw_truths"]


def draw_truths(prior: Prior, setting: Setting, sets: int, seed: int) -> Truths:
    """Return truths drawn from a prior.

    Examples
    --------
    >>> from hrprob.models import make_prior
    >>> truths = draw_truths(make_prior("uniform"), Setting(3), sets=5, seed=0)
    >>> truths.phi.shape, bool(np.linalg.norm(truths.theta, axis=1).max() <= 1)
    ((5, 3), True)
    """
    check_count("sets", sets, remedy="calibration is measured over data sets")
    with double_precision():
        by_theta, by_phi = jax.random.split(jax.random.key(seed))
        return Truths(
            np.asarray(prior.theta(setting).sample(by_theta, (sets,))),
            np.asarray(prior.phi(setting).sample(by_phi, (sets,))),
        )
