"""Holm's adjustment."""

import numpy as np
import pytest

from hrprob.numerics.multiple_testing import holm


def test_holm_is_monotone_and_no_smaller():
    p = np.random.default_rng(3).uniform(size=50)
    adjusted = holm(p)
    assert np.all(adjusted >= p)
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)
    assert adjusted.min() == pytest.approx(min(50 * p.min(), 1.0))
