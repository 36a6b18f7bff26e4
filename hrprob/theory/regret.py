r"""The proof of Theorem 3 step by step, along runs of HR-UCB, and the rates of its bound.

With w_t the regret of user t and ‖x_t‖ in the norm of V_{t−1}⁻¹, the proof is a chain of upper bounds on Σ w_t:

=============  =================================================  ===========================================
name           expression                                         step
=============  =================================================  ===========================================
``regret``     Σ w_t                                              what is bounded
``widths``     Σ 2ξ_{t−1}‖x_t‖                                    w_t ≤ 2ξ‖x_t‖: the index is optimistic, Lemma 6
``largest_ξ``  2ξ_T Σ ‖x_t‖                                       ξ grows
``cauchy``     2ξ_T (T Σ min{‖x_t‖², 1})^{1/2}                     Cauchy and Schwarz
``potential``  2ξ_T (T · 2d ln((Γ(T) + λd)/λd))^{1/2}              elliptical potential; Theorem 3 itself
=============  =================================================  ===========================================

The quotient of two neighbours is what a step costs. The elliptical potential is looked at by itself too:
Σ min{‖x_t‖², 1} ≤ 2 ln(det V_T/det λI) ≤ 2d ln((n + λd)/λd).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike

from hrprob.estimation.confidence import ConfidenceSets
from hrprob.observations import Stays

__all__ = ["STEPS", "Decomposition", "Rates", "decompose", "rates"]

STEPS = ("regret", "widths", "largest_xi", "cauchy", "potential")
"""The chain of upper bounds, the smallest first."""


class Decomposition(NamedTuple):
    """The proof of Theorem 3 along runs; trials on the first axis, users on the second."""

    cost: np.ndarray  # (trials, users) w_t
    width: np.ndarray  # (trials, users) 2ξ_{t−1}‖x_t‖
    norm: np.ndarray  # (trials, users) ‖x_t‖ in the norm of V_{t−1}⁻¹
    chain: dict[str, np.ndarray]  # by step, each (trials,), at the last user
    potential: np.ndarray  # (trials,) Σ min{‖x_t‖², 1}
    log_determinant: np.ndarray  # (trials,) 2 ln(det V_T/det λI)
    potential_bound: float  # 2d ln((Γ(T) + λd)/λd)
    bound: float  # Theorem 3 at T, with δ as in ξ

    @property
    def failing(self) -> np.ndarray:
        """Which users cost more than their width, (trials, users)."""
        return self.cost > self.width * (1.0 + 1e-9)


class Rates(NamedTuple):
    """The bound of Theorem 3 along T."""

    users: np.ndarray  # (points,) T
    fixed: np.ndarray  # (points,) at a fixed δ
    expected: np.ndarray  # (points,) at δ = 1/T
    exponent: np.ndarray  # (points,) d ln(expected)/d ln T
    over_rate: np.ndarray  # (points,) expected/√(T ln³T), the claimed rate
    over_rate_fixed: np.ndarray  # (points,) fixed/(√(T ln T)·ln T), the rate of Remark 7
    first_below_random: (
        float  # the smallest T at which ``fixed`` is below ``random_cost``·T; inf if none below 1e15
    )


def decompose(
    stays: Stays,
    cost: np.ndarray,
    sets: ConfidenceSets,
    xi: Callable[[np.ndarray], ArrayLike],
    *,
    growth: float,
    delta: float,
) -> Decomposition:
    """Return the steps of the proof for some trials.

    Parameters
    ----------
    stays : Stays
        Trials on the first axis of every leaf, users on the second: what entered the sample set.
    cost : ndarray, shape (trials, users)
        The regret of each user.
    sets : ConfidenceSets
        Gives λ, d and the bound of Theorem 3.
    xi : callable
        ξ before a user, given the size of the sample set (trials, users).
    growth, delta : float
        K and δ.
    """
    x, rounds = np.asarray(stays.x, dtype=float), np.asarray(stays.rounds, dtype=float)
    trials, users, d = x.shape
    ridge = float(sets.ridge)
    before = np.concatenate([np.zeros((trials, 1)), np.cumsum(rounds, axis=1)[:, :-1]], axis=1)
    norm, last = _norms(x, rounds, ridge)
    width = 2.0 * np.asarray(xi(np.maximum(before, 1.0))) * norm
    squares = np.minimum(norm**2, 1.0).sum(axis=1)
    top = float(np.asarray(xi(np.array([growth * users]))).ravel()[0])
    unit = ridge * d
    potential_bound = 2.0 * d * float(np.log((growth * users + unit) / unit))
    log_determinant = 2.0 * (np.linalg.slogdet(last)[1] - d * np.log(ridge))
    chain = {
        "regret": cost.sum(axis=1),
        "widths": width.sum(axis=1),
        "largest_xi": 2.0 * top * norm.sum(axis=1),
        "cauchy": 2.0 * top * np.sqrt(users * squares),
        "potential": np.full(trials, 2.0 * top * np.sqrt(users * potential_bound)),
    }
    bound = float(sets.regret_bound(users, delta, growth))
    return Decomposition(cost, width, norm, chain, squares, log_determinant, potential_bound, bound)


def _norms(x: np.ndarray, rounds: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ‖x_t‖ in the norm of V_{t−1}⁻¹, (trials, users), and V_T, (trials, d, d)."""
    trials, users, d = x.shape
    inverse = np.broadcast_to(np.eye(d) / ridge, (trials, d, d)).copy()
    norms = np.empty((trials, users))
    for user in range(users):
        one, m = x[:, user], rounds[:, user, None, None]
        along = np.einsum("sij,sj->si", inverse, one)
        squared = np.sum(one * along, axis=1)
        norms[:, user] = np.sqrt(np.maximum(squared, 0.0))
        inverse -= m / (1.0 + m * squared[:, None, None]) * along[:, :, None] * along[:, None, :]
    return norms, np.einsum("su,sui,suj->sij", rounds, x, x) + ridge * np.eye(d)


def rates(
    sets: ConfidenceSets,
    *,
    growth: float,
    delta: float,
    random_cost: float,
    decades: tuple[int, int] = (2, 12),
) -> Rates:
    """Return the bound of Theorem 3 along T, and how it compares with the rates that the paper names.

    Parameters
    ----------
    sets : ConfidenceSets
        Gives the bound.
    growth, delta : float
        K and δ.
    random_cost : float
        The mean regret of a random choice per user: a bound above this times T says nothing.
    decades : tuple of int
        The powers of ten between which T lies.
    """
    users = np.logspace(*decades, num=1 + 4 * (decades[1] - decades[0]))
    fixed = np.asarray(sets.regret_bound(users, delta, growth))
    expected = np.asarray(sets.expected_regret_bound(users, growth))
    log = np.log(users)
    far = np.logspace(2, 15, 1301)
    says_something = np.asarray(sets.regret_bound(far, delta, growth)) < random_cost * far
    first = float(far[np.argmax(says_something)]) if says_something.any() else np.inf
    return Rates(
        users,
        fixed,
        expected,
        np.gradient(np.log(expected), log),
        expected / np.sqrt(users * log**3),
        fixed / (np.sqrt(users * log) * log),
        first,
    )
