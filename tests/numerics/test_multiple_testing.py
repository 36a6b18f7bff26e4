"""Holm's adjusted p-values against the definition, in order and with ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrprob.numerics.multiple_testing import holm


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_adjusted_p_values_are_the_running_maximum(p_values):
    ranked = sorted(p_values)
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        scaled = [(len(ranked) - i) * q for i, q in enumerate(ranked) if q <= p]
        # Of equal p-values the first in order has the largest factor, and the maximum carries it to the others.
        assert adjusted == min(1.0, max(scaled))


def test_one_test_is_not_adjusted():
    assert holm([0.03]).tolist() == [0.03]
    assert holm(np.zeros(0)).size == 0


def test_holm_is_monotone_and_no_smaller():
    p = np.random.default_rng(3).uniform(size=50)
    adjusted = holm(p)
    assert np.all(adjusted >= p)
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)
    assert adjusted.min() == pytest.approx(min(50 * p.min(), 1.0))
