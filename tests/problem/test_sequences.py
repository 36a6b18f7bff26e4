"""Arrivals that are not i.i.d.: what they are, where they come from, and what is said of bad ones."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, trial_keys
from hrprob._core.records import describe
from hrprob.comparison.coverage import coverage
from hrprob.io import config
from hrprob.simulation.arrivals import Arrivals, arrivals
from hrprob.simulation.data_sets import Truths, gather

THETA, PHI = [0.6, 0.5, 0.5, 0.3], [0.5, 0.2, 0.8, 0.9]
SETS = np.random.default_rng(0).uniform(-0.4, 0.4, size=(3, 2, 4))


def arrive(users: Any, trials: int = 3, **parts: Any) -> Arrivals:
    problem = hrprob.Problem(theta=THETA, phi=PHI, **parts)
    with double_precision():
        made = arrivals(problem, trial_keys(1, np.arange(trials)), np.asarray(users, dtype=np.uint32))
        return jax.tree.map(np.asarray, made)


def complaint(make: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        make()
    return caught.value


def write_contexts(path: Path, contexts: np.ndarray) -> Path:
    rows = ["user,action," + ",".join(f"x{j + 1}" for j in range(contexts.shape[2]))]
    for user, actions in enumerate(contexts, start=1):
        rows += [f"{user},{a}," + ",".join(map(repr, x.tolist())) for a, x in enumerate(actions, start=1)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_sequence_is_met_in_its_order_and_begins_again() -> None:
    levels = [0.5, -1.0, 0.25, 0.1]
    arrived = arrive(
        range(1, 8), contexts=hrprob.ContextSequence(SETS), satisfaction=hrprob.LevelSequence(levels)
    )
    for trial in range(3):
        np.testing.assert_array_equal(arrived.contexts[..., trial], SETS[[0, 1, 2, 0, 1, 2, 0]])
        np.testing.assert_array_equal(arrived.beta[:, trial], np.array(levels)[[0, 1, 2, 3, 0, 1, 2]])
    # The noise is each trial's own.
    assert not np.any(arrived.noise[..., 0] == arrived.noise[..., 1])


def test_warm_up_users_stand_in_a_sequence_from_its_beginning() -> None:
    users = [WARMUP_USERS, WARMUP_USERS + 1]
    arrived = arrive(users, contexts=hrprob.ContextSequence(SETS))
    np.testing.assert_array_equal(arrived.contexts[..., 0], SETS[:2])


def test_files_say_what_arrays_say(tmp_path: Path) -> None:
    path = write_contexts(tmp_path / "contexts.csv", SETS)
    np.testing.assert_array_equal(hrprob.ContextSequence(path).users, SETS)
    (tmp_path / "levels.csv").write_text("beta\n0.5\n-1\n")
    for kind in (hrprob.LevelSequence, hrprob.EmpiricalLevels):
        np.testing.assert_array_equal(kind(tmp_path / "levels.csv").levels, [0.5, -1.0])


def test_a_run_from_files_can_be_told_and_repeated(tmp_path: Path) -> None:
    path = write_contexts(tmp_path / "contexts.csv", SETS)
    (tmp_path / "levels.csv").write_text("beta\n0.5\n-1\n")
    data = {
        "problem": {
            "theta": THETA,
            "phi": PHI,
            "contexts": {"kind": "sequence", "users": "contexts.csv"},
            "satisfaction": {"kind": "sequence", "levels": "levels.csv"},
        },
        "policy": [{"kind": "oracle"}],
    }
    experiment = config.from_data(data, tmp_path)
    told = json.loads(json.dumps(config.resolved(experiment)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert told["problem"]["contexts"] == {"kind": "sequence", "users": str(path), "sha256": digest}
    assert config.resolved(config.from_data(told)) == told
    # Another file in its place is noticed.
    write_contexts(path, 0.5 * SETS)
    error = complaint(lambda: config.from_data(told))
    assert error.field == "problem.contexts.sha256"
    assert "not the file that was meant" in str(error)


def test_a_long_sequence_is_described_by_its_shape() -> None:
    contexts = np.zeros((500, 2, 4))
    assert describe(hrprob.ContextSequence(contexts)) == {"kind": "sequence", "users": "500 x 2 x 4 numbers"}
    assert describe(hrprob.ContextSequence(SETS))["users"] == SETS.tolist()


def test_a_function_gives_each_user_and_trial_their_own() -> None:
    def contexts(key: Any, user: Any) -> Any:
        return 0.3 * jnp.cos(user + jax.random.uniform(key, (2, 4)))

    def level(key: Any, user: Any) -> Any:
        return -1.0 / user

    arrived = arrive(
        [1, 2, WARMUP_USERS],
        contexts=hrprob.ContextFunction(contexts, actions=2),
        satisfaction=hrprob.LevelFunction(level, low=-1.0, high=0.0),
    )
    assert arrived.contexts.shape == (3, 2, 4, 3)
    assert len(np.unique(arrived.contexts)) == 3 * 2 * 4 * 3
    assert np.all(np.abs(arrived.contexts[0] - 0.3 * np.cos(1.5)) < 0.3)
    np.testing.assert_allclose(arrived.beta[:2, 0], [-1.0, -0.5])
    assert hrprob.LevelFunction(level, low=-1.0, high=0.0).support == (-1.0, 0.0)
    assert hrprob.LevelFunction(level).support == (-np.inf, np.inf)


def test_drifting_contexts_follow_their_direction() -> None:
    period, pull = 40.0, 30.0
    arrived = arrive([1, 11, 21, 31, 41], contexts=hrprob.Drifting(50, pull, period))
    np.testing.assert_allclose(np.linalg.norm(arrived.contexts, axis=2), 1.0, rtol=1e-12)
    # With so strong a pull all contexts are within 0.2 of (cos, sin) at a quarter of a turn each.
    centre = arrived.contexts.mean(axis=(1, 3))
    wanted = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 0]])
    assert np.abs(centre[:, :2] - wanted).max() < 0.2
    assert np.abs(centre[:, 2:]).max() < 0.05


def test_without_a_pull_nothing_drifts() -> None:
    users = range(1, 6)
    drifting = arrive(users, contexts=hrprob.Drifting(7, 0.0, 3.0))
    sphere = arrive(users, contexts=hrprob.Sphere(7))
    np.testing.assert_array_equal(drifting.contexts, sphere.contexts)


def test_withheld_coordinates_are_zero_for_a_while() -> None:
    arrived = arrive([1, 2, 3, 4, WARMUP_USERS], contexts=hrprob.Withholding(6, users=3, coordinates=2))
    np.testing.assert_allclose(np.linalg.norm(arrived.contexts, axis=2), 1.0, rtol=1e-12)
    early = [0, 1, 2, 4]
    assert np.all(arrived.contexts[early][:, :, 2:] == 0)
    assert np.all(arrived.contexts[early][:, :, :2] != 0)
    assert np.all(arrived.contexts[3] != 0)


@pytest.mark.slow
def test_nothing_is_learned_of_what_is_withheld() -> None:
    problem = hrprob.Problem(contexts=hrprob.Withholding(5, users=30, coordinates=2))
    from hrprob.simulation.programs import advance, begin

    with double_precision():
        policy = hrprob.Greedy().bind(problem, 30)
        keys = trial_keys(0, np.arange(2))
        carry = begin(policy, keys)
        carry, _ = advance(problem.rules, policy, keys, carry, arrivals(problem, keys, np.arange(1, 31)))
    theta = np.asarray(carry.learning.state.estimates.theta)
    assert np.all(theta[2:] == 0)
    assert np.all(theta[:2] != 0)


def late(then: Any, before: Any, after: int = 3) -> Any:
    return lambda key, user: jnp.where(user > after, then, before)


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that can be found, and not imported."""
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
    (lambda: hrprob.NormalLevels(0.0, 0.0), "deviation", '"empirical"'),
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
    (lambda: hrprob.Withholding(users=-1), "users", "counts users"),
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


