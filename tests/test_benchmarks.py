"""The benchmarks: what they compute, the page that is made of them, and that the engine stays near the limit of the machine.

``python -m benchmarks`` measures; here ratios are compared with what is promised, generously, so that a busy machine does not fail.
"""

from __future__ import annotations

import importlib
import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

import hrprob
from benchmarks import growth, limit, page, paper
from benchmarks.__main__ import STUDIES
from hrprob.io import config

# Measured on busy machines: 6.0 on an Intel Xeon, 8.4 to 9.5 with the same code on an AMD EPYC, where the C limit gains more from its
# vectors. On the first, trials elsewhere than on the last axis made it 8.4, and a choice of actions that is a scalar loop 12.
MOST_TIMES_THE_LIMIT = 12

needs_compiler = pytest.mark.skipif(not limit.has_compiler(), reason="there is no C compiler")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return limit.compile_limit(tmp_path_factory.mktemp("limit"))


@needs_compiler
def test_the_limit_has_the_regret_of_the_published_curve(program: Path) -> None:
    # Published: 379.5 at user 29001, a mean of 20 trials whose standard error is about 17; a thousand users more cost about 9.
    # Twice that error for the difference of two such means, and half as much again.
    found = limit.run_limit(program)
    assert abs(found.regret_mean - 388) < 3 * math.hypot(17, found.regret_se)
    # The same program before it was vectorised over trials, other random numbers: 3.569.
    assert found.lifetime_mean == pytest.approx(3.57, abs=0.03)


def test_exponents_of_powers() -> None:
    fitted = growth.exponent([1, 2, 4, 8], [3.0, 12.0, 48.0, 192.0])
    assert fitted["exponent"] == pytest.approx(2)
    assert fitted["low"] <= 2 <= fitted["high"]


def test_the_page_has_the_results() -> None:
    results = Path(page.PAGE.parents[2], "benchmarks", "results.json")
    text = page.PAGE.read_text(encoding="utf-8")
    assert set(page.TABLES) == set(STUDIES)
    assert page.filled(text, json.loads(results.read_text(encoding="utf-8"))) == text


@needs_compiler
@pytest.mark.slow
@pytest.mark.optimised
def test_hr_ucb_stays_near_the_limit(program: Path) -> None:
    limits: list[float] = []
    users = 5000
    _, later, _ = paper.simulate_seconds(
        paper.hr_ucb(),
        users=users,
        between=lambda: limits.append(limit.run_limit(program, users).cpu_seconds),
    )
    assert later.cpu / min(limits) <= MOST_TIMES_THE_LIMIT


@pytest.mark.study
def test_cost_is_linear_in_users_and_flat_in_trials() -> None:
    by_users = [paper.simulate_seconds(paper.hr_ucb(), users=users)[1].cpu for users in (10000, 30000, 90000)]
    fitted = growth.exponent((10000, 30000, 90000), by_users)
    assert fitted["exponent"] == pytest.approx(1, abs=0.15)
    by_trials = {
        trials: paper.simulate_seconds(paper.hr_ucb(), users=10000, trials=trials)[1].cpu / trials
        for trials in (20, 100, 400)
    }
    middle = sorted(by_trials.values())[1]
    for trials, cost in by_trials.items():
        assert cost == pytest.approx(middle, rel=0.25), trials


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """HR-UCB and Thompson sampling, one after another in one process: CPU seconds and regrets."""
    policies = paper.policies()
    chosen = {"hr-ucb": "hr-ucb", "laplace": "thompson laplace", "smc": "thompson smc"}
    return {name: paper.simulate_seconds(policies[full], repeats=1)[1:] for name, full in chosen.items()}


@pytest.mark.study
@pytest.mark.parametrize(("engine", "most"), [("laplace", 30), ("smc", 200)])
def test_cpu_seconds_of_thompson_sampling(played: dict[str, Any], engine: str, most: float) -> None:
    assert played[engine][0].cpu <= most


@pytest.mark.study
def test_engines_of_thompson_sampling_have_the_same_regret(played: dict[str, Any]) -> None:
    # The trials are paired: both engines meet the same users.
    difference = played["laplace"][1] - played["smc"][1]
    assert abs(difference.mean()) < 3 * difference.std(ddof=1) / math.sqrt(len(difference))


@pytest.mark.study
def test_regret_of_thompson_sampling_on_discrete_contexts() -> None:
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
    regret = result.regret.sel(policy="thompson", user=29001).values
    assert len(regret) == 20
    assert regret.mean() <= 50


@pytest.mark.study
def test_memory_without_trajectories() -> None:
    assert growth._memory(30000, trials=400) < 700


@pytest.mark.study
@pytest.mark.parametrize("engine", ["nuts", "svi"])
def test_engines_from_outside_take_minutes(engine: str) -> None:
    """One trial of 2000 users, fitted whenever the users have grown by half: one program serves all fits."""
    module = importlib.import_module(f"hrprob.estimation.posterior.{engine}")
    before, wall = module._run._cache_size(), time.perf_counter()
    policy = hrprob.Thompson(engine=engine)
    result = hrprob.simulate(hrprob.Problem(), {"it": policy}, users=2000, trials=1, seed=0, keep=100)
    assert module._run._cache_size() == before + 1
    assert time.perf_counter() - wall <= 600
    # A random choice costs about 1 per user.
    assert float(result.regret.isel(user=-1).squeeze()) < 600
