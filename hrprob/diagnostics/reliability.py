"""Reliability of predicted probabilities: predicted and observed shares of events, in bins.

Users of one data set share its errors, so bands and tests are over data sets, with a
variance that is at least that of independent users who leave with the predicted probabilities.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import xarray
from scipy import stats

__all__ = ["is_certain", "reliability"]

_BINS = 10


@dataclasses.dataclass(frozen=True)
class _Reliability:
    """Of one predictor."""

    predicted: np.ndarray  # (bins,) mean predicted probability
    observed: np.ndarray  # (bins,) share of events
    se: np.ndarray  # (bins,) of the difference, over data sets
    count: np.ndarray  # (bins,) of predictions
    bias: float
    bias_se: float
    p_value: float


def reliability(predicted: xarray.Dataset, bins: int = _BINS) -> xarray.Dataset:
    """Return predicted and observed shares, in bins of equal numbers of predictions.

    Returns
    -------
    xarray.Dataset
        Over predictor and bin: mean ``predicted`` and ``observed`` share, the ``se`` of their
        difference over data sets, ``count``; over predictor: ``bias``, observed minus predicted, its
        ``bias_se``, and ``p_value`` of the share as a whole and all bins being right (t and Wald tests over
        data sets, twice the smaller of the two). Attribute: ``data_sets``.
    """
    rows = [_reliability_of(predicted.sel(predictor=name), bins) for name in predicted.predictor.values]
    axes = ("predictor", "bin")
    names = [field.name for field in dataclasses.fields(_Reliability)]
    columns = {name: np.array([getattr(row, name) for row in rows]) for name in names}
    return xarray.Dataset(
        {name: (axes[: values.ndim], values) for name, values in columns.items()},
        coords={"predictor": predicted.predictor.values},
        attrs={"data_sets": predicted.sizes["data_set"]},
    )


def is_certain(table: xarray.Dataset) -> bool:
    """Say whether all users were certain to leave after the first round, and did."""
    left = (table.predicted == 1.0) & (table.observed == 1.0)
    return bool((left | (table["count"] == 0)).all())


def _reliability_of(predicted: xarray.Dataset, bins: int) -> _Reliability:
    probability, left = predicted.probability.values, predicted.left.values.astype(float)
    edges = np.quantile(probability, np.arange(1, bins) / bins)
    member = np.searchsorted(edges, probability)[..., None] == np.arange(bins)  # (sets, users, bins)
    count = member.sum(axis=(0, 1))
    # Observed minus predicted (sets, bins).
    difference = ((left - probability)[..., None] * member).sum(axis=1)
    sets = len(probability)
    spread = sets * np.atleast_2d(np.cov(difference, rowvar=False))
    # Where few users leave, the sample variance may be too small: with correct probabilities it is at least
    # p(1 − p) per user.
    least = ((probability * (1.0 - probability))[..., None] * member).sum(axis=(0, 1))
    spread += np.diag(np.maximum(least - np.diagonal(spread), 0.0))
    total = difference.sum(axis=0)
    used = count > 0
    wald = total[used] @ np.linalg.pinv(spread[np.ix_(used, used)]) @ total[used]
    degrees = int(used.sum())
    # Hotelling's correction: the covariance is itself estimated from these data sets.
    scaled = wald * (sets - degrees) / (degrees * (sets - 1))
    bias_se = max(difference.sum(axis=1).std(ddof=1) * math.sqrt(sets), math.sqrt(least.sum()))
    by_bins = stats.f.sf(scaled, degrees, max(sets - degrees, 1))
    # Without any scatter, as where all users leave at once, any difference is an error.
    by_whole = (
        2.0 * stats.t.sf(abs(total.sum()) / bias_se, sets - 1) if bias_se > 0 else float(total.sum() == 0)
    )
    safe = np.maximum(count, 1)
    return _Reliability(
        predicted=(probability[..., None] * member).sum(axis=(0, 1)) / safe,
        observed=(left[..., None] * member).sum(axis=(0, 1)) / safe,
        se=np.sqrt(np.diagonal(spread)) / safe,
        count=count,
        bias=total.sum() / probability.size,
        bias_se=bias_se / probability.size,
        p_value=float(min(1.0, 2.0 * min(by_bins, by_whole))),
    )