def once(then: Any, before: Any, at: int) -> Any:
    return lambda key, user: jnp.where(user == at, then, before)


# A function that is right for every user it is tried for, and what is said when it is not for another.
LATE = [
    (
        {"satisfaction": (jnp.nan, 0.0)},
        "problem.satisfaction.function",
        "finite levels within [-1, 1], got nan",
    ),
    ({"satisfaction": (2.0, 0.0)}, "problem.satisfaction.function", "finite levels within [-1, 1], got 2.0"),
    ({"contexts": (jnp.nan, 0.0)}, "problem.contexts.function", "finite numbers only"),
    ({"contexts": (1e200, 0.0)}, "problem.contexts.function", "norm at most 1, got inf"),
    ({"contexts": (0.6, 0.1)}, "problem.contexts.function", "norm at most 1, got 1.2"),
]


def with_functions(at: int, satisfaction: Any = (0.0, 0.0), contexts: Any = (0.1, 0.1)) -> hrprob.Problem:
    shape = np.ones((2, 4))
    levels = hrprob.LevelFunction(once(*satisfaction, at), low=-1.0, high=1.0)
    return hrprob.Problem(
        theta=THETA,
        phi=PHI,
        satisfaction=levels,
        contexts=hrprob.ContextFunction(lambda key, user: shape * once(*contexts, at)(key, user), actions=2),
    )


