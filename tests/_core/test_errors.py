"""Messages have three parts: what the field must be, which value it has, and a remedy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number, check_vector


def test_message_has_three_parts() -> None:
    error = InvalidInput("delta", "must lie in (0, 1)", 1.2, "it is a probability")
    assert str(error) == "`delta` must lie in (0, 1), got 1.2: it is a probability"
    assert isinstance(error, ValueError)


def test_a_field_is_named_inside_its_parents() -> None:
    error = InvalidInput("low", "must be a number", "x", "why").within("satisfaction").within("problem")
    assert str(error) == "`problem.satisfaction.low` must be a number, got 'x': why"


def test_long_values_are_shortened() -> None:
    text = str(InvalidInput("x", "must be short", list(range(1000)), "why"))
    assert len(text) < 180
    assert "..." in text


@pytest.mark.parametrize("value", [np.float64(1.5), np.array(1.5)])
def test_arrays_are_shown_as_numbers(value: Any) -> None:
    assert "got 1.5:" in str(InvalidInput("x", "must be whole", value, "why"))


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int64(1), Fraction(1)])
def test_any_real_number_is_accepted(value: Any) -> None:
    number = check_number("x", value, low=0, high=1, remedy="why")
    assert number == 1.0
    assert type(number) is float


@pytest.mark.parametrize("value", [True, "1", None, math.nan, math.inf, -math.inf, 1j, [1.0], np.zeros(1)])
def test_other_values_are_not_numbers(value: Any) -> None:
    with pytest.raises(InvalidInput, match="`x` must be a finite number"):
        check_number("x", value, remedy="why")


@pytest.mark.parametrize(
    ("value", "limits", "must"),
    [
        (0, {"low": 0, "open_low": True}, "must be above 0"),
        (-1, {"low": 0}, "must be at least 0"),
        (0, {"low": 0, "high": 1, "open_low": True}, r"must lie in \(0, 1\]"),
        (1, {"low": 0, "high": 1, "open_high": True}, r"must lie in \[0, 1\)"),
        (2, {"low": 0, "high": 1}, r"must lie in \[0, 1\]"),
    ],
)
def test_values_outside_a_range_are_refused(value: float, limits: dict[str, Any], must: str) -> None:
    with pytest.raises(InvalidInput, match=must):
        check_number("x", value, remedy="why", **limits)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_counts_are_whole_numbers(value: Any) -> None:
    with pytest.raises(InvalidInput, match="`n` must be a whole number of at least 1"):
        check_count("n", value, remedy="why")
    assert check_count("n", np.int32(3), remedy="why") == 3


def test_choices() -> None:
    assert check_choice("kind", "a", ["a", "b"]) == "a"
    for value in ("c", 1, None, ["a"]):
        with pytest.raises(InvalidInput, match="`kind` must be one of 'a', 'b', got"):
            check_choice("kind", value, ["a", "b"])


def test_vectors() -> None:
    vector = check_vector("v", (1, 2), dimension=2, remedy="why")
    assert vector.dtype == np.float64
    assert vector.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("value", "must"),
    [
        ([1, 2, 3], "must have 2 entries"),
        ([], "at least one number"),
        (1.0, "at least one number"),
        ([[1, 2]], "at least one number"),
        ([1, "a"], "must be a list of numbers"),
        ([[1], [1, 2]], "must be a list of numbers"),
        ([1, math.nan], "must hold finite numbers only"),
    ],
)
def test_other_values_are_not_vectors(value: Any, must: str) -> None:
    with pytest.raises(InvalidInput, match=must):
        check_vector("v", value, dimension=2, remedy="why")
