"""Explore-commit stops learning when it commits."""

import numpy as np
import pytest

import hrprob
from tests.helpers import make
from tests.policies.problems import ONE_SET


@pytest.mark.slow
def test_nothing_is_learned_after_committing() -> None:
    policy = make("explore-commit", {"explore": 30})
    run = hrprob.simulate(ONE_SET, policy, users=200, trials=4, keep="all")
    # One set and one level: the same estimates make the same choice.
    late = run.action.values[0][:, 30:]
    assert np.all(late == late[:, :1])
    assert all(len(set(row)) > 1 for row in run.action.values[0][:, :30])
