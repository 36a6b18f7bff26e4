"""A result that prints itself."""

import numpy as np
import pytest

import hrprob
from hrprob.io.summary import summary
from tests.comparison.example import result_of


@pytest.fixture
def result():
    return result_of({"a": np.array([1000.0, 1200.0]), "b": np.array([3.0, 5.0])}, users=2500)


def test_print_and_frame_have_the_numbers(result):
    summed = hrprob.summarise(result)
    head, first, second, caption = str(summed).splitlines()
    assert head.split()[0] == "policy"
    assert "regret at 2\N{NARROW NO-BREAK SPACE}500" in head
    assert "1\N{NARROW NO-BREAK SPACE}100.0 ± 100.0" in first
    assert second.startswith("b")
    assert caption == "Regret in rounds, lifetime in rounds; mean of 2 trials ± standard error."
    frame = summed.to_frame()
    assert frame.regret.tolist() == [1100.0, 4.0]
    assert frame.user.tolist() == [2500, 2500]
    assert "<table>" in summed._repr_html_()
    assert summed.to_latex().startswith(r"\begin{tabular}")
    assert summed.to_latex().endswith(r"mean of 2 trials $\pm$ standard error.}")
    assert summed.to_markdown().endswith(caption)
    assert repr(summed) == "<Summary of 2 policies, 2500 users, 2 trials>"


def test_wrong_beliefs_are_in_the_summary(result):
    assert "misspecified" not in summary(result)["a"]
    result.attrs |= {
        "misspecified": '{"b": {"objective": {"kind": "reward"}}}',
        "problem": '{"objective": {"kind": "lifetime"}}',
    }
    words = "assumes objective = reward: the problem has lifetime"
    assert summary(result)["b"]["misspecified"] == [words]
    assert "misspecified" not in summary(result)["a"]
    assert str(hrprob.summarise(result)).endswith(f"b {words}")
