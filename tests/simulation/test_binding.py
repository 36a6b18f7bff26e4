"""Policies for a problem are made once, whoever asks and however often."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.policies import Random
from hrprob.problem import Problem
from hrprob.simulation.binding import bind


class Counted(Random):
    """Counts how often it is bound, and does not like three users."""

    times: list[int] = []  # noqa: RUF012
    both = threading.Barrier(2)

    def bind(self, problem: Problem, users: int) -> Counted:
        """Return the policy for this problem."""
        self.times.append(users)
        if users == 3:
            raise InvalidInput("users", "must not be 3", users, "take 4")
        return self


def test_a_policy_is_bound_once() -> None:
    Counted.times.clear()
    policy, problem = Counted(), hrprob.Problem()

    def ask(users: int) -> object:
        Counted.both.wait()
        return bind("it", policy, problem, users)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, [7, 7])
    assert first is second
    assert Counted.times == [7]
    # Other users, another problem or another policy are another question.
    bind("it", policy, problem, 8)
    bind("it", policy, hrprob.Problem(), 7)
    bind("it", Counted(), problem, 7)
    assert Counted.times == [7, 8, 7, 7]


def test_an_error_names_the_policy_and_is_not_remembered() -> None:
    Counted.times.clear()
    policy, problem = Counted(), hrprob.Problem()
    for name in ("one", "other"):
        with pytest.raises(InvalidInput, match=f'policy "{name}"'):
            bind(name, policy, problem, 3)
    assert Counted.times == [3, 3]
