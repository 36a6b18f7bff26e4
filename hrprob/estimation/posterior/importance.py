r"""Importance weights: whether an approximation can be trusted, and a correction of its draws.

Draws from an approximation q of the posterior p get the weights p/q, the largest of them smoothed by a
generalised Pareto distribution [1]_. Its shape k̂ is the diagnostic: below 0.7 the weighted draws represent the
posterior; above, q misses a part of it that no weighting of the draws recovers. k̂ is ∞, and the weights are p/q
without smoothing, where no distribution can be fitted to the tail: its weights are all equal, or some of
them are 0 in double precision, or the densities are so large that rounding decides on the weights. Engines
without a density q (``nuts``, ``smc``) have equal weights, and k̂ is NaN.

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

__all__ = ["Reweighted", "reweight", "smoothed_weights"]

# A weight whose log is further below the largest is 0 in double precision.
_LEAST_LOG = math.log(np.finfo(float).tiny)
# Relative rounding error of the weights from which on they say nothing about q.
_LEAST_STEP = 1e-3
# Log weights that differ by less count as equal.
_SAME = 1e-9


class Reweighted(NamedTuple):
    """Draws with importance weights, and their diagnostics."""

    theta: np.ndarray  # (draws, d)
    phi: np.ndarray  # (draws, d)
    weight: np.ndarray  # (draws,) sums to 1
    pareto_k: float  # NaN where there is no q, ∞ where no tail can be fitted
    effective: float  # effective sample size of the weights
    sites: Mapping[str, np.ndarray] = {}  # (draws, ...) each, beyond θ and φ

    @property
    def trusted(self) -> bool | None:
        """Whether k̂ is below 0.7; None where there is no k̂, and R-hat is the diagnostic."""
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
    weight, shape = smoothed_weights(draws.log_ratio.reshape(-1))
    d = draws.theta.shape[-1]
    return Reweighted(
        draws.theta.reshape(-1, d),
        draws.phi.reshape(-1, d),
        weight,
        float(shape),
        float(1.0 / np.sum(weight**2)),
        {name: value.reshape(-1, *value.shape[2:]) for name, value in draws.sites.items()},
    )


def smoothed_weights(ratio: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the smoothed weights of draws with these log ratios, which sum to 1, and k̂."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    if not np.all(np.isfinite(ratio)) or np.spacing(np.abs(ratio).max()) > _LEAST_STEP:
        return _plain(ratio), np.inf
    if np.ptp(ratio) < _SAME:
        # All 0 marks an engine without a density; another constant, a perfect approximation.
        return _plain(ratio), -np.inf if ratio.any() else np.nan
    ratio = ratio - ratio.max()
    tail = np.sort(ratio)[-math.ceil(min(0.2 * ratio.size, 3.0 * math.sqrt(ratio.size))) - 1 :]
    # The fit takes excesses over the first entry of the tail, and divides by their first quartile.
    if tail[0] < _LEAST_LOG or tail[1] == tail[-1] or tail[0] == tail[len(tail) // 4]:
        return _plain(ratio), np.inf
    # `psislw` is made for leave-one-out weights 1/p, and takes the log of the denominator.
    log_weight, shape = array_stats.psislw(-ratio)
    return (_plain(log_weight), float(shape)) if np.isfinite(shape) else (_plain(ratio), np.inf)


def _plain(ratio: np.ndarray) -> np.ndarray:
    """Return weights proportional to exp(``ratio``), which sum to 1; NaN has weight 0."""
    known = np.where(np.isnan(ratio), -np.inf, ratio)
    # Infinite ratios share the weight equally, and so do all where each is −∞.
    weight = known == known.max() if np.isinf(known.max()) else np.exp(known - known.max())
    return weight / weight.sum()
