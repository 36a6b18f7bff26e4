"""The softplus link f(z) = scale·ln(1 + eᶻ): positive, and nearly linear where variances are large."""

from __future__ import annotations

from typing import ClassVar

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Numeric
from hrprob.problem.links.base import check_exponent, numbers_of, register

__all__ = ["SoftplusLink"]


@register("softplus")
class SoftplusLink:
    r"""The softplus link :math:`f(z) = \text{scale} \cdot \ln(1 + e^z)`.

    It grows as :math:`\text{scale} \cdot z` for large z and falls as :math:`\text{scale} \cdot e^z` for small ones. It is not
    affine: the GLSE, :math:`\rho_n` and policies on them refuse it; posteriors of every engine and Bayesian policies take it.

    Parameters
    ----------
    scale : float
        Factor of the variance, above zero; :math:`f(0)` is 0.69 times this.

    Examples
    --------
    >>> link = SoftplusLink(scale=2.0)
    >>> round(float(link(1.0)), 4), round(float(link.inverse(2.6265)), 4)
    (2.6265, 1.0)
    """

    kind: ClassVar[str]
    is_positive: ClassVar[bool] = True
    scale: float = 1.0

    def __post_init__(self) -> None:
        remedy = "it multiplies a variance"
        set_frozen(self, scale=check_number("scale", self.scale, low=0, open_low=True, remedy=remedy))

    def __call__(self, z: Numeric) -> Numeric:
        """Return f(z)."""
        return self.scale * numbers_of(z, self.scale).logaddexp(z, 0.0)

    def inverse(self, variance: Numeric) -> Numeric:
        """Return z with f(z) = ``variance``."""
        numbers, units = numbers_of(variance, self.scale), variance / self.scale
        return units + numbers.log(-numbers.expm1(-units))

    def check_bound(self, bound: float) -> None:
        """Raise unless variances within the bound can be computed with."""
        check_exponent(bound)
