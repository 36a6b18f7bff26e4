"""Who won, in a sentence with three ends, and the tables of a comparison."""

import numpy as np
import pytest
from scipy import stats

from hrprob._core.errors import InvalidInput
from hrprob.comparison.paired import compare
from tests.comparison.example import result_of

NOISE = np.random.default_rng(0).normal(size=20)


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_a_clear_winner():
    comparison = compare(result_of({"HR-UCB": 380 + NOISE, "greedy": 240 + 2 * NOISE}, users=30_000))
    words = plain(comparison.headline)
    assert words.startswith("greedy loses 140.18 [139.77, 140.59] rounds less")
    assert words.endswith("rounds less than HR-UCB in 30 000 users (20 trials, 95 % interval, p < 0.001).")


def test_the_second_of_several_is_named():
    comparison = compare(result_of({"a": 10 + NOISE, "b": 50 - NOISE, "c": 90 + 2 * NOISE}))
    assert "than b, the second of 3 policies, in 1 000 users" in plain(comparison.headline)
    assert "significantly better than each of the others" in comparison.headline


def test_no_winner_says_what_would_have_been_detected():
    comparison = compare(result_of({"a": 10 + NOISE, "b": 10.1 + NOISE[::-1]}))
    (pair,) = comparison.pairs
    # By the definition of power: with this difference, a t-test at 5 % is significant with probability 0.8 (about).
    difference = comparison.detectable(pair)
    se = pair.difference.se
    assert stats.nct.sf(stats.t.isf(0.025, 19), 19, difference / se) == pytest.approx(0.8, abs=0.01)
    words = plain(comparison.headline)
    assert words.startswith("a and b are not significantly different in 1 000 users: a loses 0.1 [")
    assert (
        f"a difference of more than {np.ceil(difference * 1000) / 1000:.4g} rounds would have been detected"
        in words
    )


def test_a_leader_may_be_better_than_some_only():
    comparison = compare(result_of({"a": 10 + NOISE, "b": 10.1 + NOISE[::-1], "c": 90 + NOISE}))
    words = comparison.headline
    assert words.startswith("No single winner")
    assert "not significantly different from b." in words
    assert "significantly better than c." in words


def test_against_a_baseline_every_policy_has_its_end():
    regrets = {"a": 10 + NOISE, "base": 50 - NOISE, "b": 50.1 + NOISE, "c": 90 + 2 * NOISE}
    words = plain(compare(result_of(regrets), baseline="base").headline)
    assert words.startswith("Compared with base in 1 000 users (20 trials, 95 % intervals): a loses ")
    less, same, more = words.split("; ", 1)[0], words, words.rsplit("; ", 1)[1]
    assert less.endswith("rounds less")
    assert "b is not significantly different (it loses" in same
    assert more.startswith("c loses")
    assert more.endswith("rounds more.")


def test_against_a_baseline_many_policies_are_counted():
    regrets = {"base": 50 - NOISE, "a": 10 + NOISE, "b": 50.1 + NOISE, "noisy": 50 + 9 * NOISE}
    comparison = compare(
        result_of(regrets | dict.fromkeys(("c", "d", "e", "f", "g"), 90 + 2 * NOISE)), baseline="base"
    )
    words = plain(comparison.headline)
    assert words.startswith("Of 8 policies compared with base in 1 000 users (20 trials, Holm-corrected): ")
    assert ": 1 is significantly better (a); 5 are significantly worse (c, d, e, f and 1 more); " in words
    assert "2 are not significantly different (" in words
    # The statement holds of both: it names the larger of their detectable differences.
    larger = comparison.detectable(comparison.pair("noisy", "base"))
    assert larger > comparison.detectable(comparison.pair("b", "base"))
    assert f"more than {np.ceil(larger * 100) / 100:.3g} rounds would have been detected" in words


def test_one_trial_decides_nothing():
    comparison = compare(result_of({"a": np.array([1.0]), "b": np.array([9.0])}))
    assert "1 trial cannot detect any difference" in comparison.headline


def test_tables_have_the_numbers_in_every_form():
    comparison = compare(result_of({"a_1": 10 + NOISE, "b": 50 - NOISE}))
    standings, pairs = comparison.to_frame(), comparison.to_frame("pairs")
    assert standings.policy.tolist() == ["a_1", "b"]
    assert standings.regret.tolist() == pytest.approx([np.mean(10 + NOISE), np.mean(50 - NOISE)])
    assert pairs.difference[0] == comparison.pairs[0].difference.mean
    assert pairs.different[0]
    assert r"a\_1 & " in comparison.to_latex()
    assert comparison.to_latex().count(r"\\") == 3
    assert comparison.to_markdown("pairs").splitlines()[2].startswith("| a_1 | b | −")
    assert str(comparison).startswith(comparison.headline)
    assert "<table>" in comparison._repr_html_()
    assert "array" not in repr(comparison)
    for wrong in (comparison.to_frame, comparison.to_latex):
        with pytest.raises(InvalidInput, match="table"):
            wrong("everything")


def test_every_column_is_defined():
    comparison = compare(result_of({"a": 10 + NOISE, "b": 50 - NOISE}))
    for name in ("summary", "standings", "pairs"):
        table = comparison._table(name)
        unnamed = {"policy", "compared with"}
        assert set(table.header) - unnamed == set(table.meanings)
        assert all(table.meanings.values())


def test_verdicts_name_the_better_policy():
    comparison = compare(result_of({"a": 10 + NOISE, "b": 50 - NOISE, "c": 10.1 + NOISE[::-1]}))
    verdicts = {tuple(row[:2]): row[-1] for row in comparison._table("pairs").rows}
    assert verdicts["a", "b"] == "a is better"
    assert verdicts["a", "c"].startswith("not significantly different (more than ")


def test_wrong_beliefs_are_marked_and_explained():
    result = result_of({"a": 10 + NOISE, "b": 50 - NOISE})
    result.attrs |= {
        "misspecified": '{"b": {"noise": {"kind": "student-t"}}}',
        "problem": '{"noise": {"kind": "normal"}}',
    }
    comparison = compare(result)
    assert comparison.to_dict()["misspecified"] == {
        "b": ["assumes noise = student-t: the problem has normal"]
    }
    assert "b †" in str(comparison)
    assert "† b assumes noise = student-t: the problem has normal." in str(comparison)
    assert comparison.to_latex().endswith(
        r"\par{\footnotesize $\dagger$ b assumes noise = student-t: the problem has normal.}"
    )
    *_, table, caption, note = comparison.to_markdown().split("\n\n")
    assert table.endswith("|")
    assert caption.endswith("± standard error; differences are paired by trial.")
    assert note == "† b assumes noise = student-t: the problem has normal."
    right = result_of({"a": 10 + NOISE, "b": 50 - NOISE})
    assert (
        comparison.headline
        == f"{compare(right).headline} b assumes noise = student-t: the problem has normal."
    )
