"""The parameters of every registered policy: defaults, documentation and checks."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.policies import POLICIES
from tests.helpers import make

KINDS = POLICIES.kinds()


def parameters(kind: str) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in POLICIES.describe(kind)[0].parameters}


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_a_default(kind: str) -> None:
    assert parameters(kind)
    for name, default in parameters(kind).items():
        assert default is not dataclasses.MISSING, name
    policy = make(kind, {})
    assert policy.kind == kind
    assert make(kind, parameters(kind)) == policy


@pytest.mark.parametrize("kind", KINDS)
def test_description_is_one_sentence(kind: str) -> None:
    description = POLICIES.describe(kind)[0].description
    assert description.endswith(".")
    assert len(description) > 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "wrong",
    [{"warmup": -1}, {"warmup": 1.5}, {"eager": "yes"}, {"eager": 1}, {"no_such_thing": 1}],
    ids=str,
)
def test_wrong_parameters_of_every_policy(kind: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        make(kind, wrong)


WRONG = {
    "hr-ucb": [
        {"growth": 0.5},
        {"growth": "5"},
        {"growth": None},
        {"ridge": 0},
        {"ridge": float("nan")},
        {"delta": 0},
        {"delta": 1},
        {"radius": "wide"},
        {"radius": "constant"},
        {"xi": 3.0},
        {"radius": "constant", "xi": -1.0},
        {"variance_max": 0},
        {"variance_floor": 0},
        {"c1": 0},
        {"c2": -1},
        {"c3": "guessed"},
        {"c4": -0.1},
    ],
    "hr-ucb-exact": [{"radius": "narrow"}, {"delta": 1.5}, {"radius": "constant"}, {"xi": 1.0}],
    "hr-ucb-weighted": [
        {"radius": "paper"},
        {"delta": 0},
        {"radius": "constant"},
        {"xi": 1.0},
        {"variance_floor": 0},
        {"growth": 0.5},
        {"samples": "informative", "growth": 5},
    ],
    "contextual-ids": [{"points": 0}, {"points": 1.5}, {"variance_floor": -1}],
    "ids": [{"draws": 1}, {"information": "all"}, {"mix": 1}, {"engine": "svi"}],
    "greedy-first": [{"radius": "released"}, {"delta": 1}, {"radius": "constant"}],
    "epsilon-greedy": [{"epsilon": -0.1}, {"decay": 1.5}, {"decay": "slow"}, {"ridge": 0}],
    "explore-commit": [{"explore": -1}, {"explore": 2.5}, {"ridge": 0}],
    "weighted-oful": [
        {"index": "median"},
        {"radius": "paper"},
        {"radius": "belief"},
        {"delta": 0},
        {"xi": 1.0},
    ],
    "variance-thompson": [{"index": "variance"}, {"radius": "narrow"}, {"radius": "constant"}, {"delta": 2}],
    "kl-ulcb": [{"constant": -1}, {"constant": "3"}],
    "greedy": [{"growth": 0}, {"ridge": 0}, {"variance_floor": -1}],
    "linucb": [{"alpha": -1}, {"alpha": "1"}, {"ridge": -1}, {"growth": True}],
    "sigma-max-ucb": [
        {"ridge": 0},
        {"divide_by": "zero"},
        {"radius": "narrow"},
        {"delta": 2},
        {"xi": 1.0},
        {"variance_max": -4},
        {"variance_floor": 0},
    ],
    "cmdp": [
        {"partition": "squares"},
        {"cells": 0},
        {"cells": 2.5},
        {"tries": "days"},
        {"with_beta": 1},
        {"with_beta": True, "partition": "sets"},
        {"discount": 1},
        {"discount": 0},
    ],
    "oracle": [],
    "mean-oracle": [],
    "average-oracle": [],
    "random": [],
    "bayes-greedy": [{"engine": "mcmc"}, {"model": "cauchy"}, {"prior": "flat"}, {"refit": 0}, {"draws": 0}],
    "bayes-ucb": [{"level": 0}, {"level": 1}, {"draws": 1.5}],
    "thompson": [{"scale": -1}, {"engine": None}, {"temper": 0}, {"temper": 0.5, "engine": "nuts"}],
    "feel-good-thompson": [
        {"strength": -1},
        {"most": 0},
        {"variance_aware": "yes"},
        {"draws": 1},
        {"memory": 0},
        {"engine": "svi"},
    ],
    "ensemble-sampling": [{"members": 1}, {"scale": -1}, {"discount": 0.9}, {"window": 50}],
    "huber-ucb": [{"threshold": 0}, {"moments_of_squares": 1.5}, {"radius": "paper"}, {"window": 50}],
    "thompson-known-variance": [{"scale": -1}, {"growth": 0}],
    "thompson-homoscedastic": [{"scale": "1"}, {"shape": 0}, {"ridge": 0}],
}


def test_wrong_parameters_are_listed_for_every_kind() -> None:
    assert {kind for kind, cls in KINDS.items() if cls.__module__.startswith("hrprob.")} <= set(WRONG)


@pytest.mark.parametrize(
    ("kind", "wrong"), [(kind, wrong) for kind, several in WRONG.items() for wrong in several], ids=str
)
def test_wrong_parameters(kind: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        KINDS[kind](**wrong)
    message = str(caught.value)
    # The requirement, the value, and the remedy.
    assert re.fullmatch(r"`\w+` must .+, got .+: .+", message)
    assert caught.value.field in wrong or caught.value.field == "xi"


def test_an_unknown_kind() -> None:
    with pytest.raises(InvalidInput, match=r"`policy.kind` must be one of .*'hr-ucb'.*did you mean `hr-ucb`"):
        make("hr-cub", {})
