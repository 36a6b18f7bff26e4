r"""The noise of an outcome, standardised to mean 0 and variance 1.

An outcome is r = u + √w·e with e drawn from ψ, so the noise enters the theory
through its distribution function alone. The paper's ψ is normal; its footnote to the
outcome and its Remark 5 allow any known sub-Gaussian ψ, truncated and mixed ones included.

===========  =========================  ==============================================
symbol       name                       where
===========  =========================  ==============================================
ψ(z)         ``noise.pdf``              Section 3, the location-scale family
Ψ(z)         ``noise.cdf``              chance of reneging at z = (β − u)/√w
1/Ψ(z)       ``noise.inverse_chance``   expected lifetime at z
===========  =========================  ==============================================

==================  ==================================================================
kind                ψ
==================  ==================================================================
normal              the paper's
truncated-normal    normal, cut on either side: bounded outcomes
mixture             two normal components: skewed, or with two peaks
student-t           heavy tails, beyond the theory: not sub-Gaussian
==================  ==================================================================

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

import dataclasses
from typing import Any

from hrprob.errors import InvalidInput, check_choice
from hrprob.noise.base import Noise
from hrprob.noise.distribution import FromDistribution
from hrprob.noise.mixture import Mixture
from hrprob.noise.normal import NORMAL, Normal
from hrprob.noise.student_t import StudentT
from hrprob.noise.truncated_normal import TruncatedNormal

__all__ = [
    "KINDS",
    "NORMAL",
    "FromDistribution",
    "Mixture",
    "Noise",
    "Normal",
    "StudentT",
    "TruncatedNormal",
    "make_noise",
]

KINDS: dict[str, type[Any]] = {cls.kind: cls for cls in (Normal, TruncatedNormal, Mixture, StudentT)}
"""The noises that a configuration can name."""


def make_noise(noise: Any) -> Noise:
    """Return a noise: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_noise({"kind": "student-t", "df": 6.0})
    StudentT(df=6.0)
    """
    if not isinstance(noise, str | dict):
        if isinstance(noise, type) or not hasattr(noise, "inverse_chance"):
            remedy = 'a kind such as "student-t", a table with its kind, or hrprob.StudentT()'
            raise InvalidInput("noise", "must be a noise", noise, remedy)
        return noise
    table = dict(noise) if isinstance(noise, dict) else {"kind": noise}
    kind = check_choice("noise.kind", table.pop("kind", None), list(KINDS))
    names = [field.name for field in dataclasses.fields(KINDS[kind]) if field.init]
    for name, value in table.items():
        if name not in names:
            known = ", ".join(names) or "no parameters"
            raise InvalidInput(f"noise.{name}", "must be a known key", value, f"{kind!r} has {known}")
    try:
        return KINDS[kind](**table)
    except InvalidInput as complaint:
        raise complaint.within("noise") from None
