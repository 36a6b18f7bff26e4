r"""The paper's inequalities, one entry each: left side, right side, and how often it may fail.

``allowed`` is the probability of failure in units of δ: 0 for an inequality that holds always, 2 where a proof uses two
events of probability 1 − δ. ``versions`` names the versions of the confidence sets
(:mod:`hrprob.estimation.versions`) with which the right side is computed; an inequality without sets has one.
``pointwise`` is False where the paper claims it for all n simultaneously: it then fails as soon as it fails at any of the sizes looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jax.typing import ArrayLike

from hrprob._core.types import AsWritten
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.theory.quantities import Quantities

__all__ = ["INEQUALITIES", "NOT_A_CLAIM", "Inequality"]

NOT_A_CLAIM = "not a claim"
"""How the note of an inequality begins that the paper does not state: it is measured, and no part of the answer."""

Left = Callable[[Quantities], np.ndarray]
Right = Callable[[Quantities, ConfidenceSets, float], ArrayLike]

_NO_SETS = ("corrected",)
_ALL = ("paper", "corrected")
_WITH_EXPLICIT = ("paper", "corrected", "explicit")


@dataclass(frozen=True)
class Inequality:
    """An inequality of the paper: left ≤ right."""

    key: str
    reference: str  # where it stands in the paper
    statement: str
    left: Left
    right: Right
    allowed: float = 0.0  # probability of failure over δ
    versions: tuple[str, ...] = _NO_SETS
    pointwise: bool = True
    note: str = ""  # what is wrong in print, or what is assumed

    @property
    def depends_on_sets(self) -> bool:
        """Whether the right side is computed from the confidence sets."""
        return self.versions != _NO_SETS


def _always(
    key: str, reference: str, statement: str, left: Left, right: Right, **more: AsWritten
) -> Inequality:
    """Return an inequality that holds in every replication, if nothing else is said; ``right`` may be one number."""
    return Inequality(
        key,
        reference,
        statement,
        left,
        lambda q, sets, delta: right(q, sets, delta) + np.zeros_like(q.n),
        **more,
    )


# It may fail with probability δ, and its right side is computed from the confidence sets.
_probable = functools.partial(_always, allowed=1.0, versions=_ALL)


INEQUALITIES: tuple[Inequality, ...] = (
    _probable(
        "lemma-1",
        "Lemma 1, one n",
        "‖θ̂ − θ*‖_V ≤ α⁽¹⁾_n(δ)",
        lambda q: q.theta_error,
        lambda q, sets, delta: sets.alpha1(q.n, delta),
        note="as printed σ²_max stands for σ_max",
    ),
    _probable(
        "lemma-1-all-n",
        "Lemma 1, all n",
        "‖θ̂ − θ*‖_V ≤ α⁽¹⁾_n(δ) for all n looked at",
        lambda q: q.theta_error,
        lambda q, sets, delta: sets.alpha1(q.n, delta),
        pointwise=False,
    ),
    _always(
        "lemma-2",
        "Lemma 2",
        "‖φ̂ − φ*‖_V ≤ λ‖φ*‖ + (term 1 + 2·term 2 + term 3)/M_f",
        lambda q: q.phi_error,
        lambda q, sets, delta: (
            q.ridge_term + (q.square_term + 2.0 * q.cross_term + q.mean_term) / float(sets.slope)
        ),
    ),
    _always(
        "theorem-1-ridge",
        "Theorem 1, first step",
        "λ‖φ*‖_{V⁻¹} ≤ L√λ (printed L²√λ)",
        lambda q: q.ridge_term,
        lambda q, sets, delta: sets.bound * np.sqrt(sets.ridge),
        note="the print has L², which is smaller than L, and false, if L < 1",
    ),
    _probable(
        "lemma-3",
        "Lemma 3",
        "term 1: ‖Xᵀ(ε∘ε − f(Xφ*))‖ ≤ α⁽²⁾(δ)",
        lambda q: q.square_term,
        lambda q, sets, delta: float(sets.alpha2(delta)),
        versions=("paper", "explicit"),
        note="C₁ = C₂ = 1 in paper and corrected, as the paper gives no values; explicit has none. Fixed contexts",
    ),
    _probable(
        "lemma-4-matrix",
        "Lemma 4, matrix bound",
        "‖Σ ε_i v_i v_iᵀ‖₂ ≤ α⁽³⁾(δ)",
        lambda q: q.matrix_norm,
        lambda q, sets, delta: float(sets.alpha3(delta)),
        note="fixed contexts; the factor √d in α⁽³⁾ is not needed, since ‖v_i‖ ≤ 1",
    ),
    _always(
        "lemma-4-top",
        "Lemma 4, last step",
        "‖Σ ε_i v_i v_iᵀ‖₂ ≤ λ_max(Σ ε_i v_i v_iᵀ)",
        lambda q: q.matrix_norm,
        lambda q, sets, delta: q.matrix_top,
        note="the print has an equality: false where the smallest eigenvalue is the largest in absolute value",
    ),
    _probable(
        "lemma-4",
        "Lemma 4",
        "term 2: ‖Xᵀ(ε∘X(θ* − θ̂))‖ ≤ α⁽¹⁾_n(δ)·α⁽³⁾(δ)",
        lambda q: q.cross_term,
        lambda q, sets, delta: sets.alpha1(q.n, delta) * float(sets.alpha3(delta)),
        allowed=2.0,
        note="two events of probability 1 − δ: 1 − 2δ, where the print has 1 − δ. Fixed contexts",
    ),
    _always(
        "lemma-4-split",
        "Lemma 4, first step",
        "term 2 ≤ ‖Σ ε_i v_i v_iᵀ‖₂·‖θ̂ − θ*‖_V",
        lambda q: q.cross_term,
        lambda q, sets, delta: q.matrix_norm * q.theta_error,
    ),
    _always(
        "lemma-5-step",
        "Lemma 5, last step",
        "term 3 ≤ ‖θ̂ − θ*‖²_V",
        lambda q: q.mean_term,
        lambda q, sets, delta: q.theta_error**2,
    ),
    _probable(
        "lemma-5",
        "Lemma 5",
        "term 3: ‖Xᵀ(X(θ* − θ̂)∘X(θ* − θ̂))‖ ≤ α⁽¹⁾_n(δ)²",
        lambda q: q.mean_term,
        lambda q, sets, delta: sets.alpha1(q.n, delta) ** 2,
    ),
    _probable(
        "theorem-1",
        "Theorem 1, one n",
        "‖φ̂ − φ*‖_V ≤ ρ_n(δ)",
        lambda q: q.phi_error,
        lambda q, sets, delta: sets.rho(q.n, delta),
        versions=_WITH_EXPLICIT,
        note="fixed contexts",
    ),
    _probable(
        "theorem-1-all-n",
        "Theorem 1, all n",
        "‖φ̂ − φ*‖_V ≤ ρ_n(δ/n²) for all n looked at",
        lambda q: q.phi_error,
        lambda q, sets, delta: sets.rho_simultaneous(q.n, delta),
        allowed=2.0,
        versions=_WITH_EXPLICIT,
        pointwise=False,
        note="fixed contexts",
    ),
    _always(
        "lemma-a2",
        "Lemma A.2",
        "‖V^{-1/2}Xᵀ‖₂ ≤ 1",
        lambda q: q.design_norm,
        lambda q, sets, delta: 1.0,
        note="the proof's λ_max is the square of the norm; the conclusion stands",
    ),
    _always(
        "lemma-a3",
        "Lemma A.3",
        "Σ ‖v_i‖² ≤ d",
        lambda q: q.design_sum,
        lambda q, sets, delta: float(sets.dimension),
        note="V^{1/2} stands for V^{-1/2} in its proof; the conclusion stands",
    ),
    _always(
        "theta-in-ball",
        "Theorem 2, as used in Lemma 6",
        "‖θ̂‖ ≤ 1",
        lambda q: q.theta_norm,
        lambda q, sets, delta: float(sets.bound_theta),
        note="a condition of Theorem 2 that Lemma 6 does not check; `project = true` makes it true",
    ),
    _always(
        "phi-in-ball",
        "Theorem 2, as used in Lemma 6",
        "‖φ̂‖ ≤ L",
        lambda q: q.phi_norm,
        lambda q, sets, delta: float(sets.bound),
        note="the same for φ̂",
    ),
    _always(
        "theorem-2",
        "Theorem 2, with C₃ = C₄ = 1",
        "|h(θ̂, φ̂) − h(θ*, φ*)| ≤ (‖θ̂ − θ*‖_V + ‖φ̂ − φ*‖_V)·‖x‖",
        lambda q: q.value_error,
        lambda q, sets, delta: (q.theta_error + q.phi_error) * q.new_norm,
        note=f"{NOT_A_CLAIM}: 1 is the default of c3 and c4, and the computed constants are finite only above a variance floor",
    ),
    _probable(
        "lemma-6",
        "Lemma 6, with C₃ = C₄ = 1",
        "|Q(x) − ξ‖x‖ − h(θ*, φ*)| ≤ ξ‖x‖",
        lambda q: q.value_error,
        lambda q, sets, delta: sets.xi(q.n, delta) * q.new_norm,
        allowed=3.0,
        versions=_WITH_EXPLICIT,
        note="both sides of the lemma: 0 ≤ Q − h ≤ 2ξ‖x‖",
    ),
)
"""All inequalities at one number of samples, in the order of the paper."""