@pytest.mark.parametrize(("then", "field", "words"), LATE)
def test_what_a_function_gives_late_is_checked(then: Any, field: str, words: str) -> None:
    problem = with_functions(70, **then)
    error = complaint(lambda: hrprob.simulate(problem, hrprob.Random(), users=80, trials=2))
    assert error.field == field
    assert words in str(error)
    assert "so it is for user 70;" in str(error)


def _gathered(problem: hrprob.Problem) -> Any:
    truths = Truths(np.tile(problem.theta, (2, 1)), np.tile(problem.phi, (2, 1)))
    return gather(problem, hrprob.Random(), truths, users=80, seed=0)


def _covered(problem: hrprob.Problem) -> Any:
    return coverage(problem, hrprob.HRUCB(), users=[10, 80], trials=2)


@pytest.mark.slow
@pytest.mark.parametrize("use", [_gathered, pytest.param(_covered, marks=pytest.mark.study)])
def test_what_a_function_gives_late_is_checked_for_data_sets_and_coverage_too(use: Any) -> None:
    error = complaint(lambda: use(with_functions(70, satisfaction=(jnp.nan, 0.0))))
    assert error.field == "problem.satisfaction.function"
    assert "so it is for user 70;" in str(error)
    use(with_functions(82, satisfaction=(jnp.nan, 0.0)))


@pytest.mark.slow
def test_a_function_is_not_asked_about_users_who_do_not_come() -> None:
    # The last stretch is filled up to the length of the others.
    problem = with_functions(81, satisfaction=(jnp.nan, 0.0))
    result = hrprob.simulate(problem, hrprob.Random(), users=80, trials=2)
    assert np.all(np.isfinite(result.regret))


def test_what_a_function_gives_to_warm_up_users_is_checked() -> None:
    problem = with_functions(0, satisfaction=(jnp.inf, 0.0))
    assert np.all(np.isfinite(hrprob.simulate(problem, hrprob.Random(), users=80, trials=2).regret))
    for use in (
        lambda: hrprob.simulate(problem, hrprob.Greedy(warmup=2), users=80, trials=2),
        lambda: coverage(problem, hrprob.HRUCB(warmup=2), users=[10], trials=2),
    ):
        error = complaint(use)
        assert error.field == "problem.satisfaction.function"
        assert "so it is for warm-up user 0;" in str(error)


@pytest.mark.parametrize(
    ("users", "words"),
    [(3, None), (4, "3 users in contexts.users, repeated"), (9, "3 users in contexts.users, repeated")],
)
def test_a_short_sequence_says_that_it_begins_again(users: int, words: str | None) -> None:
    assert hrprob.ContextSequence(SETS).begins_again(users) == words
    assert hrprob.LevelSequence([0.5]).begins_again(2) == "1 user in satisfaction.levels, repeated"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("level\n1\n", "beta"),
        ("beta\nx\n", "numbers only"),
        ("beta\n1,2\n", "numbers only"),
        ("", "beta"),
        ("\nbeta\n\n0.5\n\nx\n", "line 6"),
        ("beta\n0.5\nnan\n", "got 'nan': line 3 of"),
        ("beta\n-inf\n", "levels.csv needs one finite number"),
        ("beta\n" + 200_000 * "1" + "\n", "CSV file"),
    ],
)
def test_bad_files_of_levels_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "levels.csv"
    path.write_text(text)
    for kind in (hrprob.LevelSequence, hrprob.EmpiricalLevels):
        error = complaint(lambda kind=kind: kind(path))
        assert error.field == "levels"
        assert words in str(error)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("context,action,x1\n1,1,0.5\n", "user, action"),
        ("user,action,x1\n1,1,0.5\n3,1,0.5\n", "every user and action"),
        ("user,action,x1\n1,1,a\n", "line 2"),
        ("\nuser,action,x1\n\n\n1,1,a\n", "line 5"),
    ],
)
def test_bad_files_of_contexts_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "contexts.csv"
    path.write_text(text)
    error = complaint(lambda: hrprob.ContextSequence(path))
    assert error.field == "users"
    assert words in str(error)
