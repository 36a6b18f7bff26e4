"""Contexts: uniform on the sphere, in the ball, over finite sets; and files that cannot be read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.problem import read_context_sets

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
        # (1 + x₁)/2 has the law Beta((d − 1)/2, (d − 1)/2).
        law = stats.beta((d - 1) / 2, (d - 1) / 2)
        assert stats.kstest((1 + directions[:, 0]) / 2, law.cdf).pvalue > 1e-4


def test_sphere_has_radius_one() -> None:
    np.testing.assert_allclose(np.linalg.norm(rows(sample(hrprob.Sphere(ACTIONS), 4)), axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("dimension", [1, 3, 6])
def test_ball_fills_its_volume(dimension: int) -> None:
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
def test_sets_that_cannot_be_used(sets: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hrprob.Finite(sets)


def test_sets_of_another_dimension() -> None:
    with pytest.raises(InvalidInput, match="must hold vectors of 4 entries"):
        hrprob.Problem(contexts=hrprob.Finite(np.zeros((1, 2, 3))))


def write(folder: Path, text: str) -> Path:
    path = folder / "sets.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_sets_from_a_file_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path, "context, action, x1, x2\n2,1,.5,.6\n1,2,.3,.4\n1,1,.1,.2\n2,2,.7,.1\n\n")
    expected = [[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.1]]]
    assert read_context_sets(path).tolist() == expected
    assert hrprob.Finite(str(path)).sets.tolist() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns"),
        ("context,action\n1,1\n", "must have the columns"),
        ("set,action,x1\n1,1,0\n", "must have the columns"),
        ("context,action,x2\n1,1,0\n", "must have the columns"),
        ("context,action,x1\n", "one row for every context and action"),
        ("context,action,x1\n1,1,one\n", "line 2 of"),
        ("context,action,x1\n1,1\n", "line 2 of"),
        ("context,action,x1\n1,1,0\n2,1,nan\n", "got '2,1,nan': line 3 of"),
        ("context,action,x1\n1,1,inf\n", "needs two whole numbers and 1 finite numbers"),
        ("context,action,x1\n1,1,0\n1.5,1,0\n", "line 3 of"),
        ("context,action,x1\n1,1,0\n2,2,0\n", "one row for every context and action"),
        ("context,action,x1\n1,1,0\n1,1,0\n", "one row for every context and action"),
        ("context,action,x1\n0,1,0\n", "one row for every context and action"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_context_sets(write(tmp_path, text))


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be a file that can be read"):
        read_context_sets(tmp_path / "nowhere.csv")
    (tmp_path / "latin.csv").write_bytes(b"context,action,x1\n1,1,\xff\n")
    with pytest.raises(InvalidInput, match="not UTF-8 text"):
        read_context_sets(tmp_path / "latin.csv")
