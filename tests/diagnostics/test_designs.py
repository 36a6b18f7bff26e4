"""How contexts are picked for the printed sets."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.diagnostics.designs import designs, sample_sizes
from hrprob.diagnostics.study import make_study
from hrprob.io import config
from hrprob.simulation.data_sets import gather
from hrprob.simulation.truths import Truths

EXTENSIONS = sorted((Path(hrprob.__file__).parent / "experiments" / "extensions").glob("*.toml"))


def test_sizes_are_two_per_decade():
    assert sample_sizes(316).tolist() == [10, 32, 100, 316]
    assert sample_sizes(315).tolist() == [10, 32, 100]
    assert sample_sizes(100_000).tolist() == [10, 32, 100, 316, 1000, 3162, 10000, 31623, 100000]
    with pytest.raises(InvalidInput):
        sample_sizes(5)


def test_in_the_fixed_design_contexts_do_not_depend_on_the_noise():
    problem = hrprob.Problem()
    fixed = designs(problem, 50)["fixed"]
    assert isinstance(fixed.problem.satisfaction, hrprob.InfiniteLevels)
    assert fixed.problem.contexts.actions == 1
    assert fixed.policy.kind == "random"
    finite = hrprob.Problem(theta=[0.5], phi=[0.5], contexts=hrprob.Finite([[[0.9], [0.4]]]))
    assert designs(finite, 50)["fixed"].problem.contexts.actions == 2


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.stem)
def test_every_extension_has_its_designs(path):
    experiment = config.read(path)
    study = make_study(experiment.problem, experiment.policies)
    found = designs(study.problem, 50, 60, study.hr_ucb, study.thompson)
    assert list(found) == ["fixed", "hr-ucb", "thompson"]
    assert found["fixed"].problem.contexts.kind == study.problem.contexts.kind
    assert [design.users for design in found.values()] == [50, 60, 60]


@pytest.mark.slow
def test_a_function_of_contexts_keeps_its_actions():
    contexts = hrprob.ContextFunction(lambda key, user: jnp.array([[0.9, 0.0], [0.0, 0.5]]), actions=2)
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.4], contexts=contexts)
    fixed = designs(problem, 12)["fixed"]
    truths = Truths(*(np.tile(truth, (2, 1)) for truth in (problem.theta, problem.phi)))
    data = gather(fixed.problem, fixed.policy, truths, users=12, seed=0)
    # One round each, and both actions served: only one of them in 24 picks has a probability of 1e-7.
    assert np.all(data.stays.rounds == 1)
    assert {tuple(x) for x in data.stays.x.reshape(-1, 2)} == {(0.9, 0.0), (0.0, 0.5)}
