"""The quasi-random numbers of contextual information-directed sampling."""

import numpy as np

from hrprob._core.precision import double_precision
from hrprob.policies.contextual_ids import quasi_normal


def test_quasi_random_points_are_normal() -> None:
    with double_precision():
        points = np.asarray(quasi_normal(0, 4096, 4))
        np.testing.assert_allclose(quasi_normal(100, 5, 4), points[100:105], rtol=1e-9)
    # Errors of a sequence of low discrepancy fall like ln(n)/n: far below the 0.016 of random numbers.
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.004)
    # One pair of coordinates has a correlation of 0.026 at this length, which falls as it grows.
    np.testing.assert_allclose(np.cov(points.T), np.eye(4), atol=0.03)
