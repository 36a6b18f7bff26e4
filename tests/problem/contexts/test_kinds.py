"""Contexts on the sphere, in the ball and from finite sets have their distributions."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys

USERS, ACTIONS, TRIALS = 1000, 5, 4

N = USERS * ACTIONS * TRIALS

ERRORS = 4.0  # a probability of 6e-5 each, and the seed is fixed


def sample(contexts: Any, dimension: int) -> np.ndarray:
    """Return contexts (users, actions, d, trials)."""
    with double_precision():
        source = Source(trial_keys(0, np.arange(TRIALS)), jnp.arange(1, USERS + 1, dtype=jnp.uint32))
        return np.asarray(contexts.place(contexts.draw(source, dimension)))


def rows(contexts: np.ndarray) -> np.ndarray:
    return np.moveaxis(contexts, 2, -1).reshape(-1, contexts.shape[2])


@pytest.mark.parametrize("dimension", [1, 2, 4, 7])
@pytest.mark.parametrize("kind", [hrprob.Sphere, hrprob.Ball])
def test_directions_are_uniform(kind: Any, dimension: int) -> None:
    contexts = sample(kind(ACTIONS), dimension)
    assert contexts.shape == (USERS, ACTIONS, dimension, TRIALS)
    points = rows(contexts)
    directions = points / np.linalg.norm(points, axis=1, keepdims=True)
    d = dimension
    # On the sphere: E x = 0, E x xᵀ = I/d, E x_i⁴ = 3/(d(d + 2)), E x_i² x_j² = 1/(d(d + 2)).
    assert np.abs(directions.mean(axis=0)).max() < ERRORS * math.sqrt(1 / d / N)
    second = directions.T @ directions / N
    error_on = math.sqrt(max(3 / (d * (d + 2)) - 1 / d**2, 0) / N)
    error_off = math.sqrt(1 / (d * (d + 2)) / N)
    bound = ERRORS * np.where(np.eye(d, dtype=bool), error_on, error_off) + 1e-12
    assert np.all(np.abs(second - np.eye(d) / d) < bound)
    if d > 1:
        # (1 + x₁)/2 has the distribution Beta((d − 1)/2, (d − 1)/2).
        beta = stats.beta((d - 1) / 2, (d - 1) / 2)
        assert stats.kstest((1 + directions[:, 0]) / 2, beta.cdf).pvalue > 1e-4


def test_sphere_has_radius_one() -> None:
    np.testing.assert_allclose(np.linalg.norm(rows(sample(hrprob.Sphere(ACTIONS), 4)), axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("dimension", [1, 3, 6])
def test_ball_is_filled_uniformly(dimension: int) -> None:
    radii = np.linalg.norm(rows(sample(hrprob.Ball(ACTIONS), dimension)), axis=1)
    assert radii.max() <= 1
    # The volume within r is r^d.
    assert stats.kstest(radii**dimension, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("kind", [hrprob.Sphere, hrprob.Ball])
def test_actions_users_and_trials_are_independent(kind: Any) -> None:
    contexts = sample(kind(ACTIONS), 3)
    for axis in (0, 1, 3):
        pairs = np.moveaxis(contexts, axis, 0)
        products = (pairs[1:] * pairs[:-1]).ravel()
        assert abs(products.mean()) < ERRORS * products.std() / math.sqrt(products.size)


def test_finite_sets_are_equally_frequent() -> None:
    sets = np.random.default_rng(0).uniform(-0.5, 0.5, size=(6, ACTIONS, 2))
    contexts = np.moveaxis(sample(hrprob.Finite(sets), 2), -1, 1).reshape(-1, ACTIONS, 2)
    which = np.array([np.flatnonzero((sets == users_set).all(axis=(1, 2))) for users_set in contexts])
    assert which.shape == (USERS * TRIALS, 1)
    assert stats.chisquare(np.bincount(which[:, 0], minlength=6)).pvalue > 1e-4


def test_number_of_actions() -> None:
    assert hrprob.Finite(np.zeros((3, 4, 2))).actions == 4
    for kind in (hrprob.Sphere, hrprob.Ball):
        assert kind(7).actions == 7
        with pytest.raises(InvalidInput, match="`actions` must be a whole number of at least 1"):
            kind(0)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([[0.1, 0.2]], "must be an array"),
        ([[[0.1, 0.2], [0.1]]], "must be an array"),
        ([[["a"]]], "must be an array"),
        ([], "must be an array"),
        ([[[np.nan]]], "must hold finite numbers only"),
        ([[[0.1]], [[1.2]]], "norm at most 1, got 1.2: scale set 2, action 1"),
    ],
)
def test_bad_sets_are_named(sets: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hrprob.Finite(sets)


def test_sets_of_another_dimension_are_refused() -> None:
    with pytest.raises(InvalidInput, match="must hold vectors of 4 entries"):
        hrprob.Problem(contexts=hrprob.Finite(np.zeros((1, 2, 3))))
