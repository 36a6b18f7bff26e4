"""How often a set ever misses the truth, over many data sets: ln E_n of the truth along n.

The truth has left the set at level δ by round n if ln E has exceeded ln(1/δ) after any row up to there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import float64
from hrprob._core.types import Array, AsWritten
from hrprob.estimation.likelihood_ratio.predictives import make_predictive, sums_of
from hrprob.observations import Data

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hrprob.models import Model
    from hrprob.models.setting import Setting

__all__ = ["Paths", "log_ratio_paths", "paths_of"]


class Paths(NamedTuple):
    """ln E of the truth after every row of each data set."""

    rounds: np.ndarray  # (sets, rows) n
    log_ratio: np.ndarray  # (sets, rows) ln E_n

    def ever_missed(self, delta: float, first: float = 1, last: float = np.inf) -> np.ndarray:
        """Return in which data sets (sets,) the set misses the truth at any n from ``first`` to ``last``.

        Examples
        --------
        >>> paths = Paths(np.array([[1, 4, 9]]), np.array([[0.3, 3.0, 1.0]]))
        >>> paths.ever_missed(0.1).tolist(), paths.ever_missed(0.1, first=5).tolist()
        ([True], [False])
        """
        counted = (self.rounds >= first) & (self.rounds <= last)
        return np.asarray(np.any(counted & (self.log_ratio > -np.log(delta)), axis=1))


def log_ratio_paths(
    predictive: AsWritten, data: Data, model: Model, setting: Setting, theta: ArrayLike, phi: ArrayLike
) -> Paths:
    """Return ln E of the truths along the rows of several data sets of one length.

    Parameters
    ----------
    predictive : str, table or Predictive
        What predicts each row from the earlier ones of its own data set.
    data : Stays or Rounds
        With a first axis over data sets.
    model, setting : Model, Setting
        The outcome model, and dimension, link and bounds.
    theta, phi : array_like, shape (sets, d)
        The truths.
    """
    log_q = np.asarray(make_predictive(predictive).absorb_sets(data, model, setting))
    return paths_of(log_q, data, model, setting, theta, phi)


def paths_of(
    log_q: Array, data: Data, model: Model, setting: Setting, theta: ArrayLike, phi: ArrayLike
) -> Paths:
    """Return ln E of the truths where ln q of every row (sets, rows) is known; see :func:`log_ratio_paths`."""
    log_p = np.asarray(_log_p(data, model, setting, np.asarray(theta), np.asarray(phi)))
    rounds = np.cumsum(np.asarray(sums_of(data).rounds), axis=1)
    return Paths(rounds, np.cumsum(log_q - log_p, axis=1))


@float64
@jax.jit
def _log_p(data: Data, model: Model, setting: Setting, theta: Array, phi: Array) -> jax.Array:
    def of_set(data: Data, theta: jax.Array, phi: jax.Array) -> jax.Array:
        each: jax.Array = model.log_likelihood(theta, phi, data, setting)
        return each

    return jax.vmap(of_set)(jax.tree.map(jnp.asarray, data), jnp.asarray(theta), jnp.asarray(phi))
