r"""Importance re-weighting: whether an approximation can be trusted, and its draws put right.

Draws from q get weights p/q, smoothed in the tail by a generalised Pareto distribution
[1]_. Its shape k̂ is the verdict: below 0.7 the re-weighted draws stand for the
posterior; above, q misses a part of it that the draws cannot make up for. Where the weights
of the tail are all the same, or so far apart that some are 0 in double precision, or densities so
large that rounding decides on weights, there is nothing to fit a distribution to: k̂ is ∞ and the
weights are p/q as they are. Draws that are
taken for the posterior's (``nuts``, ``smc``) have no q: their weights are even, and k̂ says
nothing.

References
----------
.. [1] A. Vehtari, D. Simpson, A. Gelman, Y. Yao, J. Gabry, "Pareto smoothed importance
   sampling", Journal of Machine Learning Research 25, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrprob.estimation.posterior.inference import Draws

__all__ = ["Reweighted", "reweight"]

# Further below the largest, a weight is 0 in double precision.
_LEAST_LOG = math.log(np.finfo(float).tiny)
# Weights are known to this share of themselves, or there is no telling what q misses.
_LEAST_STEP = 1e-3
# Weights that differ by less are the same.
_SAME = 1e-9


class Reweighted(NamedTuple):
    """Draws with weights, and whether to believe them."""

    theta: np.ndarray  # (draws, d)
    phi: np.ndarray  # (draws, d)
    weight: np.ndarray  # (draws,) adds up to 1
    pareto_k: float  # NaN where there is no q, ∞ where no tail can be fitted
    effective: float  # independent draws that the weights are worth
    sites: Mapping[str, np.ndarray] = {}  # (draws, ...) each, beyond θ and φ

    @property
    def trusted(self) -> bool | None:
        """Say whether k̂ is below 0.7; None where there is none, and R-hat is what to look at."""
        return None if math.isnan(self.pareto_k) else self.pareto_k < 0.7

    def mean(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior means of θ and φ."""
        return self.weight @ self.theta, self.weight @ self.phi


def reweight(draws: Draws) -> Reweighted:
    """Return the draws with smoothed weights p/q.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(1, 1000, 2))
    >>> wide = reweight(Draws(z[..., :1], z[..., 1:], z, -0.1 * (z**2).sum(axis=-1)))
    >>> wide.trusted, round(wide.effective, -2)
    (True, 1000.0)
    >>> chain = reweight(Draws(z[..., :1], z[..., 1:], z, np.zeros((1, 1000))))
    >>> chain.trusted, chain.pareto_k
    (None, nan)
    """
    weight, shape = _smoothed(draws.log_ratio.reshape(-1))
    d = draws.theta.shape[-1]
    return Reweighted(
        draws.theta.reshape(-1, d),
        draws.phi.reshape(-1, d),
        weight,
        float(shape),
        float(1.0 / np.sum(weight**2)),
        {name: value.reshape(-1, *value.shape[2:]) for name, value in draws.sites.items()},
    )


def _smoothed(ratio: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights of draws with these log ratios, adding up to 1, and k̂."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    if not np.all(np.isfinite(ratio)) or np.spacing(np.abs(ratio).max()) > _LEAST_STEP:
        return _plain(ratio), np.inf
    if np.ptp(ratio) < _SAME:
        # All 0 is the mark of draws without a density; another constant is that of a perfect one.
        return _plain(ratio), -np.inf if ratio.any() else np.nan
    ratio = ratio - ratio.max()
    tail = np.sort(ratio)[-math.ceil(min(0.2 * ratio.size, 3.0 * math.sqrt(ratio.size))) - 1 :]
    # The distribution is fitted to what the tail is above its first, by the quarter of it among others.
    if tail[0] < _LEAST_LOG or tail[1] == tail[-1] or tail[0] == tail[len(tail) // 4]:
        return _plain(ratio), np.inf
    # It is made for leaving one out, and takes the logarithm of what is divided by.
    log_weight, shape = array_stats.psislw(-ratio)
    return (_plain(log_weight), float(shape)) if np.isfinite(shape) else (_plain(ratio), np.inf)


def _plain(ratio: np.ndarray) -> np.ndarray:
    """Return weights in the ratio of exp(``ratio``), adding up to 1; what is no number weighs nothing."""
    known = np.where(np.isnan(ratio), -np.inf, ratio)
    # Of infinite ones each weighs the same, as all do where none is above 0.
    level = known == known.max() if np.isinf(known.max()) else np.exp(known - known.max())
    return level / level.sum()
