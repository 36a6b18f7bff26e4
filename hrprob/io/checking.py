"""Whether a dataset is a result as :func:`hrprob.simulate` makes it: checked as a whole, before anything is averaged."""

from __future__ import annotations

import json

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded

__all__ = ["check_result"]

_AXES = {
    "regret": ("policy", "trial", "user"),
    "lifetime": ("policy", "trial", "user"),
    "action": ("policy", "trial", "user"),
    "optimal": ("policy", "trial", "user"),
    "best": ("trial", "user"),
    "mean_best": ("trial",),
    "mean_lifetime": ("policy", "trial"),
    "seconds": ("policy",),
}
_DESCRIPTIONS = ("problem", "policies", "misspecified")


def check_result(data: xarray.Dataset, place: str) -> None:
    """Raise unless a dataset has all that a result has, in the right form.

    Parameters
    ----------
    data : xarray.Dataset
        What was read.
    place : str
        Where it was read, for the error.

    Raises
    ------
    InvalidInput
        With what is missing or wrong.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> check_result(result, "here")
    >>> check_result(result.drop_vars("regret"), "here")
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `DIR` must hold a result of hrprob, got 'here': it has no variable `regret`; play it again
    """
    wrong = _first_fault(data)
    if wrong is not None:
        raise InvalidInput("DIR", "must hold a result of hrprob", place, f"{wrong}; play it again")


def _first_fault(data: xarray.Dataset) -> str | None:
    return _fault_of_axes(data) or _fault_of_variables(data) or _fault_of_descriptions(data)


def _fault_of_axes(data: xarray.Dataset) -> str | None:
    for axis in ("policy", "trial", "user"):
        if axis not in data.coords or data.coords[axis].dims != (axis,):
            return f"it has no axis `{axis}`"
        values = data.coords[axis].values
        if not len(values):
            return f"its axis `{axis}` is empty"
        if len(np.unique(values.astype(str))) < len(values):
            return f"its axis `{axis}` has an entry twice"
        if axis == "policy":
            continue
        if values.dtype.kind not in "iu":
            return f"its axis `{axis}` is not of whole numbers"
        if np.any(np.diff(values) <= 0) or values[0] < (axis == "user"):
            return f"its axis `{axis}` does not count up"
    return None


def _fault_of_variables(data: xarray.Dataset) -> str | None:
    for name, axes in _AXES.items():
        if name not in data.data_vars:
            return f"it has no variable `{name}`"
        if data[name].dims != axes or data[name].dtype.kind not in "iuf":
            return f"its variable `{name}` is not of numbers over {', '.join(axes)}"
        # A lifetime may be infinite, and a sum of regrets with it; none is undefined.
        if name != "seconds" and np.isnan(data[name].values).any():
            return f"its variable `{name}` has entries that are no numbers"
    return None


def _fault_of_descriptions(data: xarray.Dataset) -> str | None:
    for name in ("seed", "users"):
        if not isinstance(data.attrs.get(name), int | np.integer):
            return f"it has no whole number `{name}`"
    if int(data.attrs["users"]) != int(data.user.values[-1]):
        return f"it has {data.attrs['users']} users, and the last is {data.user.values[-1]}"
    described: dict[str, Decoded] = {}
    for name in _DESCRIPTIONS:
        try:
            described[name] = json.loads(data.attrs.get(name, ""))
        except (TypeError, ValueError, RecursionError):
            return f"its description `{name}` cannot be read"
        if not isinstance(described[name], dict):
            return f"its description `{name}` is no table"
    missing = set(map(str, data.policy.values)) - set(described["policies"])
    return f"it does not describe the policy {min(missing)!r}" if missing else None
