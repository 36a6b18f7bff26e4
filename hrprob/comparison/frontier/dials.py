"""Dials: one policy at several settings, from hardly any exploration to too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hrprob._core.errors import InvalidInput, check_number
from hrprob.policies.base import Policy

__all__ = ["RADII", "SCALES", "Setting", "dial_policies"]

SCALES = (0.0, 0.5, 1.0, 2.0)
"""Factors on the spread of Thompson's posterior."""

RADII = (0.0, 2.0, 8.0, 26.0)
"""Constant radii ξ of HR-UCB; 26 is about that of the published curves."""


class Setting(NamedTuple):
    """A policy on a dial."""

    policy: Policy
    dial: str
    value: float


def dial_policies(scales: Sequence[float] = SCALES, radii: Sequence[float] = RADII) -> Mapping[str, Setting]:
    """Return Thompson sampling at each scale and HR-UCB at each radius, by name.

    Parameters
    ----------
    scales : sequence of float
        Factors on the posterior's spread; 0 serves the best action at its centre.
    radii : sequence of float
        Values of ξ; 0 is greedy on the sample set of HR-UCB.

    Examples
    --------
    >>> list(dial_policies(scales=[0.5], radii=[]))
    ['thompson scale 0.5']
    """
    # The policies import NumPyro, which other parts of this package do without.
    from hrprob.policies import HRUCB, Thompson

    found: dict[str, Setting] = {}
    for field, values in (("scales", scales), ("radii", radii)):
        for value in values:
            number = check_number(field, value, low=0, remedy="0 is no exploration")
            if field == "scales":
                one = Setting(Thompson(scale=number), "thompson scale", number)
            else:
                one = Setting(HRUCB(radius="constant", xi=number), "hr-ucb ξ", number)
            name = f"{one.dial} {number:g}"
            if name in found:
                raise InvalidInput(
                    field, "must not have a value twice", list(values), f"leave out one {number:g}"
                )
            found[name] = one
    return found
