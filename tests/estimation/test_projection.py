"""The projection onto a ball in the norm of V: optimal, and never further from a truth in the ball."""

import numpy as np
from scipy import optimize

from hrprob.estimation.projection import project


def _cases():
    rng = np.random.default_rng(0)
    for d in (1, 2, 4):
        for _ in range(6):
            x = rng.normal(size=(5, d)) * np.geomspace(1.0, 10.0, d)
            yield rng, x.T @ x + np.eye(d), rng.normal(size=d) * 2.0


def test_against_a_general_optimiser_and_points_of_the_ball():
    for rng, shape, point in _cases():
        nearest = project(point, np.linalg.inv(shape), 1.0)

        def distance(z, shape=shape, point=point):
            return (z - point) @ shape @ (z - point)

        assert np.linalg.norm(nearest) <= 1 + 1e-9
        if np.linalg.norm(point) <= 1:
            np.testing.assert_array_equal(nearest, point)
            continue
        inside = {"type": "ineq", "fun": lambda z: 1.0 - z @ z}
        best = optimize.minimize(distance, nearest * 0.5, constraints=[inside], tol=1e-12)
        assert distance(nearest) <= best.fun * (1 + 1e-6)
        # Whatever the truth in the ball, the projection is at least as near to it.
        for truth in rng.normal(size=(20, len(point))):
            truth /= max(1.0, np.linalg.norm(truth))
            before, after = (v - truth for v in (point, nearest))
            assert after @ shape @ after <= before @ shape @ before + 1e-9
