"""Truths that drift: norms, paths, and the oracle of the moment."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.simulation.arrivals import arrivals

THETA, PHI = np.array([0.6, 0.3, 0.1]), np.array([0.5, -0.9, 0.2])
KINDS = [hrprob.Rotating(40.0), hrprob.Abrupt(10.0), hrprob.Wandering(10.0)]


def _truth(drift: Any, users: range, trials: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """θ* and φ* of these users, (d, users, trials) each."""
    with double_precision():
        source = Source(trial_keys(0, np.arange(trials)), jnp.asarray(users, jnp.uint32))
        drawn = drift.draw(source, 3)
        both = [
            np.asarray(drift.truth(jnp.asarray(v), drawn, i))[:, :, 0] for i, v in enumerate((THETA, PHI))
        ]
    return tuple(np.broadcast_to(one, (3, len(users), trials)) for one in both)  # type: ignore[return-value]


@pytest.mark.parametrize("drift", KINDS, ids=lambda drift: drift.kind)
def test_norms_stay_and_the_first_user_meets_the_truth_of_the_problem(drift: Any) -> None:
    for path, start in zip(_truth(drift, range(1, 60)), (THETA, PHI), strict=True):
        np.testing.assert_allclose(np.linalg.norm(path, axis=0), np.linalg.norm(start), rtol=1e-12)
        np.testing.assert_allclose(path[:, 0], start[:, None] * np.ones(2), rtol=1e-12)


@pytest.mark.parametrize("drift", KINDS, ids=lambda drift: drift.kind)
def test_a_users_truth_does_not_depend_on_who_is_asked_for_beside(drift: Any) -> None:
    for whole, part in zip(_truth(drift, range(1, 60)), _truth(drift, range(31, 40)), strict=True):
        np.testing.assert_array_equal(whole[:, 30:39], part)


def test_how_each_kind_moves() -> None:
    turning = _truth(KINDS[0], range(1, 42))[0][..., 0]
    np.testing.assert_allclose(turning[:, 10], [-0.3, 0.6, 0.1], atol=1e-12)  # a quarter of a turn
    np.testing.assert_allclose(turning[:, 40], THETA, atol=1e-12)
    jumps = _truth(KINDS[1], range(1, 60))[0]
    moved = np.linalg.norm(np.diff(jumps, axis=1), axis=0) > 0
    assert np.flatnonzero(moved[:, 0]).tolist() == [9, 19, 29, 39, 49]
    assert not np.allclose(jumps[:, 10, 0], jumps[:, 10, 1])  # trials differ
    steps = np.linalg.norm(np.diff(_truth(KINDS[2], range(1, 60))[1], axis=1), axis=0)
    # An arc of at most π in ten steps: each chord is at most ‖φ‖·π/10.
    assert 0 < steps.min() < steps.max() <= np.linalg.norm(PHI) * np.pi / 10


@pytest.mark.parametrize("drift", KINDS, ids=lambda drift: drift.kind)
def test_the_oracle_knows_the_truth_of_the_moment(drift: Any) -> None:
    problem = hrprob.Problem(theta=THETA, phi=PHI, contexts=hrprob.Sphere(actions=4), drift=drift)
    with double_precision():
        arrived = arrivals(problem, trial_keys(0, np.arange(2)), np.arange(1, 60))
    theta, phi = _truth(drift, range(1, 60))
    x = np.asarray(arrived.contexts)
    mean, variance = np.einsum("uadt,dut->uat", x, theta), np.einsum("uadt,dut->uat", x, phi) + 2.0
    np.testing.assert_allclose(arrived.mean, mean, atol=1e-12)
    np.testing.assert_allclose(arrived.sd, np.sqrt(variance), atol=1e-12)
    value = np.asarray(hrprob.h(mean, variance, np.asarray(arrived.beta)[:, None]))
    np.testing.assert_allclose(arrived.best, value.max(axis=1), rtol=1e-9)


def test_what_a_drifting_truth_cannot_serve() -> None:
    problem = hrprob.Problem(drift=hrprob.Rotating())
    for policy in (hrprob.Oracle(), hrprob.ThompsonKnownVariance()):
        with pytest.raises(hrprob.InvalidInput, match="`drift` must not be given here, got 'rotating'"):
            policy.bind(problem, 10)
    with pytest.raises(hrprob.InvalidInput, match="`drift` must not be given here"):
        hrprob.theory.check_theory(problem)
    with pytest.raises(hrprob.InvalidInput, match="nothing can turn"):
        hrprob.Problem(theta=[0.5], phi=[0.5], drift=hrprob.Abrupt())
    with pytest.raises(hrprob.InvalidInput, match="`drift` must be a part of a problem"):
        hrprob.Problem(drift="rotating")  # type: ignore[arg-type]
    with pytest.raises(hrprob.InvalidInput, match="`period` must be at least 1"):
        hrprob.Rotating(period=0.0)
