"""Contexts and levels from CSV files, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.problem import read_context_sets


def write(folder: Path, text: str) -> Path:
    path = folder / "sets.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_sets_from_a_file_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path, "context, action, x1, x2\n2,1,.5,.6\n1,2,.3,.4\n1,1,.1,.2\n2,2,.7,.1\n\n")
    expected = [[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.1]]]
    assert read_context_sets(path).tolist() == expected
    assert hrprob.Finite(str(path)).sets.tolist() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns"),
        ("context,action\n1,1\n", "must have the columns"),
        ("set,action,x1\n1,1,0\n", "must have the columns"),
        ("context,action,x2\n1,1,0\n", "must have the columns"),
        ("context,action,x1\n", "one row for every context and action"),
        ("context,action,x1\n1,1,one\n", "line 2 of"),
        ("context,action,x1\n1,1\n", "line 2 of"),
        ("context,action,x1\n1,1,0\n2,1,nan\n", "got '2,1,nan': line 3 of"),
        ("context,action,x1\n1,1,inf\n", "needs two whole numbers and 1 finite numbers"),
        ("context,action,x1\n1,1,0\n1.5,1,0\n", "line 3 of"),
        ("context,action,x1\n1,1,0\n2,2,0\n", "one row for every context and action"),
        ("context,action,x1\n1,1,0\n1,1,0\n", "one row for every context and action"),
        ("context,action,x1\n0,1,0\n", "one row for every context and action"),
    ],
)
def test_bad_files_of_context_sets_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_context_sets(write(tmp_path, text))


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be a file that can be read"):
        read_context_sets(tmp_path / "nowhere.csv")
    (tmp_path / "latin.csv").write_bytes(b"context,action,x1\n1,1,\xff\n")
    with pytest.raises(InvalidInput, match="not UTF-8 text"):
        read_context_sets(tmp_path / "latin.csv")


def complaint(make: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        make()
    return caught.value


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
