"""The answer of a comparison: three ends, with a baseline and over several problems."""

import numpy as np
import pytest

from hrprob.comparison.answer import answer_of
from hrprob.comparison.paired import compare
from hrprob.comparison.report import make_report
from tests.comparison.example import result_of

NOISE = np.random.default_rng(0).normal(size=20)
CLEAR = {"a": 10 + NOISE, "b": 50 - NOISE, "c": 90 + 2 * NOISE}


def test_a_clear_winner_is_a_yes():
    answer = answer_of(compare(result_of(CLEAR)))
    assert (answer.question, answer.answer) == ("Is a the best policy?", "yes")
    assert answer.sentence.startswith("Yes: a loses ")
    assert [(one.name, one.verdict) for one in answer.verdicts] == [("b", "passes"), ("c", "passes")]


def test_a_leader_that_is_not_clearly_better_cannot_be_told_and_says_what_it_takes():
    answer = answer_of(compare(result_of({"a": 10 + NOISE, "b": 10.1 + NOISE[::-1], "c": 90 + NOISE})))
    assert answer.answer == "cannot tell"
    first = answer.verdicts[0]
    assert (first.name, first.verdict) == ("b", "undecided")
    assert "would have been detected" in first.detectable
    assert "trials would detect the one that was seen" in first.detectable


@pytest.mark.parametrize(
    ("rivals", "end"), [(["a", "c"], "yes"), (["c"], "no"), (["c", "same"], "cannot tell")]
)
def test_against_a_baseline(rivals, end):
    regrets = CLEAR | {"same": 50.1 + NOISE}
    answer = answer_of(compare(result_of({name: regrets[name] for name in ["b", *rivals]}), baseline="b"))
    assert (answer.question, answer.answer) == ("Is a policy better than b?", end)
    verdicts = {one.name: one.verdict for one in answer.verdicts}
    assert verdicts["c"] == "fails"
    # What decides comes first.
    assert answer.verdicts[0].verdict == {"yes": "passes", "no": "fails", "cannot tell": "undecided"}[end]


def test_over_problems_one_where_another_is_better_is_a_no():
    data = {
        "one": result_of(CLEAR),
        "two": result_of({"a": 60 + NOISE, "b": 50 - NOISE, "c": 90 + 2 * NOISE}),
    }
    report = make_report({name: compare(one) for name, one in data.items()}, data)
    best = report.ranks[0].policy
    assert report.answer.question == f"Is {best} the best policy on all 2 problems?"
    assert report.answer.answer == "no"
    assert report.to_dict()["answer"]["answer"] == "no"
    same = make_report(
        {"one": compare(data["one"]), "two": compare(data["one"])}, {"one": data["one"], "two": data["one"]}
    )
    assert same.answer.answer == "yes"


def test_over_problems_with_a_baseline_the_answer_is_about_the_baseline():
    data = {"one": result_of(CLEAR), "two": result_of(CLEAR)}
    for baseline, end in (("b", "no"), ("a", "yes")):
        report = make_report({name: compare(one, baseline=baseline) for name, one in data.items()}, data)
        assert report.answer.question == f"Is {baseline} the best policy on all 2 problems?"
        assert report.answer.answer == end
        assert "a has the smallest worst case" in report.answer.sentence
