"""Thompson sampling learns, with every engine, model and way of serving."""

import importlib

import numpy as np
import pytest

import hrprob
from tests.helpers import make

THOMPSON = ["thompson", "thompson-known-variance", "thompson-homoscedastic"]
INDEX = ["bayes-greedy", "bayes-ucb"]


@pytest.mark.study
@pytest.mark.parametrize("engine", ["nuts", "svi"])
def test_engines_from_outside_compile_once(engine):
    """A run that outgrows many powers of two still has one program for its fits."""
    module = importlib.import_module(f"hrprob.estimation.posterior.{engine}")
    small = {"kind": engine} | ({"steps": 200} if engine == "svi" else {"warmup": 50, "draws": 50})
    before = module._run._cache_size()
    policies = {"t": hrprob.Thompson(engine=small), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=200, trials=1, seed=0)
    assert module._run._cache_size() == before + 1
    last = result.regret.sel(user=200, trial=0)
    # A random choice costs about 1 per user.
    assert float(last.sel(policy="t")) < 0.6 * float(last.sel(policy="random"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"eager": True},
        pytest.param({"model": "student-t"}, marks=pytest.mark.study),
        {"model": "student-t", "engine": "smc"},
        pytest.param({"model": "mixture"}, marks=pytest.mark.study),
        pytest.param({"model": "mixture", "engine": "smc", "eager": True}, marks=pytest.mark.study),
        pytest.param({"model": "truncated-normal"}, marks=pytest.mark.study),
    ],
    ids=str,
)
def test_every_way_of_learning_learns(parameters):
    policies = {"t": make("thompson", parameters), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=400, trials=4, seed=0)
    last = result.regret.sel(user=400).mean("trial")
    # Measured: 0.25 to 0.3.
    assert float(last.sel(policy="t")) < 0.45 * float(last.sel(policy="random"))


@pytest.mark.parametrize(
    "kind", ["thompson-known-variance", pytest.param("thompson", marks=pytest.mark.slow)]
)
def test_units_of_outcomes_do_not_matter(kind):
    def play(unit):
        problem = hrprob.Problem(
            theta=[0.6 * unit, 0.3 * unit],
            phi=[0.5, -0.4],
            link=hrprob.Affine(unit**2, 2.0 * unit**2),
            bounds=hrprob.Bounds(unit, 2.0),
            contexts=hrprob.Ball(actions=3),
            satisfaction=hrprob.UniformLevels(-unit, 0.5 * unit),
        )
        return hrprob.simulate(problem, make(kind, {}), users=40, trials=2, seed=1)

    whole, small = play(1.0), play(2.0**-20)
    np.testing.assert_array_equal(small.action, whole.action)
    np.testing.assert_array_equal(small.lifetime, whole.lifetime)
    np.testing.assert_allclose(small.regret, whole.regret, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [*THOMPSON, *(pytest.param(kind, marks=pytest.mark.study) for kind in INDEX)]
)
def test_every_bayesian_policy_learns(kind):
    policies = {"policy": make(kind, {"warmup": 1}), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=300, trials=4, seed=0)
    last = result.regret.sel(user=300).mean("trial")
    # A random choice costs about 1 per user.
    assert float(last.sel(policy="policy")) < 0.5 * float(last.sel(policy="random"))
