"""The numbers in texts are those that were recorded, and none is there that nobody recorded."""

import json

import pytest

from hrprob.fitting.checks.base import FALSE_ALARMS
from tests.quoted.formats import FORMATS
from tests.quoted.texts import Text, problems, records, rewritten, texts, value

RECORDED = {
    "run": {
        "values": {
            "regret": {"mean": 1363.4, "se": 17.2, "low": -10.2, "high": 68.0},
            "best": "greedy",
            "radii": [8.4, 10.6],
        }
    }
}
QUOTES = [
    "HR-UCB ends at {run:regret:pm0} and the other {run:regret:ci0}",
    "first is {run:best:name} with {run:radii/1:n1}",
]
TRUE = "With 20 trials HR-UCB ends at\n1 363 ± 17 and the other 1 363 [−10, 68]; the first is `greedy` with\n10.6.\n"
STALE = "With 20 trials HR-UCB ends at\n1 401 ± 9 and the other 7 [1, 3]; the first is `linucb` with\n2.0.\n"


@pytest.fixture
def text(tmp_path):
    def make(written, quotes=tuple(QUOTES)):
        path = tmp_path / "text.md"
        path.write_text(written, encoding="utf-8")
        return Text(path, list(quotes), [r"\d+ trials"])

    return make


@pytest.mark.parametrize("checked", texts(), ids=lambda text: text.name)
def test_texts_have_the_recorded_numbers_and_no_others(checked):
    """`python -m tests.quoted refresh` mends it; CONTRIBUTING.md says how."""
    assert problems(checked, records()) == []


@pytest.mark.parametrize("checked", texts(), ids=lambda text: text.name)
def test_rewriting_changes_nothing(checked):
    assert rewritten(checked, records()) == checked.read()


def test_the_measured_rate_of_false_alarms_is_the_recorded_one():
    total = records()["checks"]["values"]["sound"]["total"]
    assert {int(users): (one["no"], one["pages"]) for users, one in total.items()} == FALSE_ALARMS


def test_every_record_says_where_it_comes_from():
    for name, record in records().items():
        assert record["what"], name
        assert record["command"], name
        assert record["version"], name
        json.dumps(record["values"], allow_nan=False)


def test_what_is_true_passes(text):
    assert problems(text(TRUE), RECORDED) == []


def test_a_number_that_moved_is_found_and_mended(text):
    assert len(problems(text(STALE), RECORDED)) > 1
    assert rewritten(text(STALE), RECORDED) == TRUE


@pytest.mark.parametrize("more", ["It costs 0.85 more.", "Another has 412 ± 3.", "That is .3 or −7."])
def test_a_number_that_nobody_recorded_is_found(text, more):
    (found, *_) = problems(text(TRUE + more), RECORDED)
    assert "text.md:4" in found


def test_code_and_links_are_not_looked_at(text):
    assert problems(text(TRUE + "`x = 0.3` [a](b-0.4.md)\n\n```\n7\n```\n"), RECORDED) == []


def test_a_digit_more_is_another_number(text):
    longer = TRUE.replace("10.6.", "10.61.")
    assert problems(text(longer), RECORDED)


def test_what_is_not_recorded_yet_reads_so_and_is_filled_in_later(text):
    waiting = rewritten(text(STALE), {})
    assert "ends at\n? and the other ?; the first is ? with\n?." in waiting
    assert problems(text(waiting), {}) == []
    assert rewritten(text(waiting), RECORDED) == TRUE


def test_values_are_found_by_path():
    assert value(RECORDED, "run", "radii/0") == 8.4


@pytest.mark.parametrize(
    ("format", "entry", "text"),
    [
        # Both are near the value that they are compared with, and on a side of it.
        ("ratio2", {"mean": 1.1617, "low": 1.0017, "high": 1.3472}, "1.162 [1.002, 1.347]"),
        ("ci0", {"mean": -21.6, "low": -41.3, "high": -0.3}, "−21.6 [−41.3, −0.3]"),
        ("ci0", {"mean": -21.6, "low": -41.3, "high": 2.3}, "−22 [−41, 2]"),
        ("neg0", {"mean": -21.6, "low": -41.3, "high": -0.3}, "21.6 [0.3, 41.3]"),
    ],
)
def test_no_interval_is_rounded_across_the_value_that_it_is_compared_with(format, entry, text):
    assert FORMATS[format](entry) == text
