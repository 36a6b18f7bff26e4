"""Drifting contexts follow the direction that turns."""

from __future__ import annotations

import numpy as np

import hrprob
from tests.problem.arrived import arrive


def test_drifting_contexts_follow_their_direction() -> None:
    period, pull = 40.0, 30.0
    arrived = arrive([1, 11, 21, 31, 41], contexts=hrprob.Drifting(50, pull, period))
    np.testing.assert_allclose(np.linalg.norm(arrived.contexts, axis=2), 1.0, rtol=1e-12)
    # With so strong a pull all contexts are within 0.2 of (cos, sin) at a quarter of a turn each.
    centre = arrived.contexts.mean(axis=(1, 3))
    wanted = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 0]])
    assert np.abs(centre[:, :2] - wanted).max() < 0.2
    assert np.abs(centre[:, 2:]).max() < 0.05


def test_without_a_pull_nothing_drifts() -> None:
    users = range(1, 6)
    drifting = arrive(users, contexts=hrprob.Drifting(7, 0.0, 3.0))
    sphere = arrive(users, contexts=hrprob.Sphere(7))
    # Two programs round a product and a sum together or apart.
    np.testing.assert_allclose(drifting.contexts, sphere.contexts, rtol=1e-15, atol=1e-15)
