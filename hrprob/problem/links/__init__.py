r"""The link f from φᵀx to the variance of an outcome.

========  ===============  ==========================================
symbol    name             where
========  ===============  ==========================================
f(z)      ``link(z)``      Section 3: known, linear, f >= 0 on [-L, L]
f⁻¹(w)    ``link.inverse``  equation of the variance estimator
M_f       ``link.slope``   Section 3
========  ===============  ==========================================

The paper's link is affine. Two more are positive on the whole line, for posteriors and Bayesian policies:

============  ====================  =====================================================
``affine``    M_f·z + offset        the paper's; what the GLSE and ρ_n need
``log``       scale·eᶻ              the log variance is linear in the context
``softplus``  scale·ln(1 + eᶻ)      nearly linear where variances are large
============  ====================  =====================================================
"""

from hrprob.problem.links.affine import Affine
from hrprob.problem.links.base import LINKS, AffineLink, Link, register
from hrprob.problem.links.log import LogLink
from hrprob.problem.links.softplus import SoftplusLink

__all__ = ["LINKS", "Affine", "AffineLink", "Link", "LogLink", "SoftplusLink", "register"]
