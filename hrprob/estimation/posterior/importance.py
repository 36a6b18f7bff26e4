r"""Importance re-weighting: whether an approximation can be trusted, and its draws put right.

Draws from q get weights p/q, smoothed in the tail by a generalised Pareto distribution
[1]_. Its shape k̂ is the verdict: below 0.7 the re-weighted draws stand for the
posterior; above, q misses a part of it that the draws cannot make up for. Draws that are
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

from hrprob.estimation.posterior.base import Draws

__all__ = ["Reweighted", "reweight"]


class Reweighted(NamedTuple):
    """Draws with weights, and whether to believe them."""

    theta: np.ndarray  # (draws, d)
    phi: np.ndarray  # (draws, d)
    weight: np.ndarray  # (draws,) adds up to 1
    pareto_k: float  # NaN where there is no q
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
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    ratio = draws.log_ratio.reshape(-1)
    if np.ptp(ratio) == 0.0:
        # All 0 is the mark of draws without a density; another constant is that of a perfect one.
        weight, shape = np.full(ratio.size, 1.0 / ratio.size), -np.inf if ratio.any() else np.nan
    else:
        # It is made for leaving one out, and takes the logarithm of what is divided by.
        log_weight, shape = array_stats.psislw(ratio.max() - ratio)
        weight = np.exp(log_weight - np.max(log_weight))
        weight = weight / weight.sum()
    d = draws.theta.shape[-1]
    return Reweighted(
        draws.theta.reshape(-1, d),
        draws.phi.reshape(-1, d),
        weight,
        float(shape),
        float(1.0 / np.sum(weight**2)),
        {name: value.reshape(-1, *value.shape[2:]) for name, value in draws.sites.items()},
    )
