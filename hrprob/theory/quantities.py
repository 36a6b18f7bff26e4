r"""What the paper's inequalities compare, computed from stays after some numbers of users.

=========================================  ==================  ================================
symbol                                     name                where
=========================================  ==================  ================================
n                                          ``n``               rounds in the sample set
‖θ̂ − θ*‖_V, ‖φ̂ − φ*‖_V                     ``theta_error`` …   Lemma 1, Theorem 1
‖θ̂‖, ‖φ̂‖                                   ``theta_norm`` …    Theorem 2 needs ≤ 1 and ≤ L
λ‖φ*‖_{V⁻¹}                                ``ridge_term``      Lemma 2
‖Xᵀ(ε∘ε − f(Xφ*))‖_{V⁻¹}                   ``square_term``     Lemmas 2 and 3, times M_f
‖Xᵀ(ε∘X(θ* − θ̂))‖_{V⁻¹}                    ``cross_term``      Lemmas 2 and 4
‖Xᵀ(X(θ* − θ̂)∘X(θ* − θ̂))‖_{V⁻¹}            ``mean_term``       Lemmas 2 and 5
‖Σ ε_i v_i v_iᵀ‖₂, its λ_max               ``matrix_norm`` …   Lemma 4, v_i = V^{-1/2}x_i
‖V^{-1/2}Xᵀ‖₂, Σ ‖v_i‖²                    ``design_norm`` …   Lemmas A.2, A.3
\|h(θ̂ᵀx, φ̂ᵀx) − h(θ*ᵀx, φ*ᵀx)\|            ``value_error``     Theorem 2, Lemma 6, at a new x
‖x‖_{V⁻¹}                                  ``new_norm``        the same
=========================================  ==================  ================================

A stay of m rounds with one context enters through m, Σr and Σr², so that all sums are exact. ε is known
here, since the truth is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hrprob.lifetime import h
from hrprob.observations import Stays
from hrprob.problem import Problem
from hrprob.problem.links.base import as_affine

__all__ = ["Quantities", "cut_users", "quantities_along"]


class Quantities(NamedTuple):
    """Numbers (sets, cuts) of each data set after some numbers of users."""

    n: np.ndarray
    theta_error: np.ndarray
    phi_error: np.ndarray
    theta_norm: np.ndarray
    phi_norm: np.ndarray
    ridge_term: np.ndarray
    square_term: np.ndarray
    cross_term: np.ndarray
    mean_term: np.ndarray
    matrix_norm: np.ndarray
    matrix_top: np.ndarray
    design_norm: np.ndarray
    design_sum: np.ndarray
    value_error: np.ndarray
    new_norm: np.ndarray


class _Sums(NamedTuple):
    """Sums over the stays so far; data sets on the first axis."""

    n: np.ndarray  # (sets,)
    gram: np.ndarray  # (sets, d, d) Σ m xxᵀ
    rx: np.ndarray  # (sets, d) Σ r x
    noise_x: np.ndarray  # (sets, d) Σ (ε² − σ²) x
    noise_xx: np.ndarray  # (sets, d, d) Σ ε xxᵀ
    xxx: np.ndarray  # (sets, d, d, d) Σ m x⊗x⊗x


def cut_users(users: int, wanted: tuple[int, ...] = (10, 100, 1000), per_decade: int = 10) -> np.ndarray:
    """Return numbers of users from 1 on, ``per_decade`` of them per decade, with ``wanted`` and the last one.

    Examples
    --------
    >>> cut_users(30, per_decade=3).tolist()
    [1, 2, 5, 10, 22, 30]
    """
    steps = np.arange(0.0, np.log10(users), 1.0 / per_decade)
    every = {*np.round(10**steps).astype(int).tolist(), *(one for one in wanted if one <= users), users}
    return np.array(sorted(one for one in every if one <= users))


def quantities_along(
    stays: Stays, problem: Problem, ridge: float, cuts: np.ndarray, beta: np.ndarray, variance_floor: float
) -> Quantities:
    """Return all quantities after each number of users in ``cuts``.

    Parameters
    ----------
    stays : Stays
        Data sets on the first axis of every leaf, users on the second; one user more than the last cut.
    problem : Problem
        The truth.
    ridge : float
        λ.
    cuts : ndarray of int
        Numbers of users, ascending.
    beta : ndarray, shape (sets, cuts)
        Levels at which the value of the next user's context is looked at.
    variance_floor : float
        The smallest estimated variance.
    """
    x, rounds, total, squares = (np.asarray(leaf, dtype=float) for leaf in stays)
    sets, _, d = x.shape
    sums = _Sums(*(np.zeros((sets, *[d] * order)) for order in (0, 2, 1, 1, 2, 3)))
    columns, before = [], 0
    for place, cut in enumerate(cuts.tolist()):
        piece = slice(before, cut)
        sums = _add(sums, problem, x[:, piece], rounds[:, piece], total[:, piece], squares[:, piece])
        columns.append(_at(sums, problem, ridge, x[:, cut], beta[:, place], variance_floor))
        before = cut
    return Quantities(*(np.stack(column, axis=1) for column in zip(*columns, strict=True)))


def _add(
    sums: _Sums, problem: Problem, x: np.ndarray, m: np.ndarray, total: np.ndarray, squares: np.ndarray
) -> _Sums:
    mean, variance = x @ np.asarray(problem.theta), problem.link(x @ np.asarray(problem.phi))
    noise = total - m * mean
    noise_squares = squares - 2.0 * mean * total + m * mean**2
    new = _Sums(
        m.sum(axis=1),
        np.einsum("su,sui,suj->sij", m, x, x),
        np.einsum("su,sui->si", total, x),
        np.einsum("su,sui->si", noise_squares - m * variance, x),
        np.einsum("su,sui,suj->sij", noise, x, x),
        np.einsum("suk,suij->sijk", m[..., None] * x, x[..., :, None] * x[..., None, :], optimize=True),
    )
    return _Sums(*(old + more for old, more in zip(sums, new, strict=True)))


def _at(
    sums: _Sums, problem: Problem, ridge: float, new: np.ndarray, beta: np.ndarray, floor: float
) -> Quantities:
    """Return the quantities now; ``new`` (sets, d) is a context outside the sample."""
    theta, phi = np.asarray(problem.theta, dtype=float), np.asarray(problem.phi, dtype=float)
    slope = float(as_affine(problem.link).slope)
    d = theta.size
    shape = sums.gram + ridge * np.eye(d)
    values, vectors = np.linalg.eigh(shape)
    root = np.einsum("sij,sj,skj->sik", vectors, values**-0.5, vectors)  # V^{-1/2}
    inverse = root @ root
    theta_hat = np.einsum("sij,sj->si", inverse, sums.rx)
    delta = theta - theta_hat
    cross = np.einsum("sij,sj->si", sums.noise_xx, delta)
    mean = np.einsum("sijk,sj,sk->si", sums.xxx, delta, delta)
    # φ̂ − φ* = V⁻¹{(Xᵀ(ε∘ε − σ²) + 2·cross + mean)/M_f − λφ*}
    phi_hat = phi + np.einsum(
        "sij,sj->si", inverse, (sums.noise_x + 2.0 * cross + mean) / slope - ridge * phi
    )
    noise = np.linalg.eigvalsh(root @ sums.noise_xx @ root)
    design = np.linalg.eigvalsh(root @ sums.gram @ root)
    return Quantities(
        n=sums.n,
        theta_error=_norm(shape, delta),
        phi_error=_norm(shape, phi_hat - phi),
        theta_norm=np.linalg.norm(theta_hat, axis=1),
        phi_norm=np.linalg.norm(phi_hat, axis=1),
        ridge_term=ridge * _norm(inverse, np.broadcast_to(phi, delta.shape)),
        square_term=_norm(inverse, sums.noise_x),
        cross_term=_norm(inverse, cross),
        mean_term=_norm(inverse, mean),
        matrix_norm=np.max(np.abs(noise), axis=1),
        matrix_top=noise[:, -1],
        design_norm=np.sqrt(np.maximum(design[:, -1], 0.0)),
        design_sum=np.sum(design, axis=1),
        value_error=_value_error(problem, theta_hat, phi_hat, new, beta, floor),
        new_norm=_norm(inverse, new),
    )


def _value_error(
    problem: Problem,
    theta_hat: np.ndarray,
    phi_hat: np.ndarray,
    new: np.ndarray,
    beta: np.ndarray,
    floor: float,
) -> np.ndarray:
    estimated = problem.link(np.sum(new * phi_hat, axis=1))
    guess = np.asarray(h(np.sum(new * theta_hat, axis=1), np.maximum(estimated, floor), beta, problem.noise))
    mean, variance = new @ np.asarray(problem.theta), problem.link(new @ np.asarray(problem.phi))
    truth = np.asarray(h(mean, variance, beta, problem.noise))
    # Two infinite lifetimes agree.
    same = guess == truth
    return np.where(same, 0.0, np.abs(np.where(same, 0.0, guess) - np.where(same, 0.0, truth)))


def _norm(shape: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the norm of vectors (sets, d) with respect to matrices (sets, d, d)."""
    return np.sqrt(np.maximum(np.einsum("si,sij,sj->s", vectors, shape, vectors), 0.0))
