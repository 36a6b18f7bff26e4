"""docs/explanation/equations.md names tests that exist, functions that exist and the keys of the report."""

import re
from pathlib import Path

import hrprob
from hrprob.theory import INEQUALITIES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "explanation" / "equations.md").read_text(encoding="utf-8")


def test_tests_and_files_exist():
    for name in re.findall(r"`((?:tests|estimation|hrprob)/[\w/.]+)`", TEXT):
        assert (ROOT / name).exists() or (ROOT / "hrprob" / name).exists(), name


def test_every_inequality_is_in_the_table():
    named = {key for key in re.findall(r"`([\w-]+)`", TEXT) if re.match(r"(lemma|theorem|theta|phi)-", key)}
    assert named == {one.key for one in INEQUALITIES}


def test_methods_of_the_sets_exist():
    for name in re.findall(r"`ConfidenceSets\.(\w+)`", TEXT):
        assert hasattr(hrprob.ConfidenceSets, name)
