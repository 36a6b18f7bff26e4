"""Verdicts in words: three ends, and no mark where nothing is decided."""

import hrprob
from hrprob.comparison.estimates import Estimate
from hrprob.io.config import Experiment
from hrprob.reproduce.claims import Claim
from hrprob.reproduce.curves import CurvePoint, CurveVerdict
from hrprob.reproduce.first_user import FirstUser
from hrprob.reproduce.page import CAPTIONS, verdicts_in_words, write_page

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
    assert words.startswith("Panels a, b, c, HR-UCB (K = 5): agrees")
    # The margin is 75.9: [-75.90, ...] would lie on it.
    assert "−75.8999" in words


def test_improbable_first_users_are_called_unexplained():
    words = [text for _, text in verdicts_in_words([], [Claim("c", "s", "holds", "e")], FIRST)]
    assert any("User 1 of LinUCB" in text and "unexplained" in text for text in words)
    assert not any("User 1 of HR-UCB" in text for text in words)


def test_without_claims_nothing_is_judged():
    assert verdicts_in_words([CURVE], [], []) == []


def test_the_caption_of_the_bound_says_which_constants_it_has_and_what_the_computed_ones_are():
    computed = hrprob.HRUCB(radius="paper", c3="computed", c4="computed").bind(hrprob.Problem(), 10)
    constants = computed.width.confidence
    assert "bound of Theorem 3 with C₁ = … = C₄ = 1" in CAPTIONS["index"]
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    for constant in (constants.c3, constants.c4):
        leading, exponent = f"{float(constant):.1e}".split("e+")
        assert f"{leading}·10{exponent.translate(digits)}" in CAPTIONS["index"]


def test_the_page_says_that_margins_were_set_knowing_numbers(tmp_path):
    experiment = Experiment(hrprob.Problem(), {"greedy": hrprob.Greedy()})
    write_page(
        tmp_path / "page.html", [], [Claim("c", "s", "holds", "e")], [], [], tmp_path, False, experiment
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "set by people who had seen some of these numbers" in page
    assert "10 % for linear, 20 % for curves, one third" in page
