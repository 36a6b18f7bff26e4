"""Coverage is measured for policies with confidence sets only."""

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison.coverage import coverage
from tests.policies.problems import PROBLEM


def test_policies_without_confidence_sets_are_refused() -> None:
    with pytest.raises(InvalidInput, match="confidence sets"):
        coverage(PROBLEM, hrprob.Greedy(), users=[5])
    with pytest.raises(InvalidInput, match="users"):
        coverage(PROBLEM, hrprob.HRUCB(), users=[])
