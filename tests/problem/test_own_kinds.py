"""Kinds of one's own take part where only a statement of theirs is asked for, not their class."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import numpy as np
import pytest

import hrprob
from hrprob.diagnostics.designs import designs
from hrprob.noise import Noise


@dataclasses.dataclass(frozen=True)
class Fixtures:
    """Contexts of one's own: the same set for everybody."""

    kind: ClassVar[str] = "fixtures"
    actions: int = 3

    @property
    def finite_sets(self) -> np.ndarray:
        return 0.5 * np.eye(4)[None, : self.actions]

    def check_dimension(self, dimension: int) -> None:
        pass

    def draw(self, source: object, dimension: int) -> jax.Array:
        raise NotImplementedError

    def place(self, drawn: jax.Array) -> jax.Array:
        raise NotImplementedError


class DrawnByAction(Fixtures):
    drawn_by_action: ClassVar[bool] = True


class Rounds(hrprob.Lifetime):
    """An objective of one's own that says that it counts rounds."""


class Points:
    """An objective of one's own that does not."""

    kind: ClassVar[str] = "points"
    unit: ClassVar[str] = "points"

    def earning(self, u: float, w: float, noise: Noise) -> float:
        return 2.0


class NormalByName(hrprob.Normal):
    pass


def test_contexts_say_that_they_are_finitely_many_sets() -> None:
    sets = hrprob.Problem(contexts=Fixtures()).sets
    assert sets is not None
    assert sets.shape == (1, 3, 4)
    assert hrprob.Problem().sets is None


def test_contexts_say_that_a_single_action_can_be_drawn() -> None:
    one = designs(hrprob.Problem(contexts=DrawnByAction()), most=10, users=10)["fixed"]
    whole = designs(hrprob.Problem(contexts=Fixtures()), most=10, users=10)["fixed"]
    assert (one.problem.contexts.actions, whole.problem.contexts.actions) == (1, 3)


def test_constants_are_computed_for_every_objective_that_counts_rounds() -> None:
    policy = hrprob.HRUCB(radius="paper", c3="computed")
    assert policy.bind(hrprob.Problem(objective=Rounds()), 100).width is not None
    with pytest.raises(hrprob.InvalidInput, match="c3"):
        policy.bind(hrprob.Problem(objective=Points()), 100)


def test_likelihood_ratio_sets_take_every_noise_whose_sums_suffice() -> None:
    policy = hrprob.HRUCB(radius="likelihood-ratio")
    assert policy.bind(hrprob.Problem(noise=NormalByName()), 100).width is not None
    with pytest.raises(hrprob.InvalidInput, match="assumed normal"):
        policy.bind(hrprob.Problem(noise=hrprob.StudentT()), 100)
