"""Contexts and levels given as sequences: their order, files, and descriptions."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import hrprob
from hrprob._core.random_numbers import WARMUP_USERS
from hrprob._core.records import describe
from hrprob.io import config
from tests.problem.arrived import PHI, SETS, THETA, arrive, complaint


def write_contexts(path: Path, contexts: np.ndarray) -> Path:
    rows = ["user,action," + ",".join(f"x{j + 1}" for j in range(contexts.shape[2]))]
    for user, actions in enumerate(contexts, start=1):
        rows += [f"{user},{a}," + ",".join(map(repr, x.tolist())) for a, x in enumerate(actions, start=1)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_users_meet_a_sequence_in_its_order_and_it_begins_again() -> None:
    levels = [0.5, -1.0, 0.25, 0.1]
    arrived = arrive(
        range(1, 8), contexts=hrprob.ContextSequence(SETS), satisfaction=hrprob.LevelSequence(levels)
    )
    for trial in range(3):
        np.testing.assert_array_equal(arrived.contexts[..., trial], SETS[[0, 1, 2, 0, 1, 2, 0]])
        np.testing.assert_array_equal(arrived.beta[:, trial], np.array(levels)[[0, 1, 2, 3, 0, 1, 2]])
    # The noise is each trial's own.
    assert not np.any(arrived.noise[..., 0] == arrived.noise[..., 1])


def test_warm_up_users_meet_a_sequence_from_its_beginning() -> None:
    users = [WARMUP_USERS, WARMUP_USERS + 1]
    arrived = arrive(users, contexts=hrprob.ContextSequence(SETS))
    np.testing.assert_array_equal(arrived.contexts[..., 0], SETS[:2])


def test_files_and_arrays_give_the_same(tmp_path: Path) -> None:
    path = write_contexts(tmp_path / "contexts.csv", SETS)
    np.testing.assert_array_equal(hrprob.ContextSequence(path).users, SETS)
    (tmp_path / "levels.csv").write_text("beta\n0.5\n-1\n")
    for kind in (hrprob.LevelSequence, hrprob.EmpiricalLevels):
        np.testing.assert_array_equal(kind(tmp_path / "levels.csv").levels, [0.5, -1.0])


def test_a_run_from_files_is_described_and_can_be_repeated(tmp_path: Path) -> None:
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
    resolved = json.loads(json.dumps(config.resolved(experiment)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert resolved["problem"]["contexts"] == {"kind": "sequence", "users": str(path), "sha256": digest}
    assert config.resolved(config.from_data(resolved)) == resolved
    # Another file in its place is noticed.
    write_contexts(path, 0.5 * SETS)
    error = complaint(lambda: config.from_data(resolved))
    assert error.field == "problem.contexts.sha256"
    assert "not the file that was meant" in str(error)


def test_a_long_sequence_is_described_by_its_shape() -> None:
    contexts = np.zeros((500, 2, 4))
    assert describe(hrprob.ContextSequence(contexts)) == {"kind": "sequence", "users": "500 x 2 x 4 numbers"}
    assert describe(hrprob.ContextSequence(SETS))["users"] == SETS.tolist()


@pytest.mark.parametrize(
    ("users", "words"),
    [(3, None), (4, "3 users in contexts.users, repeated"), (9, "3 users in contexts.users, repeated")],
)
def test_a_short_sequence_notes_that_it_repeats(users: int, words: str | None) -> None:
    assert hrprob.ContextSequence(SETS).begins_again(users) == words
    assert hrprob.LevelSequence([0.5]).begins_again(2) == "1 user in satisfaction.levels, repeated"
