r"""The bound on the regret of HR-UCB, Theorem 3 of the paper [1]_.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob.estimation.arguments import check_at_least_one, check_delta
from hrprob.estimation.versions import VERSIONS

__all__ = ["regret_bound"]


class Widths(Protocol):
    """What the bound depends on: ξ, λ, d and the version of the formulas."""

    @property
    def ridge(self) -> float:
        """λ."""

    @property
    def dimension(self) -> int:
        """D."""

    @property
    def version(self) -> str:
        """A name in :data:`hrprob.estimation.versions.VERSIONS`."""

    def xi(self, n: ArrayLike, delta: ArrayLike) -> Any:
        """Return ξ with n samples."""


@float64
def regret_bound(confidence: Widths, users: ArrayLike, delta: ArrayLike, growth: ArrayLike) -> jax.Array:
    r"""Return the bound on the regret after T users that holds with probability 1 − δ.

    .. math::
        \sqrt{8\,\xi_T^2(\delta/3)\,T\,d\,\ln\frac{N + \lambda d}{\lambda d}}

    with ξ at its largest sample size, Γ(T) = KT. N is T as printed and Γ(T) in the
    version ``corrected``.

    Parameters
    ----------
    confidence : ConfidenceSets
        Gives ξ, λ and d.
    users, delta, growth : array_like
        T; δ in (0, 1); K, at least 1.
    """
    users, delta = check_at_least_one(users, "users", "it is the number of users"), check_delta(delta)
    growth = check_at_least_one(growth, "growth", "every user contributes at least one sample")
    samples = growth * users
    counted = VERSIONS[confidence.version].counted(users, samples)
    unit = confidence.ridge * confidence.dimension
    squared = 8.0 * users * confidence.dimension * jnp.log((counted + unit) / unit)
    bound: jax.Array = confidence.xi(samples, delta / 3.0) * jnp.sqrt(squared)
    return bound
