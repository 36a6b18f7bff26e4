"""Calibrated radii: their coverage, and the smallest δ they can have."""

from __future__ import annotations

from typing import Any

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison.coverage import coverage
from tests.helpers import make
from tests.policies.problems import PROBLEM


def test_delta_must_not_be_below_the_resolution_of_the_bootstrap() -> None:
    with pytest.raises(InvalidInput, match="delta"):
        make("hr-ucb", {"radius": "calibrated", "delta": 0.005}).bind(PROBLEM, 10)


@pytest.mark.study
@pytest.mark.parametrize(
    ("kind", "parameters", "least", "most"),
    [
        # The nominal coverage is 1 − δ = 0.9. A proportion of 400 trials has a standard error of 0.015; ± 3 of them.
        ("hr-ucb", {"radius": "calibrated", "growth": None}, 0.855, 0.955),
        # Stays are weighted by a variance one sd above its estimate, so the coverage is a little larger.
        ("hr-ucb-weighted", {}, 0.855, 0.99),
    ],
)
def test_calibrated_sets_have_their_nominal_coverage(
    kind: str, parameters: dict[str, Any], least: float, most: float
) -> None:
    """Pointwise in n, from about 100 users on; earlier the estimates are too far from the truth."""
    shares = coverage(hrprob.Problem(), make(kind, parameters), users=[100, 300], trials=400).coverage
    assert float(shares.min()) > least
    assert float(shares.max()) < most
