"""Compiled programs: numbers are arguments of a program, options are part of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, cast

import jax
import numpy as np
import pytest
from jax.tree_util import PyTreeDef

import hrprob
from hrprob._core.compiled import LeafType, Program, Ready
from hrprob.simulation.programs import advance
from tests.helpers import make

TINY = hrprob.Problem(theta=[0.5], phi=[0.5], contexts=hrprob.Finite([[[0.5], [0.4]]]))


# Each list shares one program, for any type of number: an int, a NumPy scalar, None for a default.
PROGRAMS = [
    pytest.param(
        "hr-ucb",
        [
            [
                {"growth": 2},
                {"growth": 3.5, "ridge": 0.5, "variance_floor": 0.1},
                {"delta": 0.3, "variance_max": 3, "c1": 2, "c3": 0.5},
                {"radius": "constant", "xi": 7},
                {"radius": "constant", "xi": np.float64(7.5)},
                {"warmup": 2},
                {"warmup": 1, "ridge": 2},
            ],
            [
                {"radius": "paper"},
                {"radius": "paper", "growth": 5, "delta": 0.3, "c1": 2, "c2": 3, "c3": 0, "c4": 0.1},
                {"radius": "paper", "delta": np.float64(0.2), "variance_max": 4, "ridge": 2},
            ],
            [{"eager": True}, {"eager": True, "growth": 1}],
        ],
    ),
    pytest.param(
        "hr-ucb-exact",
        [
            [{}, {"radius": "constant", "xi": 2}, {"growth": 3, "delta": 0.2, "ridge": 2}],
            [{"radius": "calibrated"}, {"radius": "calibrated", "delta": 0.3, "ridge": 2, "growth": 2}],
            [
                {"radius": "likelihood-ratio"},
                {"radius": "likelihood-ratio", "delta": 0.3, "scale": 0.5, "growth": 2},
            ],
        ],
    ),
    pytest.param(
        "hr-ucb-weighted",
        [
            [{}, {"delta": 0.3}, {"radius": "constant", "xi": 0}, {"growth": 5, "variance_floor": 0.1}],
            [{"radius": "theory"}, {"radius": "theory", "delta": 0.3}],
        ],
    ),
    pytest.param(
        "contextual-ids",
        [[{}, {"growth": 5, "variance_floor": 0.1}], [{"points": 3}]],
    ),
    pytest.param("greedy-first", [[{}, {"delta": 0.3}, {"radius": "constant", "xi": 2}]]),
    pytest.param("epsilon-greedy", [[{}, {"epsilon": 0, "decay": 1}, {"epsilon": 3, "ridge": 2}]]),
    pytest.param("explore-commit", [[{}, {"explore": 1}, {"explore": 0, "ridge": 2}]]),
    pytest.param(
        "weighted-oful",
        [
            [{"radius": "calibrated"}, {"radius": "constant", "xi": 2}],
            [{}, {"delta": 0.3}],
            [{"index": "lifetime"}],
        ],
    ),
    pytest.param(
        "variance-thompson", [[{}, {"radius": "calibrated", "delta": 0.2}, {"radius": "constant", "xi": 0.5}]]
    ),
    pytest.param(
        "greedy",
        [[{}, {"growth": 5}, {"ridge": 3, "variance_floor": 0.5}, {"warmup": 1}, {"warmup": 1, "ridge": 3}]],
    ),
    pytest.param("linucb", [[{}, {"alpha": 0}, {"alpha": 2, "growth": 5, "ridge": 0}]]),
    pytest.param(
        "sigma-max-ucb",
        [
            [
                {},
                {"divide_by": "variance"},
                {"variance_max": 3},
                {"radius": "constant", "xi": 2, "variance_max": np.float64(3.5)},
            ]
        ],
    ),
]


class Called(Exception):
    """A program was called that was not compiled."""


def without_compiling(tree: PyTreeDef, types: Sequence[LeafType], static: Mapping[str, Hashable]) -> Ready:
    """Stand for a program, which is as good as a compiled one for counting."""

    def call(*leaves: Any) -> None:
        raise Called

    return Ready(cast(jax.stages.Compiled, call), [None] * len(types), tree)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Program[..., Any]]:
    """The program that serves users, without any so far; what is counted is dropped afterwards."""
    advance.clear_cache()
    monkeypatch.setattr(advance, "_compile", without_compiling)
    yield advance
    advance.clear_cache()


@pytest.mark.parametrize(("kind", "programs"), PROGRAMS)
def test_numbers_share_a_program_and_options_do_not(
    kind: str, programs: list[list[dict[str, Any]]], counted: Program[..., Any]
) -> None:
    other = TINY.replace(
        theta=[0.1],
        link=hrprob.Affine(0.5, 3),
        satisfaction=hrprob.UniformLevels(-2, 0),
        contexts=hrprob.Ball(TINY.contexts.actions),
    )
    for number, variants in enumerate(programs, start=1):
        for seed, variant in enumerate(variants):
            with pytest.raises(Called):
                hrprob.simulate(TINY, make(kind, variant), users=2, trials=1, seed=seed)
        with pytest.raises(Called):
            hrprob.simulate(other, make(kind, variants[0]), users=2, trials=1)
        assert counted.count == number
