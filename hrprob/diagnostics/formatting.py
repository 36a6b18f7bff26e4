"""Numbers as JSON and as cells of tables have them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray

__all__ = ["finite", "largest", "listed", "percent", "smallest", "with_error"]

# Of more numbers than these, the first few and the last are written.
_MOST_LISTED, _FIRST_LISTED = 4, 3


def finite(number: Any) -> float | None:
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


def percent(share: Any) -> str:
    """Return a share in whole per cent.

    Examples
    --------
    >>> percent(0.25)
    '25 %'
    """
    return f"{100 * float(share):.0f} %"


def with_error(value: Any, error: Any) -> str:
    r"""Return a number and its standard error with digits chosen by the error; the number alone without one.

    Examples
    --------
    >>> [with_error(8.3142, error) for error in (0.4312, 0.01234, 0.0)]
    ['8.3\xa0±\xa00.4', '8.314\xa0±\xa00.012', '8.31']
    """
    if not float(error) > 0:
        return f"{float(value):.3g}"
    places = -math.floor(math.log10(float(error)))
    # A leading 1 has another digit after it; cells do not break.
    digits = max(0, places + (float(error) * 10.0**places < 2.0))
    return f"{float(value):.{digits}f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{float(error):.{digits}f}"


def listed(numbers: Any) -> str:
    """Return numbers one by one, where they are few.

    Examples
    --------
    >>> listed([10, 30, 100]), listed(range(10, 40, 5))
    ('10, 30 and 100', '10, 15, 20, … and 35')
    """
    *first, last = [f"{number:,}" for number in numbers]
    shown = first if len(first) <= _MOST_LISTED else [*first[:_FIRST_LISTED], "…"]
    return " and ".join(filter(None, [", ".join(shown), last]))
