"""Numbers as JSON has them."""

from __future__ import annotations

import math
from typing import SupportsFloat

import numpy as np
import xarray

__all__ = ["finite", "largest", "smallest"]


def finite(number: SupportsFloat) -> float | None:
    """Return a number, or None where it is not finite: JSON has neither NaN nor infinity.

    Examples
    --------
    >>> finite(2), finite(math.nan)
    (2.0, None)
    """
    value = float(number)
    return value if math.isfinite(value) else None


def largest(values: xarray.DataArray) -> float | None:
    """Return the largest value that is not NaN; None where all are."""
    return None if np.isnan(values).all() else float(np.nanmax(values.values))


def smallest(values: xarray.DataArray) -> float | None:
    """Return the smallest value that is not NaN; None where all are."""
    return None if np.isnan(values).all() else float(np.nanmin(values.values))
