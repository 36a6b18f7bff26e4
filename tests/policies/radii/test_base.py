"""Named radii: a new one is one registered class, and a policy refuses those it cannot compute."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.policies.radii.base import RADII, Radius, register
from hrprob.policies.radii.constant import ConstantWidth
from tests.policies.problems import PROBLEM


@pytest.fixture
def _unit_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a radius for one test."""
    RADII.kinds()
    monkeypatch.setattr(RADII, "_classes", dict(RADII._classes))

    @register("unit")
    class Unit(Radius):
        needs_phi: ClassVar[bool] = True

        def width(self, policy: Any, known: Any) -> ConstantWidth:
            return ConstantWidth(1.0)


@pytest.mark.usefixtures("_unit_radius")
def test_a_registered_radius_can_be_named() -> None:
    for policy in (hrprob.HRUCB, hrprob.HRUCBExact):
        assert policy(radius="unit").bind(PROBLEM, 10).width.value == 1.0


@pytest.mark.usefixtures("_unit_radius")
def test_a_policy_without_an_estimate_of_phi_refuses_radii_that_need_one() -> None:
    for radius in ("unit", "calibrated"):
        with pytest.raises(InvalidInput, match=r"`radius` must be one of 'constant', 'corrected'"):
            hrprob.SigmaMaxUCB(radius=radius)


@pytest.mark.parametrize("policy", [hrprob.HRUCB, hrprob.HRUCBWeighted, hrprob.WeightedOFUL])
def test_xi_is_given_with_a_constant_radius_and_only_then(policy: Any) -> None:
    assert float(policy(radius="constant", xi=2).bind(PROBLEM, 10).width.value) == 2.0
    for wrong in ({"radius": "constant"}, {"xi": 2.0}):
        with pytest.raises(InvalidInput, match=r'`xi` must be given with radius = "constant" and only then'):
            policy(**wrong)


def test_released_is_alpha1_at_the_final_budget() -> None:
    policy = hrprob.HRUCB(growth=3, delta=0.2, ridge=0.5, variance_max=1.7).bind(PROBLEM, 40)
    confidence = hrprob.ConfidenceSets(variance_max=1.7, dimension=3, ridge=0.5)
    assert policy.width.value == pytest.approx(float(confidence.alpha1(120, 0.2)), rel=1e-14)
