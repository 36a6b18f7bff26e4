"""The log likelihood of whole data sets under draws and under the truth: a test quantity of calibration [1]_.

References
----------
.. [1] M. Modrák et al., "Simulation-based calibration checking for Bayesian computation: the choice of test
   quantities shapes sensitivity", arXiv:2211.02383, 2022.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.estimation.posterior.target import Target
from hrprob.observations import Data, Rounds, Stays, first_rows
from hrprob.simulation.data_sets import DataSets

__all__ = ["log_likelihoods"]


def log_likelihoods(target: Target, data: DataSets, users: int, draws: Posteriors) -> np.ndarray:
    """Return the log likelihood of the first users' rounds, (sets, draws + 1): under each draw, and under the truth last.

    Unlike a parameter's rank, that of the likelihood shows a posterior that ignores a part of the data [1]_.
    """
    sets = draws.theta.shape[0]
    every = data.stays if target.model.data is Stays else data.of_kind(Rounds)
    rows = jax.tree.map(lambda leaf: leaf[:sets], every)
    both = [
        np.concatenate([np.asarray(drawn), truth[:sets, None]], axis=1)
        for drawn, truth in ((draws.theta, data.truths.theta), (draws.phi, data.truths.phi))
    ]
    with double_precision():
        return np.asarray(_likelihood_of_each(target, *jax.tree.map(jnp.asarray, (rows, users, *both))))


@jax.jit
def _likelihood_of_each(
    target: Target, rows: Data, users: jax.Array, theta: jax.Array, phi: jax.Array
) -> jax.Array:
    def of_set(one: tuple[Data, jax.Array, jax.Array]) -> jax.Array:
        data, thetas, phis = one
        seen = first_rows(data, users)
        return jax.vmap(
            lambda theta, phi: jnp.sum(target.model.log_likelihood(theta, phi, seen, target.setting))
        )(thetas, phis)

    return jax.lax.map(of_set, (rows, theta, phi))
