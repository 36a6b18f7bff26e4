r"""The bound on the regret of HR-UCB, Theorem 3 of the paper [1]_.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

import warnings
from typing import Protocol

import jax
from jax.typing import ArrayLike

from hrprob._core.precision import arrays_for, float64, is_traced
from hrprob.estimation.arguments import check_at_least_one, check_delta
from hrprob.estimation.versions import VERSIONS

__all__ = ["expected_regret_bound", "regret_bound"]


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

    def xi(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        """Return ξ with n samples."""


@float64
def regret_bound(confidence: Widths, users: ArrayLike, delta: ArrayLike, growth: ArrayLike) -> jax.Array:
    r"""Return the bound on the regret after T users that holds with probability 1 − δ.

    .. math::
        \sqrt{8\,\xi_T^2(\delta/3)\,T\,d\,\ln\frac{N + \lambda d}{\lambda d}}

    with ξ at its largest sample size, Γ(T) = KT. N is T as printed and Γ(T) in the
    version ``corrected``, which also multiplies by max(1, λ^(−1/2)): the proof bounds ‖x‖² in the norm of
    V⁻¹ by its minimum with 1, which needs λ ≥ 1. As printed, λ < 1 gives a warning.

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
    formulas = VERSIONS[confidence.version]
    _check_ridge(confidence)
    counted = formulas.counted(users, samples)
    unit, xp = confidence.ridge * confidence.dimension, arrays_for(confidence, users, growth)
    squared = 8.0 * users * confidence.dimension * xp.log((counted + unit) / unit)
    bound: jax.Array = confidence.xi(samples, delta / 3.0) * xp.sqrt(squared)
    return bound * formulas.largest_norm(confidence.ridge)


@float64
def expected_regret_bound(
    confidence: Widths, users: ArrayLike, growth: ArrayLike, largest: ArrayLike
) -> jax.Array:
    r"""Return a bound on the **expected** regret after T users: that of Theorem 3 at δ = 1/T, plus ``largest``.

    With probability 1 − 1/T the regret is at most the bound at δ = 1/T, and otherwise at most T times the
    largest that one user can cost. The paper has :math:`O(\sqrt{T (\ln T)^3})` by this choice of δ; the second term,
    which it leaves out, is a constant.

    Parameters
    ----------
    confidence : ConfidenceSets
        Gives ξ, λ and d.
    users, growth : array_like
        T, at least 2; K, at least 1.
    largest : array_like
        The largest h* − h of a user; 0 for the paper's expression alone.
    """
    users = check_at_least_one(users, "users", "it is the number of users")
    return regret_bound(confidence, users, 1.0 / arrays_for(users).maximum(users, 2.0), growth) + largest


def _check_ridge(confidence: Widths) -> None:
    printed = not VERSIONS[confidence.version].needs_scale
    if printed and not is_traced(confidence.ridge) and float(confidence.ridge) < 1.0:
        warnings.warn(
            f"`ridge` is {float(confidence.ridge):g}, below 1: Theorem 3 as printed is not proved there; "
            'version "corrected" allows for it',
            stacklevel=4,
        )
