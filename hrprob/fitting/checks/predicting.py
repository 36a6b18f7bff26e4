r"""Predictive distributions of rounds under weighted points (θ, φ), in chunks of fixed shape.

One compiled program serves data of any length: it takes a chunk of rounds and a fixed number of points and returns
the log likelihood of every outcome, the probabilities below and above it, and that of an outcome below β.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob._core.types import Array, PyTree
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.table import Table
from hrprob.models import Rounds

__all__ = ["CHUNK", "POINTS", "Predictions", "predict_chunk"]

CHUNK = 128
"""Rounds that are predicted together."""
POINTS = 1024
"""Points (θ, φ), or draws of a posterior, that predictions average over."""


class Predictions(NamedTuple):
    """Predictions of some rounds under every point, each (points, rounds)."""

    log_density: np.ndarray
    below: np.ndarray  # probability of an outcome below the observed one
    above: np.ndarray
    leaves: np.ndarray  # probability of an outcome below β; 1 without β
    mean: np.ndarray
    variance: np.ndarray


def predict_chunk(
    target: Target, theta: Array, phi: Array, table: Table, start: int, stop: int
) -> Predictions:
    """Return the predictions of at most :data:`CHUNK` rounds, from ``start`` to ``stop``, at points (points, d)."""
    rows = slice(start, stop)
    missing = CHUNK - (stop - start)
    x = np.pad(table.x[rows], [(0, missing), (0, 0)])
    r = np.pad(table.r[rows], (0, missing))
    beta = np.full(CHUNK, np.inf) if table.beta is None else np.pad(table.beta[rows], (0, missing))
    data = Rounds(x, r[:, None], np.ones((CHUNK, 1)))  # type: ignore[arg-type]
    with double_precision():
        each = _predict(target, *jax.tree.map(jnp.asarray, (theta, phi, data, beta)))
        return Predictions(*(np.asarray(leaf)[:, : stop - start] for leaf in each))


@jax.jit
def _predict(target: Target, theta: jax.Array, phi: jax.Array, data: Rounds, beta: jax.Array) -> PyTree:
    noise = target.model.noise

    def one(theta: jax.Array, phi: jax.Array) -> PyTree:
        u, w = target.setting.moments(theta, phi, data.x)
        sd = jnp.sqrt(w)
        standard = (data.r[:, 0] - u) / sd
        likelihood = target.model.row_log_likelihood(data, u, w)
        return likelihood, noise.cdf(standard), noise.survival(standard), noise.cdf((beta - u) / sd), u, w

    return jax.vmap(one)(theta, phi)
