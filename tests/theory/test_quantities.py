"""The quantities of the inequalities against slow formulas, round by round."""

import numpy as np
import pytest

import hrprob
from hrprob.observations import Stays
from hrprob.theory.quantities import cut_users, quantities_along

RIDGE, FLOOR = 0.7, 0.01


def _stays(sets=3, users=9):
    rng = np.random.default_rng(1)
    problem = hrprob.Problem(link=hrprob.Affine(slope=1.3, offset=2.6))
    x = rng.normal(size=(sets, users, 4))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    rounds = rng.integers(0, 4, size=(sets, users))
    outcomes = [
        [x[s, u] @ problem.theta + rng.normal(size=rounds[s, u]) for u in range(users)] for s in range(sets)
    ]
    total = np.array([[one.sum() for one in row] for row in outcomes])
    squares = np.array([[(one**2).sum() for one in row] for row in outcomes])
    return problem, Stays(x, rounds.astype(float), total, squares), outcomes


def _slow(problem, X, r, new, beta):
    """All quantities with explicit matrices, one row per round."""
    theta, phi = np.asarray(problem.theta), np.asarray(problem.phi)
    slope, offset = problem.link.slope, problem.link.offset
    V = X.T @ X + RIDGE * np.eye(4)
    inverse = np.linalg.inv(V)
    theta_hat = inverse @ X.T @ r
    phi_hat = inverse @ X.T @ (((r - X @ theta_hat) ** 2 - offset) / slope)
    noise, gap = r - X @ theta, X @ (theta - theta_hat)
    values, vectors = np.linalg.eigh(inverse)
    v = (vectors * np.sqrt(values)) @ vectors.T @ X.T  # V^{-1/2}Xᵀ
    matrix = sum((noise[i] * np.outer(v[:, i], v[:, i]) for i in range(len(r))), np.zeros((4, 4)))
    norm = lambda shape, vector: np.sqrt(vector @ shape @ vector)  # noqa: E731
    h = [
        float(hrprob.h(new @ t, max(slope * (new @ p) + offset, floor), beta))
        for t, p, floor in ((theta_hat, phi_hat, FLOOR), (theta, phi, 0.0))
    ]
    return {
        "n": len(r),
        "theta_error": norm(V, theta_hat - theta),
        "phi_error": norm(V, phi_hat - phi),
        "theta_norm": np.linalg.norm(theta_hat),
        "phi_norm": np.linalg.norm(phi_hat),
        "ridge_term": RIDGE * norm(inverse, phi),
        "square_term": slope * norm(inverse, X.T @ ((noise**2 - offset) / slope - X @ phi)),
        "cross_term": norm(inverse, X.T @ (noise * gap)),
        "mean_term": norm(inverse, X.T @ (gap * gap)),
        "matrix_norm": np.linalg.norm(matrix, 2),
        "matrix_top": np.linalg.eigvalsh(matrix)[-1],
        "design_norm": np.linalg.norm(v, 2),
        "design_sum": np.sum(v**2),
        "value_error": abs(h[0] - h[1]),
        "new_norm": norm(inverse, new),
    }


def test_every_quantity_round_by_round():
    problem, stays, outcomes = _stays()
    cuts, beta = np.array([3, 8]), np.linspace(-0.5, 0.9, 6).reshape(3, 2)
    found = quantities_along(stays, problem, RIDGE, cuts, beta, FLOOR)
    for s in range(3):
        for place, cut in enumerate(cuts):
            rows = [(u, r) for u in range(cut) for r in outcomes[s][u]]
            X, r = stays.x[s, [u for u, _ in rows]], np.array([one for _, one in rows])
            slow = _slow(problem, X, r, stays.x[s, cut], beta[s, place])
            assert set(slow) == set(found._fields)
            for name, wanted in slow.items():
                assert getattr(found, name)[s, place] == pytest.approx(wanted, rel=1e-9, abs=1e-10), name


def test_cuts_have_the_wanted_numbers_and_the_last():
    cuts = cut_users(2000, (10, 100, 1000))
    assert {1, 10, 100, 1000, 2000} <= set(cuts.tolist())
    assert np.all(np.diff(cuts) > 0)
