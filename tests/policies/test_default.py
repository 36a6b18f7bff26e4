"""The default policy: registered, and good where greedy is and where it is not."""

from pathlib import Path

import pytest

import hrprob
from hrprob.policies import DEFAULT, POLICIES
from tests.policies.problems import ONE_SET


def test_the_default_is_registered() -> None:
    assert POLICIES.kinds()[DEFAULT.kind] is DEFAULT
    assert not DEFAULT.knows_truth


@pytest.mark.study
def test_the_default_where_greedy_is_linear() -> None:
    """One set of actions: greedy ends near 3000 ± 400 (20 trials), the default near 200 ± 60."""
    problem = ONE_SET.replace(satisfaction=hrprob.UniformLevels(-1.0, 0.5))
    policies = {"default": DEFAULT(), "greedy": hrprob.Greedy()}
    run = hrprob.simulate(problem, policies, users=10000, trials=20, seed=0, keep=1000)
    last = run.regret.isel(user=-1).mean("trial")
    assert float(last.sel(policy="default")) < 400
    assert float(last.sel(policy="greedy")) > 1500
    late = run.regret.sel(policy="default")
    first, second = late.sel(user=5001), late.isel(user=-1) - late.sel(user=5001)
    assert float(second.mean()) < 0.5 * float(first.mean())


@pytest.mark.study
@pytest.mark.parametrize(("contexts", "most"), [("paper", 250), ("discrete", 20)])
def test_the_default_in_the_settings_of_the_paper(contexts: str, most: float) -> None:
    sets = Path(hrprob.__file__).parent / "experiments" / "reference" / "discrete_contexts.csv"
    problem = hrprob.Problem() if contexts == "paper" else hrprob.Problem(contexts=hrprob.Finite(sets))
    run = hrprob.simulate(problem, DEFAULT(), users=29001, trials=20, seed=0, keep=1000)
    assert float(run.regret.isel(user=-1).mean()) <= most
