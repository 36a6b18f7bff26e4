"""Verdicts in words: three ends, and no mark where nothing is decided."""

from hrprob.comparison.estimates import Estimate
from hrprob.reproduce.claims import Claim
from hrprob.reproduce.curves import CurvePoint, CurveVerdict
from hrprob.reproduce.first_user import FirstUser
from hrprob.reproduce.page import verdicts_in_words

POINT = CurvePoint("a", "hr-ucb-k5", 29001, 379.5, 361.2, 17.0, -0.76, 0.45)
CURVE = CurveVerdict(
    ["a", "b", "c"], "hr-ucb-k5", "holds", [POINT], Estimate(-18.3, 24.0, -75.8999, 32.0), False, False
)
FIRST = [FirstUser("linucb", 1.4765, 0.84, 0.0015), FirstUser("hr-ucb-k5", 1.6085, 1.01, 0.2)]


def test_each_end_has_its_mark():
    claims = [Claim("c", "s", verdict, "e") for verdict in ("holds", "fails", "undecided")]
    words = verdicts_in_words([CURVE, CURVE._replace(verdict="undecided")], claims, FIRST)
    assert [good for good, _ in words] == [True, None, None, True, False, None]


def test_a_curve_is_judged_once_and_its_interval_is_not_rounded_across_the_margin():
    (_, words), *_ = verdicts_in_words([CURVE], [Claim("c", "s", "holds", "e")], [])
    assert words.startswith("Panels a, b, c, hr-ucb-k5: agrees")
    # The margin is 75.9: [-75.90, ...] would lie on it.
    assert "-75.8999" in words


def test_improbable_first_users_are_called_unexplained():
    words = [text for _, text in verdicts_in_words([], [Claim("c", "s", "holds", "e")], FIRST)]
    assert any("User 1 of linucb" in text and "unexplained" in text for text in words)
    assert not any("User 1 of hr-ucb-k5" in text for text in words)


def test_without_claims_nothing_is_judged():
    assert verdicts_in_words([CURVE], [], []) == []
