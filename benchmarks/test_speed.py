"""Speed and memory of the engine, cost and regret of Thompson sampling, compared with what is promised.

See speed.py for the full tables.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hrprob
from hrprob.io import config

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


@pytest.fixture(scope="module")
def played(speed: ModuleType) -> dict[str, Any]:
    """HR-UCB and Thompson sampling, one after another in one process."""
    played = {name: speed.play(policy) for name, policy in speed.thompson().items()}
    print("\n" + speed.table_of(played))
    return played


@pytest.mark.study
@pytest.mark.parametrize(("engine", "most"), [("laplace", 30), ("smc", 200)])
def test_cpu_seconds_of_thompson_sampling(played: dict[str, Any], engine: str, most: float) -> None:
    assert played[engine].seconds <= most


@pytest.mark.study
def test_engines_of_thompson_sampling_have_the_same_regret(played: dict[str, Any]) -> None:
    # The trials are paired: both engines meet the same users.
    difference = played["laplace"].regret - played["smc"].regret
    assert abs(difference.mean()) < 3 * difference.std(ddof=1) / math.sqrt(len(difference))


@pytest.mark.study
def test_regret_of_thompson_sampling_on_discrete_contexts(speed: ModuleType) -> None:
    folder = Path(hrprob.__file__).parent / "experiments" / "reproduce"
    panel = config.read(folder / "released-d.toml")
    result = hrprob.simulate(
        panel.problem,
        {"thompson": panel.policies["thompson"]},
        users=panel.users,
        trials=panel.trials,
        seed=panel.seed,
        keep=1000,
    )
    regret = result.regret.sel(policy="thompson", user=speed.LAST).values
    print(f"\npanel d: {regret.mean():.1f} ± {regret.std(ddof=1) / math.sqrt(len(regret)):.1f}")
    assert len(regret) == 20
    assert regret.mean() <= 50


@pytest.mark.study
@pytest.mark.parametrize("engine", ["nuts", "svi"])
def test_engines_from_outside_take_minutes(engine: str) -> None:
    """One trial of 2000 users, fitted whenever the users have grown by half: one program serves all fits."""
    module = importlib.import_module(f"hrprob.estimation.posterior.{engine}")
    before, wall, cpu = module._run._cache_size(), time.perf_counter(), time.process_time()
    policy = hrprob.Thompson(engine=engine)
    result = hrprob.simulate(hrprob.Problem(), {"it": policy}, users=2000, trials=1, seed=0, keep=100)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    last = float(result.regret.isel(user=-1).squeeze())
    print(f"\n{engine}: {wall:.0f} s, {cpu:.0f} CPU s, compilation included; regret {last:.0f}")
    assert module._run._cache_size() == before + 1
    assert wall <= 600
    # A random choice costs about 1 per user.
    assert last < 600
