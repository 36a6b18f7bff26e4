"""Problems, their parts, and what a policy may know of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hrprob.UniformLevels(1.0, 0.0), "`high` must be at least `low` = 1, got 0.0: swap the two"),
        (lambda: hrprob.UniformLevels(-math.inf, 0.0), "`low` must be a finite number"),
        (
            lambda: hrprob.FixedLevels(math.inf),
            "`level` must be a finite number, got inf: for β = ∞ take the kind",
        ),
        (lambda: hrprob.FixedLevels("0"), "`level` must be a finite number"),
        (lambda: hrprob.Affine(slope=0.0), "`slope` must be above 0"),
        (lambda: hrprob.Affine(offset=-1.0), "`offset` must be above 0"),
        (lambda: hrprob.Bounds(theta=0.0), "`theta` must be above 0"),
        (lambda: hrprob.Problem(theta=[]), "`theta` must be a list of at least one number"),
        (lambda: hrprob.Problem(theta=[[0.1]]), "`theta` must be a list of at least one number"),
        (lambda: hrprob.Problem(theta=["a"]), "`theta` must be a list of numbers"),
        (lambda: hrprob.Problem(theta=[math.nan] * 4), "`theta` must hold finite numbers only"),
        (lambda: hrprob.Problem(phi=[0.1]), "`phi` must have 4 entries"),
        (lambda: hrprob.Problem(theta=[0.8, 0.8, 0, 0]), "`theta` must have norm at most bounds.theta = 1"),
        (lambda: hrprob.Problem(phi=[2.1, 0, 0, 0]), "`phi` must have norm at most bounds.phi = 2"),
        (
            lambda: hrprob.Problem(link=hrprob.Affine(1.0, 1.5)),
            r"`link.offset` must be at least slope · bounds.phi = 2, got 1.5",
        ),
        (
            lambda: hrprob.Problem(link=hrprob.Affine(1e-13, 1e-14)),
            r"`link.offset` must be at least slope · bounds.phi = 2e-13, got 1e-14",
        ),
        (lambda: hrprob.Problem().known(0), "`users` must be a whole number of at least 1"),
        (lambda: hrprob.Problem().replace(theta=[2.0, 0, 0, 0]), "`theta` must have norm"),
    ],
)
def test_bad_problems_are_named(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.slow
def test_a_bound_may_be_met_exactly() -> None:
    phi = np.full(4, 1.0)
    problem = hrprob.Problem(phi=phi, contexts=hrprob.Finite(-phi.reshape(1, 1, 4) / 2))
    result = hrprob.simulate(problem, hrprob.Oracle(), users=20, trials=2)
    # The variance is 0 up to rounding: a user either leaves at once or never.
    assert np.all(result.regret == 0)
    assert not np.any(np.isnan(result.lifetime))


def test_affine_link_and_its_inverse() -> None:
    link = hrprob.Affine(2.0, 0.5)
    z = np.linspace(-1, 1, 7)
    np.testing.assert_allclose(link(z), 2 * z + 0.5)
    np.testing.assert_allclose(link.inverse(link(z)), z, atol=1e-15)


def test_a_policy_knows_no_truth() -> None:
    problem = hrprob.Problem(theta=[0.123, 0.456], phi=[0.789, 0.321])
    known = problem.known(100)
    assert (known.dimension, known.actions, known.users) == (2, 20, 100.0)
    assert problem.sets is None
    shown = repr(known)
    assert not any(number in shown for number in ("123", "456", "789", "321"))


def test_finite_sets_are_known() -> None:
    sets = np.full((3, 2, 4), 0.1)
    np.testing.assert_array_equal(hrprob.Problem(contexts=hrprob.Finite(sets)).sets, sets)
