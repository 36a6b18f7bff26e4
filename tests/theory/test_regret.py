"""The proof of Theorem 3 step by step, against explicit matrices."""

import numpy as np
import pytest

import hrprob
from hrprob.observations import Stays
from hrprob.theory.regret import STEPS, decompose, rates

SETS = hrprob.ConfidenceSets(4.0, 3, ridge=2.0, version="corrected")


def test_every_step_against_explicit_matrices():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 12, 3))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    rounds = rng.integers(1, 6, size=(2, 12)).astype(float)
    cost = rng.uniform(size=(2, 12))
    stays = Stays(x, rounds, np.zeros((2, 12)), np.zeros((2, 12)))
    made = decompose(stays, cost, SETS, lambda n: SETS.xi(n, 0.1), growth=5.0, delta=0.1)
    for s in range(2):
        V, n, widths, norms = 2.0 * np.eye(3), 0.0, [], []
        for u in range(12):
            norms.append(np.sqrt(x[s, u] @ np.linalg.solve(V, x[s, u])))
            widths.append(2 * float(SETS.xi(max(n, 1.0), 0.1)) * norms[-1])
            V, n = V + rounds[s, u] * np.outer(x[s, u], x[s, u]), n + rounds[s, u]
        squares, top = np.sum(np.minimum(np.square(norms), 1)), 2 * float(SETS.xi(60, 0.1))
        wanted = {
            "regret": cost[s].sum(),
            "widths": sum(widths),
            "largest_xi": top * sum(norms),
            "cauchy": top * np.sqrt(12 * squares),
            "potential": top * np.sqrt(12 * 2 * 3 * np.log((60 + 6) / 6)),
        }
        for step in STEPS:
            assert made.chain[step][s] == pytest.approx(wanted[step], rel=1e-10), step
        assert made.log_determinant[s] == pytest.approx(2 * np.log(np.linalg.det(V) / 8.0), rel=1e-10)
        assert squares <= made.log_determinant[s] <= made.potential_bound
    # Theorem 3 is the last step with δ/3.
    last = made.chain["potential"][0] * float(SETS.xi(60, 0.1 / 3)) / float(SETS.xi(60, 0.1))
    assert made.bound == pytest.approx(last, rel=1e-10)


def test_the_bound_has_the_rates_that_the_paper_names():
    found = rates(SETS, growth=5.0, delta=0.1, random_cost=1.0, decades=(2, 14))
    # O(√(T ln³T)): the ratio falls towards a constant, and by less than 2 % over the last decade.
    assert np.all(np.diff(found.over_rate) < 0)
    assert found.over_rate[-5] / found.over_rate[-1] < 1.02
    assert np.all(np.diff(found.exponent) < 0)
    at = found.first_below_random
    assert float(SETS.regret_bound(at, 0.1, 5)) < at
    assert float(SETS.regret_bound(at / 1.03, 0.1, 5)) > at / 1.03
