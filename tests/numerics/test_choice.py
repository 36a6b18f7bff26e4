"""The first of the largest values, compared with NumPy's argmax."""

from __future__ import annotations

import numpy as np

from hrprob.numerics.choice import first_largest


def test_is_argmax_with_ties_infinities_and_nan() -> None:
    rng = np.random.default_rng(0)
    # Few distinct values: most rows have ties.
    values = rng.choice(
        [-np.inf, -1.0, 0.0, 2.0, np.inf, np.nan], (200, 5), p=[0.1, 0.3, 0.3, 0.2, 0.05, 0.05]
    )
    for axis in (0, 1, -1, -2):
        assert np.array_equal(first_largest(values, axis), np.argmax(values, axis)), axis
