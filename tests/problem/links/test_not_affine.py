"""A link of one's own that is not affine: served by policies that do without the GLSE, refused by the others."""

import dataclasses
import math
from typing import ClassVar

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.policies import POLICIES
from hrprob.problem.links.base import is_affine


@dataclasses.dataclass(frozen=True)
class Exponential:
    """f(z) = exp(z)."""

    kind: ClassVar[str] = "exponential"

    def __call__(self, z):
        return math.e**z

    def inverse(self, variance):
        return math.log(variance)

    def check_bound(self, bound):
        """Accept every bound: the variance is positive."""


PROBLEM = hrprob.Problem(
    theta=[0.6, 0.3], phi=[0.5, 0.4], link=Exponential(), contexts=hrprob.Ball(actions=3)
)
ON_THE_GLSE = [kind for kind, cls in POLICIES.kinds().items() if getattr(cls, "needs_affine_link", False)]


def test_which_links_are_affine():
    assert is_affine(hrprob.Affine())
    assert not is_affine(Exponential())


def test_the_policies_that_need_an_affine_link():
    assert {"hr-ucb", "greedy", "sigma-max-ucb", "contextual-ids", "weighted-oful"} <= set(ON_THE_GLSE)
    assert not {"random", "oracle", "linucb", "thompson", "cmdp"} & set(ON_THE_GLSE)


@pytest.mark.parametrize("kind", ON_THE_GLSE)
def test_they_refuse_others(kind):
    with pytest.raises(InvalidInput, match="'exponential' of the problem is not affine"):
        POLICIES.make(kind).bind(PROBLEM, 10)


@pytest.mark.parametrize("kind", ["random", "oracle", "linucb"])
def test_others_take_any_link(kind):
    assert POLICIES.make(kind).bind(PROBLEM, 10).known.link == Exponential()
