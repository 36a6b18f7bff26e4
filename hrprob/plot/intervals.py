"""Means over trials with their intervals, and how a figure shows them."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.axes import Axes
from scipy import special

from hrprob._core.formatting import format_number, percent

__all__ = ["COVERAGE", "draw_band", "mean_interval", "trials_in_words"]

COVERAGE = 0.95
"""Coverage probability of bands and error bars."""


def mean_interval(
    samples: np.ndarray, axis: int = 0, coverage: float = COVERAGE
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over trials and the half width of its t interval; the latter is NaN with one trial.

    Examples
    --------
    >>> mean, half = mean_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(float(mean), 3), round(float(half), 3)
    (2.0, 2.484)
    """
    count = samples.shape[axis]
    mean = samples.mean(axis=axis)
    if count < 2:
        return mean, np.full_like(mean, np.nan)
    error = samples.std(axis=axis, ddof=1) / np.sqrt(count)
    return mean, special.stdtrit(count - 1, 0.5 + coverage / 2) * error


def draw_band(
    axes: Axes, x: np.ndarray, mean: np.ndarray, half: np.ndarray, color: str, label: str = ""
) -> None:
    """Shade the interval around a curve; with a label it enters the legend."""
    axes.fill_between(x, mean - half, mean + half, color=color, alpha=0.2, lw=0, label=label or None)


def trials_in_words(dataset: xarray.Dataset) -> str:
    """Return what means and intervals in a figure are made of: "20 trials, 95 % interval"."""
    trials = dataset.sizes["trial"]
    return "1 trial" if trials == 1 else f"{format_number(trials)} trials, {percent(COVERAGE)} interval"
