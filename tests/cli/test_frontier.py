"""``hrprob frontier``: what it prints, what it leaves, what it refuses."""

import json

import pytest

from tests.cli.example import SMALL


@pytest.fixture
def file(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    return "small.toml"


@pytest.mark.slow
def test_a_frontier_is_played(call, tmp_path, file):
    sizes = ("--users", 300, "--trials", 4)
    status, out, _ = call("frontier", file, *sizes, "--scales", "--radii", "--json")
    assert status == 0
    printed = json.loads(out)
    folder = tmp_path / "results" / "frontier" / "small"
    assert printed["result"] == json.loads((folder / "frontier.json").read_text(encoding="utf-8"))
    assert list(printed["result"]["policies"]) == ["Zufall ±", "oracle"]
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert sorted(facts["files"]) == sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("options", "field"),
    [(("--level", "1.5"), "--level"), (("--scales", "-1"), "--scales"), (("--radii", "2", "2"), "--radii")],
)
def test_what_is_refused(call, tmp_path, file, options, field):
    status, out, err = call("frontier", file, "--users", 5, "--trials", 2, *options)
    assert (status, out) == (2, "")
    assert f"`{field}` must" in err
    assert not (tmp_path / "results").exists()
