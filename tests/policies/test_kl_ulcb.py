"""KL-ULCB: its first actions, and the problems for which it is defined."""

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from tests.helpers import make
from tests.policies.problems import ONE_SET


def test_kl_ulcb_tries_every_arm_first() -> None:
    run = hrprob.simulate(ONE_SET, make("kl-ulcb", {"eager": False}), users=4, trials=3, keep="all")
    assert run.action.values[0].tolist() == [[0, 1, 2, 3]] * 3


@pytest.mark.parametrize(
    ("problem", "field"),
    [
        (ONE_SET.replace(satisfaction=hrprob.UniformLevels(-1, 0)), "satisfaction"),
        (ONE_SET.replace(contexts=hrprob.Sphere(4)), "contexts.sets"),
        (ONE_SET.replace(contexts=hrprob.Finite([0.9 * np.eye(4), 0.5 * np.eye(4)])), "contexts.sets"),
    ],
)
def test_kl_ulcb_is_refused_where_it_is_not_defined(problem: hrprob.Problem, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make("kl-ulcb", {}).bind(problem, 10)
    assert caught.value.field == field
