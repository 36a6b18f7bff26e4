"""Values divided by the least of them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ratios_to_least"]


def ratios_to_least(values: Mapping[str, float], floor: float = 1.0) -> dict[str, float]:
    """Return every value divided by the least; values below ``floor`` count as ``floor``.

    The floor keeps a ratio to nearly nothing from being huge: losing less than a round is losing nothing.

    Examples
    --------
    >>> ratios_to_least({"a": 10.0, "b": 25.0}), ratios_to_least({"a": 0.1, "b": 3.0})
    ({'a': 1.0, 'b': 2.5}, {'a': 1.0, 'b': 3.0})
    """
    least = max(min(values.values()), floor)
    return {name: max(value, floor) / least for name, value in values.items()}
