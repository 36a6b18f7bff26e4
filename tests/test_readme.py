"""The README's Python example runs as a reader would run it, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.slow
def test_the_example_runs_and_draws(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(block, str(README), "exec"), {})
    printed = capsys.readouterr().out
    assert "HR-UCB" in printed
    assert "greedy" in printed
    assert (tmp_path / "regret.png").stat().st_size > 1000


def test_links_lead_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", README.read_text(encoding="utf-8"))
    assert len(links) > 5
    for link in links:
        assert (README.parent / link).exists(), link


def test_it_is_a_front_page():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 110
