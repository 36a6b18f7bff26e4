"""Verdicts in words: three ends, and no mark where nothing is decided."""

import hrprob
from hrprob.comparison.estimates import Estimate
from hrprob.io.config import Experiment
from hrprob.reproduce.claims import Claim
from hrprob.reproduce.curves import CurvePoint, CurveVerdict
from hrprob.reproduce.first_user import FirstUser
from hrprob.reproduce.page import CAPTIONS, answer_of, write_page

POINT = CurvePoint("a", "hr-ucb-k5", 29001, 379.5, 361.2, 17.0, -0.76, 0.45)
CURVE = CurveVerdict(
    ["a", "b", "c"], "hr-ucb-k5", "holds", [POINT], Estimate(-18.3, 24.0, -75.8999, 32.0), False, False
)
FIRST = [FirstUser("linucb", 1.4765, 0.84, 0.0015), FirstUser("hr-ucb-k5", 1.6085, 1.01, 0.2)]


def test_each_end_has_its_verdict_and_one_fail_answers_no():
    claims = [Claim("c", "s", verdict, "e") for verdict in ("holds", "fails", "undecided")]
    answer = answer_of([CURVE, CURVE._replace(verdict="undecided")], claims)
    assert answer.question == "Do the paper's curves and claims hold?"
    assert answer.sentence == "No: 1 of 5 curves and claims fails (c (s)); 2 pass, 2 are undecided."
    assert [one.verdict for one in answer.verdicts] == ["fails", "undecided", "undecided", "passes", "passes"]
    assert "agreement would be an interval within" in answer.verdicts[1].detectable


def test_a_curve_is_judged_once_and_its_interval_is_not_rounded_across_the_margin():
    one, _ = answer_of([CURVE], [Claim("c", "s", "holds", "e")]).verdicts
    assert str(one).startswith("✓ Panels a, b, c, HR-UCB (K = 5): agrees")
    # The margin is 75.9: [-75.90, ...] would lie on it.
    assert "−75.8999" in one.statement


def test_improbable_first_users_are_called_unexplained(tmp_path):
    page = written(tmp_path, [CURVE], [Claim("c", "s", "holds", "e")], FIRST)
    assert "User 1 of LinUCB" in page
    assert "unexplained" in page
    assert "User 1 of HR-UCB" not in page


def test_without_claims_nothing_is_judged(tmp_path):
    answer = answer_of([CURVE], [])
    assert (answer.answer, answer.verdicts) == ("cannot tell", [])
    assert "too small to decide anything" in written(tmp_path, [CURVE], [], [])


def test_the_caption_of_the_bound_says_which_constants_it_has_and_what_the_computed_ones_are():
    computed = hrprob.HRUCB(radius="paper", c3="computed", c4="computed").bind(hrprob.Problem(), 10)
    constants = computed.width.confidence
    assert "bound of Theorem 3 with C₁ = … = C₄ = 1" in CAPTIONS["index"]
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    for constant in (constants.c3, constants.c4):
        leading, exponent = f"{float(constant):.1e}".split("e+")
        assert f"{leading}·10{exponent.translate(digits)}" in CAPTIONS["index"]


def written(folder, curves, claims, first_users):
    """The page of a reproduction without figures."""
    experiment = Experiment(hrprob.Problem(), {"greedy": hrprob.Greedy()})
    write_page(folder / "page.html", curves, claims, first_users, [], folder, False, experiment)
    return (folder / "page.html").read_text(encoding="utf-8")


def test_the_answer_comes_first_and_the_page_says_that_margins_were_set_knowing_numbers(tmp_path):
    page = written(tmp_path, [], [Claim("c", "s", "holds", "e")], [])
    assert page.index("<h1>") < page.index("Yes: the only") < page.index("<h2")
    assert "set by people who had seen some of these numbers" in page
    assert "10 % for linear, 20 % for curves, one third" in page
