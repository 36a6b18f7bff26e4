r"""Every outcome predicted from those before it.

.. math:: p(r_i \mid r_1, \dots, r_{i-1}) = \int p(r_i \mid \theta, \phi)\, p(\theta, \phi \mid r_1, \dots, r_{i-1})
    \, d(\theta, \phi)

Given the model, the PIT values of these predictions are independent and uniform, however contexts were chosen and
whenever users left: each prediction conditions on everything that choice and departure may depend on [1]_. So tests of
them need no allowance for the policy or for the stopping rule, and the sum of the log densities is the log marginal
likelihood, by which models can be compared.

After n rounds the engine ``laplace`` is fitted to those, points are drawn from a wider normal distribution, and their
importance weights, updated by every further outcome, make up the posterior until n has grown by a tenth or the weights
have degenerated. Where few points carry the weight, as with fewer rounds than unknowns and a variance that may be tiny, a prediction is
not usable. Whether it is depends on the past alone, so that tests of the usable ones remain valid.

==================  ===============  ====================================================
symbol              name             meaning
==================  ===============  ====================================================
ln p(r_i | past)    ``log_density``  prequential score of a round
u_i                 ``pit``          probability of an outcome below r_i, given the past
Φ⁻¹(u_i)            ``residual``     standard normal under the model
P(r_i < β | past)   ``leaves``       probability that the user leaves in this round
\-                   ``usable``       whether enough points carry the weight
==================  ===============  ====================================================

References
----------
.. [1] A. P. Dawid, "Statistical theory: the prequential approach", Journal of the Royal Statistical Society A 147,
   1984.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats
from scipy.special import logsumexp, softmax

from hrprob._core.precision import double_precision
from hrprob._core.types import Integer, PyTree
from hrprob.estimation.posterior.laplace import Laplace, quasi_normal
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.checks.predicting import CHUNK, POINTS, predict_chunk
from hrprob.fitting.table import Table
from hrprob.models import Stays, pad, rounds, stays
from hrprob.numerics.products import contract
from hrprob.observations import Data

__all__ = ["Points", "Prequential", "normal_scores", "points_given", "prequential"]

# Refitted when the rounds have grown by this factor, or when the effective share of the points falls below the second.
_GROWTH, _LEAST_SHARE = 1.1, 0.2
# Effective points that a prediction needs.
_LEAST_POINTS = 30
# The points are drawn from the normal approximation with its spread multiplied by this.
_WIDER = 1.25
# The smallest buffer of rows: data of less share one program.
_LEAST_ROWS = 128


class Prequential(NamedTuple):
    """Predictions of every round from those before it, (n,) each."""

    log_density: np.ndarray
    pit: np.ndarray
    residual: np.ndarray
    mean: np.ndarray
    leaves: np.ndarray
    usable: np.ndarray  # bool
    error: float  # Monte Carlo error of the sum of log_density
    points: Points  # the posterior given all rounds

    @property
    def log_marginal_likelihood(self) -> float:
        """The sum of all scores that are usable: where some are not, it is conditional on those rounds."""
        return float(self.log_density[self.usable].sum())


class Points(NamedTuple):
    """A posterior as weighted points."""

    theta: np.ndarray  # (points, d)
    phi: np.ndarray  # (points, d)
    log_weight: np.ndarray  # (points,), normalised

    @property
    def effective(self) -> float:
        """The effective number of points."""
        return float(np.exp(-logsumexp(2.0 * self.log_weight)))


def prequential(target: Target, table: Table) -> Prequential:
    """Return the predictions of every round from those before it, in the order of the table."""
    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("score", "below", "above", "mean", "leaves", "effective")
    }
    points, start = points_given(target, table, 0, None)
    due, variance = 1, 0.0
    since = np.zeros_like(points.log_weight)  # log likelihood since the last fit
    place, before = 0, points.log_weight
    while place < len(table):
        stop = min(place + CHUNK, due, len(table))
        chunk = predict_chunk(target, points.theta, points.phi, table, place, stop)
        gained = np.cumsum(chunk.log_density, axis=1)
        given = points.log_weight[:, None] + np.pad(gained, [(0, 0), (1, 0)])
        weight = softmax(given[:, :-1], axis=0)
        columns["score"].append(np.diff(logsumexp(given, axis=0)))
        columns["effective"].append(1.0 / np.sum(weight**2, axis=0))
        for name, value in (
            ("below", chunk.below),
            ("above", chunk.above),
            ("mean", chunk.mean),
            ("leaves", chunk.leaves),
        ):
            columns[name].append(np.sum(weight * value, axis=0))
        since = since + gained[:, -1]
        points = points._replace(log_weight=given[:, -1] - logsumexp(given[:, -1]))
        place = stop
        if place == due or points.effective < _LEAST_SHARE * POINTS:
            variance += _error_of_ratio(before, since)
            points, start = points_given(target, table, place, start)
            due, since, before = (
                max(math.ceil(_GROWTH * place), place + 1),
                np.zeros_like(since),
                points.log_weight,
            )
    variance += _error_of_ratio(before, since)
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Prequential(
        joined["score"],
        np.clip(joined["below"], 0.0, 1.0),
        normal_scores(joined["below"], joined["above"]),
        joined["mean"],
        joined["leaves"],
        joined["effective"] >= _LEAST_POINTS,
        math.sqrt(variance),
        points,
    )


def points_given(target: Target, table: Table, rows: int, start: PyTree) -> tuple[Points, PyTree]:
    """Return weighted points of the posterior given the first ``rows`` rounds, and a start for the next fit."""
    user = None if table.user is None else table.user[:rows]
    if target.model.data is Stays:
        data: Data = stays(table.x[:rows], table.r[:rows], user)
        most = len(table) if table.user is None else len(stays(table.x, table.r, table.user).x)
    else:
        data, most = rounds(table.x[:rows], table.r[:rows]), len(table)
    capacity = max(_LEAST_ROWS, 1 << max(most - 1, 0).bit_length())
    with double_precision():
        engine = Laplace()
        first = engine.init(target) if start is None else start
        wide = jax.tree.map(jnp.asarray, pad(data, capacity))
        standard = jnp.asarray(quasi_normal(target.size, POINTS))
        belief, theta, phi, ratio = _points(engine, target, wide, len(data.x), first, standard)
        log_weight = np.asarray(ratio)
        return Points(np.asarray(theta), np.asarray(phi), log_weight - logsumexp(log_weight)), belief


def normal_scores(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return Φ⁻¹ of probabilities, from the smaller tail, so that far outcomes keep their distance.

    Examples
    --------
    >>> abs(normal_scores(np.array([0.5, 1.0]), np.array([0.5, 1e-20]))).round(2).tolist()
    [0.0, 9.26]
    """
    smaller = np.clip(np.minimum(below, above), 1e-300, 0.5)
    return np.where(below < above, 1.0, -1.0) * stats.norm.ppf(smaller)


def _error_of_ratio(log_weight: np.ndarray, log_likelihood: np.ndarray) -> float:
    """Return the variance of the log of a weighted mean of likelihoods."""
    ratio = np.exp(log_likelihood - logsumexp(log_weight + log_likelihood))
    return float(np.sum(np.exp(2.0 * log_weight) * (ratio - 1.0) ** 2))


@jax.jit
def _points(
    engine: Laplace, target: Target, data: Data, rows: Integer, start: PyTree, standard: jax.Array
) -> PyTree:
    tables = [(data, jnp.asarray(rows, jnp.int32))]
    belief = engine.fit(target, tables, start)
    z = belief.mean + _WIDER * contract(belief.factor, standard[:, None, :])
    density = target.log_density_of_many(z, tables)
    theta, phi = target.coefficients(z)
    return belief, theta, phi, density + 0.5 * contract(standard, standard)
