"""The engine's speed and memory, held to what was promised. See speed.py for the full table."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def speed() -> ModuleType:
    spec = importlib.util.spec_from_file_location("speed", Path(__file__).with_name("speed.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ratio_to_a_c_loop(speed: ModuleType) -> None:
    if not speed.has_compiler():
        pytest.skip("no C compiler")
    loop, engine = speed.against_c()
    assert engine / loop <= 8


@pytest.mark.study
def test_cost_of_a_trial_is_flat(speed: ModuleType) -> None:
    costs = speed.by_trials((20, 100, 400), users=10000)
    middle = sorted(costs.values())[1]
    for trials, cost in costs.items():
        assert cost == pytest.approx(middle, rel=0.25), trials


@pytest.mark.study
def test_cost_is_linear_in_users(speed: ModuleType) -> None:
    costs = speed.by_users((10000, 30000, 90000))
    middle = sorted(costs.values())[1]
    for users, cost in costs.items():
        assert cost == pytest.approx(middle, rel=0.25), users


@pytest.mark.study
def test_memory(speed: ModuleType) -> None:
    assert speed.peak_memory(trials=400) < 700
