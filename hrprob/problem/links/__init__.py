r"""The link f from φᵀx to the variance of an outcome.

========  ===============  ==========================================
symbol    name             where
========  ===============  ==========================================
f(z)      ``link(z)``      Section 3: known, linear, f >= 0 on [-L, L]
f⁻¹(w)    ``link.inverse``  equation of the variance estimator
M_f       ``link.slope``   Section 3
========  ===============  ==========================================
"""

from hrprob.problem.links.affine import Affine
from hrprob.problem.links.base import LINKS, AffineLink, Link, register

__all__ = ["LINKS", "Affine", "AffineLink", "Link", "register"]
