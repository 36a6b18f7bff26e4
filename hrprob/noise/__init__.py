r"""The noise of an outcome, standardised to mean 0 and variance 1.

An outcome is r = u + √w·e with e drawn from ψ, so the theory needs only the distribution
function Ψ of the noise. The paper's ψ is normal; its footnote to the outcome and its Remark 5
allow any known sub-Gaussian ψ, including truncated ones and mixtures.

===========  =========================  ==============================================
symbol       name                       where
===========  =========================  ==============================================
ψ(z)         ``noise.pdf``              Section 3, the location-scale family
Ψ(z)         ``noise.cdf``              probability of reneging at z = (β − u)/√w
1 − Ψ(z)     ``noise.survival``         probability of an outcome above a threshold
1/Ψ(z)       ``noise.reciprocal_cdf``   expected lifetime at z
R            ``sub_gaussian_scale``     Remark 5, at least 1: R·σ_max in the confidence sets
===========  =========================  ==============================================

==================  ==================================================================
kind                ψ
==================  ==================================================================
normal              normal, as in the paper
truncated-normal    normal, cut on both sides: bounded outcomes
mixture             two normal components: skewed, or with two peaks
student-t           heavy tails, not sub-Gaussian: outside the theory
residuals           resampled from data, smoothed by a narrow kernel
==================  ==================================================================

:class:`FromDistribution` makes a noise of any NumPyro distribution of mean 0 and variance 1. What a noise of one's own
needs is said in :mod:`hrprob.noise.base`.

Examples
--------
>>> noise = StudentT(df=5.0)
>>> round(float(noise.cdf(-2.0)), 4)
0.0247

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from hrprob.noise.base import NOISES, Noise, Tailed, register
from hrprob.noise.distribution import FromDistribution
from hrprob.noise.mixture import Mixture
from hrprob.noise.normal import NORMAL, Normal
from hrprob.noise.residuals import Residuals
from hrprob.noise.student_t import StudentT
from hrprob.noise.truncated_normal import TruncatedNormal

__all__ = [
    "NOISES",
    "NORMAL",
    "FromDistribution",
    "Mixture",
    "Noise",
    "Normal",
    "Residuals",
    "StudentT",
    "Tailed",
    "TruncatedNormal",
    "register",
]
