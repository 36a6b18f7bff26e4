"""The norms of θ* and φ* that a policy may rely on."""

from __future__ import annotations

from hrprob._core.errors import check_number
from hrprob._core.records import record, set_frozen

__all__ = ["Bounds"]


@record()
class Bounds:
    """Norm bounds: ‖θ*‖ ≤ ``theta`` and ‖φ*‖ ≤ ``phi`` (the paper's 1 and L).

    Examples
    --------
    >>> Bounds(theta=1.0, phi=2.0)
    Bounds(theta=1.0, phi=2.0)
    """

    theta: float = 1.0
    phi: float = 2.0

    def __post_init__(self) -> None:
        remedy = "it bounds a norm"
        set_frozen(
            self,
            theta=check_number("theta", self.theta, low=0, open_low=True, remedy=remedy),
            phi=check_number("phi", self.phi, low=0, open_low=True, remedy=remedy),
        )
