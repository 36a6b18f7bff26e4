"""How a policy prints itself."""

import pytest

import hrprob
from hrprob.policies import POLICIES


def test_only_what_differs_from_the_defaults_is_printed():
    assert str(hrprob.HRUCB()) == "hr-ucb"
    assert str(hrprob.HRUCB(radius="constant", xi=2)) == 'hr-ucb (radius = "constant", xi = 2.0)'
    assert str(hrprob.Thompson(scale=0.5)) == "thompson (scale = 0.5)"


@pytest.mark.parametrize("kind", ["hr-ucb", "linucb", "random", "thompson", "cmdp"])
def test_notebooks_show_every_parameter_with_its_meaning(kind):
    (described,) = POLICIES.describe(kind)
    shown = POLICIES.make(kind)._repr_html_()
    for parameter in described.parameters:
        assert f"<td>{parameter.name}</td>" in shown
    assert kind in shown


def test_parameters_have_types():
    hints = hrprob.HRUCB.__init__.__annotations__
    assert hints["delta"] == "float"
    assert hints["xi"] == "float | None"
