"""``hrprob compare``: tables for a paper, alone on stdout."""

import json

import pytest

from tests.cli.example import FEW, SMALL


@pytest.fixture
def folder(call, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL + '[[policy]]\nkind = "greedy"\n', encoding="utf-8")
    assert call("run", "small.toml", *FEW)[0] == 0
    return tmp_path / "results" / "run" / "small"


def test_a_table_for_a_paper_stands_alone(call, folder):
    status, out, err = call("compare", folder, "--table", "latex")
    assert status == 0
    lines = out.strip().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrr}"
    assert r"\par{\footnotesize Regret in rounds at user 40, 2 trials, $\pm$ standard error" in lines[-1]
    assert "report in results/compare/small/report.html" in err
    status, out, err = call("compare", folder, "--table", "markdown", "--quiet")
    assert (status, out, err) == (0, "", "")
    status, out, _ = call("compare", folder, "--table", "markdown")
    rows = out.strip().splitlines()
    assert rows[0].startswith("| policy | regret |")
    assert "± standard error" in rows[-1]
    assert call("compare", folder)[1].startswith("\nIs ")


def test_tables_of_several_results_are_named(call, folder, tmp_path):
    text = (tmp_path / "small.toml").read_text(encoding="utf-8")
    (tmp_path / "other.toml").write_text(text.replace("0.6", "0.5", 1), encoding="utf-8")
    assert call("run", "other.toml", *FEW)[0] == 0
    folders = [folder, folder.with_name("other")]
    status, out, _ = call("compare", *folders, "--table", "latex")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("%")] == ["% small", "% other"]
    status, out, _ = call("compare", *folders, "--table", "markdown")
    assert (status, out.splitlines()[0]) == (0, "<!-- small -->")
    status, out, _ = call("compare", *folders, "--table", "latex", "--json")
    assert (status, sorted(json.loads(out))) == (0, ["notes", "out", "result"])
