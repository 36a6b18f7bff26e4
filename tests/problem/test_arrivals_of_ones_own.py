"""Bad parameters, files and functions of arrivals are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from tests.problem.arrived import SETS, arrive, complaint


def late(then: Any, before: Any, after: int = 3) -> Any:
    return lambda key, user: jnp.where(user > after, then, before)


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write modules that can be found but not imported."""
    (tmp_path / "with_a_slip.py").write_text("def level(key, user)\n    return 0.5\n")
    (tmp_path / "that_stops.py").write_text("1 / 0\n")
    (tmp_path / "that_exits.py").write_text("import sys\n\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)


# What was made, then the field and the words that the message must have.
BAD = [
    (lambda: hrprob.ContextSequence("no_such.csv"), "users", "No such file"),
    (lambda: hrprob.ContextSequence([[1.0]]), "users", "(users, actions, d)"),
    (lambda: hrprob.ContextSequence(4 * SETS), "users", "norm at most 1"),
    (lambda: hrprob.ContextSequence(SETS, sha256="ab"), "sha256", "numbers have no digest"),
    (lambda: hrprob.LevelSequence([]), "levels", "at least one"),
    (lambda: hrprob.LevelSequence(["a"]), "levels", "numbers"),
    (lambda: hrprob.EmpiricalLevels([np.nan]), "levels", "finite"),
    (lambda: hrprob.NormalLevels(0.0, 0.0), "sd", '"empirical"'),
    (lambda: hrprob.NormalLevels(np.inf, 1.0), "mean", "finite"),
    (lambda: hrprob.ContextFunction("here", 2), "function", "module:name"),
    (lambda: hrprob.ContextFunction("no_such_module:f", 2), "function", "no_such_module"),
    (lambda: hrprob.ContextFunction("math:no_such_name", 2), "function", "no_such_name"),
    (lambda: hrprob.LevelFunction(".seasons:level"), "function", "TypeError: the 'package' argument"),
    (lambda: hrprob.LevelFunction("with_a_slip:level"), "function", "SyntaxError: expected ':'"),
    (lambda: hrprob.LevelFunction("that_stops:level"), "function", "ZeroDivisionError"),
    (lambda: hrprob.LevelFunction("that_exits:level"), "function", "SystemExit: 0"),
    (
        lambda: hrprob.LevelFunction(lambda key, user: sys.exit("no level")),
        "function",
        "SystemExit: no level",
    ),
    (lambda: hrprob.ContextFunction("math:pi", 2), "function", "must be a function"),
    (lambda: hrprob.ContextFunction(len, 0), "actions", "at least one action"),
    (lambda: hrprob.LevelFunction(lambda key, user: jnp.zeros(2)), "function", "one level"),
    (lambda: hrprob.LevelFunction(lambda key: 1.0), "function", "TypeError"),
    (lambda: hrprob.LevelFunction(late(jnp.nan, 0.0)), "function", "user 4"),
    (lambda: hrprob.LevelFunction(late(2.0, 0.0), low=-1.0, high=1.0), "function", "[-1, 1], got 2.0"),
    (lambda: hrprob.LevelFunction(late(0.0, 0.0), low=1.0, high=-1.0), "high", "swap"),
    (lambda: hrprob.LevelFunction(late(0.0, 0.0), low=0.5), "function", "[0.5, inf]"),
    (lambda: hrprob.Drifting(pull=-1.0), "pull", "no pull"),
    (lambda: hrprob.Drifting(pull=1e300), "pull", "[0, 1e+06]"),
    (lambda: hrprob.Drifting(period=0.0), "period", "one turn"),
    (lambda: hrprob.Drifting(period=1e-320), "period", "at least 1"),
    (lambda: hrprob.Withholding(users=-1), "users", "number of users"),
    (lambda: hrprob.Withholding(users=2.5), "users", "whole number"),
    (lambda: hrprob.Withholding(coordinates=0), "coordinates", "withheld"),
    (lambda: arrive([1], contexts=hrprob.Withholding(coordinates=4)), "contexts.coordinates", "below 4"),
    (lambda: arrive([1], contexts=hrprob.ContextSequence(SETS[:, :, :3])), "contexts.users", "4 entries"),
    (
        lambda: arrive([1], contexts=hrprob.ContextFunction(lambda key, user: jnp.ones((2, 3)), 2)),
        "contexts.function",
        "(2, 4)",
    ),
    (
        lambda: arrive([1], contexts=hrprob.ContextFunction(lambda key, user: jnp.ones((2, 4)), 2)),
        "contexts.function",
        "norm at most 1",
    ),
    (
        lambda: arrive(
            [1], contexts=hrprob.ContextFunction(late(jnp.full((2, 4), 1.5), jnp.zeros((2, 4))), 2)
        ),
        "contexts.function",
        "norm at most 1, got 3.0: so it is for user 4",
    ),
    (
        lambda: arrive([1], contexts=hrprob.ContextFunction(late(jnp.nan, jnp.zeros((2, 4)), after=99), 2)),
        "contexts.function",
        "user 128",
    ),
    (
        lambda: hrprob.Problem(theta=[0.5], phi=[0.5], contexts=hrprob.Drifting()),
        "contexts.kind",
        "one dimension",
    ),
]


@pytest.mark.parametrize(("make", "field", "words"), BAD)
def test_bad_arrivals_are_named(make: Any, field: str, words: str) -> None:
    error = complaint(make)
    assert error.field == field
    assert words in str(error)
