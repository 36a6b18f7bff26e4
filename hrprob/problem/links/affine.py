"""The affine link f(z) = M_f·z + offset, which the paper assumes."""

from __future__ import annotations

from typing import ClassVar

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Numeric
from hrprob.problem.links.base import register

__all__ = ["Affine"]


@register("affine")
class Affine:
    r"""The affine link :math:`f(z) = M_f z + \text{offset}`.

    Parameters
    ----------
    slope : float
        :math:`M_f`, above zero.
    offset : float
        :math:`f(0)`, above zero.

    Examples
    --------
    >>> link = Affine(slope=1.0, offset=2.0)
    >>> link(0.5), link.inverse(2.5)
    (2.5, 0.5)
    """

    kind: ClassVar[str]
    slope: float = 1.0
    offset: float = 2.0

    def __post_init__(self) -> None:
        set_frozen(
            self,
            slope=check_number(
                "slope", self.slope, low=0, open_low=True, remedy="the variance must grow along φᵀx"
            ),
            offset=check_number(
                "offset", self.offset, low=0, open_low=True, remedy="it is the variance where φᵀx = 0"
            ),
        )

    def __call__(self, z: Numeric) -> Numeric:
        """Return f(z)."""
        return self.slope * z + self.offset

    def inverse(self, variance: Numeric) -> Numeric:
        """Return z with f(z) = ``variance``."""
        return (variance - self.offset) / self.slope

    def check_bound(self, bound: float) -> None:
        """Raise unless f >= 0 on [-bound, bound]."""
        if self.slope * bound > self.offset * (1 + 1e-12):
            raise InvalidInput(
                "link.offset",
                f"must be at least slope · bounds.phi = {self.slope * bound:g}",
                self.offset,
                "the variance f(φᵀx) would be negative for some ‖φ‖ within its bound; "
                "raise `link.offset` or lower `bounds.phi`",
            )
