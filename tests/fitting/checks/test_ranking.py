"""What a ranking says in words."""

import pytest

from hrprob.fitting.checks.ranking import Ranked, Ranking

FIRST = Ranked("mixture", -100.0, 0.0, 0.0, -101.0, 0.0, 0.0, 0.0)
FAR = Ranked("gaussian", -104.1, 4.1, 2.0, -150.0, 49.0, 9.0, 0.0)
NEAR = Ranked("student-t", -103.9, 3.9, 2.0, -102.0, 1.0, 1.0, 0.0)
# Without a prequential score, leave-one-out decides.
UNSCORED = Ranked("by-site", None, None, None, -103.0, 2.0, 1.5, 0.0)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([FAR], "mixture predicts best: every other model is behind by more than two standard errors."),
        (
            [NEAR],
            "mixture comes first. Behind it by less than two standard errors, which decides nothing: student-t.",
        ),
        (
            [NEAR, FAR],
            "mixture comes first. Behind it by more than two standard errors: gaussian. By less, which decides nothing: student-t.",
        ),
        (
            [UNSCORED],
            "mixture comes first. Behind it by less than two standard errors, which decides nothing: by-site.",
        ),
    ],
)
def test_the_sentence_names_what_is_clearly_behind_and_what_is_not(rows, words):
    ranking = Ranking([FIRST, *rows])
    assert ranking.sentence == words
    assert "± its standard error" in ranking.as_table().caption
