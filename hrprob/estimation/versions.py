r"""The formulas in which the paper as printed and its corrections differ.

===========================  ==========  ==================================================
where                        as printed  corrected
===========================  ==========  ==================================================
Lemma 1, scale of the noise  σ²_max      σ_max: the lemma quotes Theorem 2 of [2]_, which has the
                                         sub-Gaussian scale there. As printed the set is too
                                         wide if σ_max > 1, and not proved if σ_max < 1
Lemma 1, bias of the ridge   √λ          √λ·R_θ, with R_θ the bound of ‖θ*‖ (1 in the paper)
Theorem 1, bias of the ridge L²√λ        L√λ, since λ‖φ*‖ in the norm of V⁻¹ is at most L√λ
Theorem 3, logarithm         T           Γ(T): it counts samples, as in the last step of the proof
===========================  ==========  ==================================================

A further version is a subclass of :class:`Printed` and an entry of :data:`VERSIONS`.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
.. [2] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, "Improved Algorithms for Linear
   Stochastic Bandits", NeurIPS 2011.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

__all__ = ["VERSIONS", "Corrected", "Printed"]


class Printed:
    """The formulas as the paper prints them."""

    def noise_scale(self, variance_max: Any) -> Any:
        """Return the scale of the noise in Lemma 1."""
        return variance_max

    def theta_norm(self, bound_theta: Any) -> Any:
        """Return what √λ is multiplied by in Lemma 1."""
        return 1.0

    def phi_norm(self, bound: Any) -> Any:
        """Return what √λ is multiplied by in Theorem 1."""
        return bound**2

    def counted(self, users: Any, samples: Any) -> Any:
        """Return the count in the logarithm of Theorem 3."""
        return users


class Corrected(Printed):
    """The formulas with the errors of the print corrected."""

    def noise_scale(self, variance_max: Any) -> Any:
        """Return σ_max."""
        return jnp.sqrt(variance_max)

    def theta_norm(self, bound_theta: Any) -> Any:
        """Return the bound of ‖θ*‖."""
        return bound_theta

    def phi_norm(self, bound: Any) -> Any:
        """Return the bound of ‖φ*‖."""
        return bound

    def counted(self, users: Any, samples: Any) -> Any:
        """Return the number of samples."""
        return samples


VERSIONS: dict[str, Printed] = {"paper": Printed(), "corrected": Corrected()}
"""The versions by name."""
