"""What the page on resuming says of the studies is what they recorded."""

import json

import pytest

from tests.cli.example import ROOT

REFERENCE = ROOT / "experiments" / "reference"


@pytest.fixture(scope="module")
def page():
    text = (ROOT / "docs" / "howto" / "keep.md").read_text(encoding="utf-8")
    return " ".join(text.split()).replace("\N{NO-BREAK SPACE}", " ")


def recorded(name):
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def spaced(number):
    return f"{number:,}".replace(",", " ")


def test_killed_and_stopped_commands(page):
    counts = recorded("kills")["counts"]
    for name, one in counts.items():
        assert f"`{name}`" in page
        assert one["repeated to the same bits"]
        assert one["killed and resumed"] == one["with the same bits"] == 50
        assert one["stopped"] == one["with the right exit code"] == 10
    kills = sum(one["kills"] for one in counts.values())
    assert f"killed {kills} times in {50 * len(counts)} runs" in page
    assert f"{10 * len(counts)} further runs" in page


def test_inputs_and_configurations(page):
    facts = recorded("fuzz")
    assert facts["failures"] == []
    played = facts["readers"].pop("played")
    assert facts["inputs"] == sum(
        reader["accepted"] + reader["refused"] for reader in facts["readers"].values()
    )
    assert all(reader["failed"] == 0 for reader in (played, *facts["readers"].values()))
    assert f"{spaced(facts['inputs'])} inputs" in page
    assert (
        f"{spaced(played['played'])} of {spaced(sum(played[end] for end in ('played', 'refused', 'too long')))}"
        in page
    )
