"""The log link f(z) = scale·eᶻ: variances that are positive whatever φ is."""

from __future__ import annotations

from typing import ClassVar

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Numeric
from hrprob.problem.links.base import check_exponent, numbers_of, register

__all__ = ["LogLink"]


@register("log")
class LogLink:
    r"""The log link :math:`f(z) = \text{scale} \cdot e^z`: the log variance is linear in the context.

    It is not affine: the GLSE, :math:`\rho_n` and policies on them refuse it; posteriors of every engine and Bayesian
    policies take it.

    Parameters
    ----------
    scale : float
        :math:`f(0)`, above zero: about the variance of outcomes.

    Examples
    --------
    >>> link = LogLink(scale=2.0)
    >>> round(float(link(1.0)), 4), round(float(link.inverse(5.4366)), 4)
    (5.4366, 1.0)
    """

    kind: ClassVar[str]
    is_positive: ClassVar[bool] = True
    scale: float = 1.0

    def __post_init__(self) -> None:
        remedy = "it is the variance where φᵀx = 0"
        set_frozen(self, scale=check_number("scale", self.scale, low=0, open_low=True, remedy=remedy))

    def __call__(self, z: Numeric) -> Numeric:
        """Return f(z)."""
        return self.scale * numbers_of(z, self.scale).exp(z)

    def inverse(self, variance: Numeric) -> Numeric:
        """Return z with f(z) = ``variance``."""
        return numbers_of(variance, self.scale).log(variance / self.scale)

    def check_bound(self, bound: float) -> None:
        """Raise unless variances within the bound can be computed with."""
        check_exponent(bound)
