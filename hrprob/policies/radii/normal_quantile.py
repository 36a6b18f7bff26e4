"""The radius of a normal vector: for policies on the weighted estimator, which has covariances."""

from __future__ import annotations

import math

from hrprob.policies.radii.base import Radius
from hrprob.policies.radii.constant import ConstantWidth
from hrprob.policies.radii.parameters import RadiusParameters
from hrprob.problem import Known

__all__ = ["NormalQuantile", "chi_radius"]


def chi_radius(dimension: int, delta: float) -> float:
    """Return the radius within which a standard normal vector lies with probability 1 − δ.

    Examples
    --------
    >>> round(chi_radius(4, 0.1), 4)
    2.7892
    """
    # Loaded here: this module is read for every policy with a radius, and few need it.
    from scipy.special import chdtri

    return math.sqrt(float(chdtri(dimension, delta)))


class NormalQuantile(Radius[RadiusParameters]):
    """The square root of the 1 − δ quantile of χ² with d degrees of freedom."""

    def width(self, policy: RadiusParameters, known: Known) -> ConstantWidth:
        """Return a constant width."""
        return ConstantWidth(chi_radius(known.dimension, policy.delta))
