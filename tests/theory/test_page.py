"""Verdicts on the proof of Theorem 3 along runs."""

import numpy as np
import pytest

from hrprob.theory.page import _optimism
from hrprob.theory.regret import Decomposition


@pytest.mark.parametrize(
    ("failing", "verdict"), [(0, "holds"), (10, "holds"), (30, "undecided"), (60, "fails")]
)
def test_optimism_is_judged_by_trials_against_what_is_allowed(failing, verdict):
    # Of 100 trials 30 may fail; two users of each trial that does cost more than their width.
    width = np.where((np.arange(100) < failing)[:, None] & (np.arange(5) < 2), 0.5, 2.0)
    one = Decomposition(np.ones((100, 5)), width, width, {}, width, width, 0.0, 0.0)
    found, words = _optimism(one)
    assert found == verdict
    assert "of 100 trials, 30.0 % allowed" in words
