"""Plain data as JSON, which has neither NaN nor infinity."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import SupportsFloat

from hrprob._core.files import read_bytes
from hrprob._core.types import Decoded

__all__ = ["MOST_BYTES", "finite_or_none", "finite_tree", "read_json", "write_json"]

MOST_BYTES = 1_000_000_000
"""Largest file that is read."""


def finite_or_none(number: SupportsFloat) -> float | None:
    """Return a number, or an array of one number, as a float; None if it is not finite.

    Examples
    --------
    >>> finite_or_none(2), finite_or_none(math.inf)
    (2.0, None)
    """
    value = float(number)
    return value if math.isfinite(value) else None


def finite_tree(data: object) -> object:
    """Return plain data with None in place of numbers that are not finite.

    Examples
    --------
    >>> finite_tree({"a": [1.0, math.nan], "b": "nan"})
    {'a': [1.0, None], 'b': 'nan'}
    """
    if isinstance(data, Mapping):
        return {key: finite_tree(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite_tree(value) for value in data]
    return finite_or_none(data) if isinstance(data, float) else data


def read_json(path: Path) -> Decoded:
    """Return what a file of JSON has; raise OSError, ValueError or RecursionError if it cannot be read."""
    return json.loads(read_bytes(path, MOST_BYTES).decode("utf-8"))


def write_json(path: Path, data: object) -> None:
    """Write plain data as JSON; an object that JSON does not know is written as its text."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except UnicodeEncodeError:
        # A path that is not UTF-8, which Python holds as lone surrogates: JSON writes them as escapes.
        path.write_text(json.dumps(data, indent=2, allow_nan=False, default=str) + "\n", encoding="ascii")
