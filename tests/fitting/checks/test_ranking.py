"""What a ranking says in words."""

import pytest

from hrprob.fitting.checks.ranking import Ranked, Ranking

FIRST = Ranked("mixture", -100.0, 0.0, 0.0, -101.0, 0.0, 0.0, 0.0)
FAR = Ranked("gaussian", -160.0, 60.0, 21.0, -150.0, 49.0, 9.0, 0.0)
NEAR = Ranked("student-t", -101.5, 1.5, 1.0, -102.0, 1.0, 1.0, 0.0)
# Without a prequential score, leave-one-out decides.
UNSCORED = Ranked("by-site", None, None, None, -103.0, 2.0, 1.5, 0.0)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([FAR], "mixture predicts best, by more than two standard errors ahead of every other model."),
        (
            [NEAR],
            "mixture comes first, but not clearly before student-t (behind by 1.5\xa0±\xa01.0): a difference ",
        ),
        ([NEAR, FAR], "undecided; it is clearly ahead of every other model."),
        ([UNSCORED], "not clearly before by-site (behind by 2.0\xa0±\xa01.5)"),
    ],
)
def test_the_sentence_names_the_models_that_are_not_clearly_behind(rows, words):
    sentence = Ranking([FIRST, *rows]).sentence
    assert words in sentence
    assert "gaussian" not in sentence
