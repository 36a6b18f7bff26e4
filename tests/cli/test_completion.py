"""Completion in the shell, as the shell asks for it."""

import os
import subprocess
import sys

import pytest

from tests.cli.example import ROOT

pytest.importorskip("argcomplete")


def completions(line, tmp_path):
    """Return what argcomplete answers to a line that ends at the cursor."""
    answer = tmp_path / "answer"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'hrprob'; from hrprob.cli import main; main()",
    ]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return answer.read_text().split()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("hrprob dia", ["diagnose"]),
        ("hrprob run --tri", ["--trials"]),
        ("hrprob describe no", ["noises"]),
        ("hrprob describe noises stu", ["student-t"]),
        ("hrprob policies linu", ["linucb"]),
    ],
)
def test_commands_options_and_kinds_are_completed(line, wanted, tmp_path):
    assert completions(line, tmp_path) == wanted
