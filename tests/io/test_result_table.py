"""Tables in text, Markdown, LaTeX and HTML."""

import numpy as np

from hrprob.io.page import Report
from hrprob.io.result_table import ResultTable, frame_of

TABLE = ResultTable(
    ["policy", "regret", "verdict"],
    [["σ_max-UCB | 5%", 1173.6, "worse"], ["<b>", -2.0, ""], ["none", None, "[−1, 2]"]],
    "What it shows, -5 of 30,000.",
    {"regret": "Mean & error."},
)


def test_latex_escapes_everything_that_it_would_read():
    text = TABLE.to_latex()
    assert r"$\sigma$\_max-UCB | 5\% & 1\,174 & worse \\" in text
    assert r"$<$b$>$ & $-$2 &  \\" in text
    assert text.startswith(r"\begin{tabular}{lrr}")


def test_markdown_keeps_its_columns():
    lines = TABLE.to_markdown().splitlines()
    assert lines[1] == "|:--|--:|--:|"
    assert lines[2].startswith(r"| σ_max-UCB \| 5% | 1")


def test_html_escapes_and_aligns():
    text = TABLE.to_html()
    assert "<b>" not in text
    assert '<th class="number">regret</th><th>verdict</th>' in text
    assert '<td class="number">−2</td>' in text
    assert '<td class="number">[−1, 2]</td>' in text


def test_a_page_defines_columns_and_gives_the_answer_first():
    page = Report("Who?", "Lead.", first="a won. It was close.")
    page.result_table(TABLE)
    page.table(["x"], [["y"]], good=[False])
    text = page.render()
    assert text.index("a won.") < text.index("It was close.") < text.index("Lead.")
    assert "<dt>regret</dt><dd>Mean &amp; error.</dd>" in text
    assert "−5 of 30\N{NARROW NO-BREAK SPACE}000" in text
    assert '<tr class="bad">' in text


def test_frames_have_numbers():
    frame = frame_of([{"policy": "a", "regret": 1.5}, {"policy": "b", "regret": np.nan}])
    assert frame.policy.tolist() == ["a", "b"]
    assert frame.regret.dtype == float
