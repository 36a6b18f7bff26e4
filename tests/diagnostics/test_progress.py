"""Steps and their progress bar."""

import sys

from hrprob.diagnostics.progress import Steps


def test_steps_report_their_progress(capsys, monkeypatch):
    said = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Steps(said.append, progress=True, total=2) as steps:
        with steps.step("data sets", 40) as served:
            served(10)
            assert steps._bar.n == 0.25
            served(50)  # the last block may be filled up
            assert steps._bar.n == 1.0
        with steps.step("fits"):
            pass
        assert steps._bar.n == 2.0
    assert [line.split("] ")[1] for line in said] == ["data sets", "fits"]
    assert "data sets" in capsys.readouterr().err
