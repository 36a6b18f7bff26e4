"""What the manifest says."""

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io import manifest
from hrprob.io.config import from_data
from tests.io.example import USERS, load


def test_the_manifest_says_how_to_repeat_the_run(folder, experiment):
    facts = load(folder / "manifest.json")
    assert repr(from_data(facts["configuration"])) == repr(experiment)
    assert facts["seed"] == 3
    assert facts["versions"]["hrprob"] == hrprob.__version__
    assert set(facts["versions"]) == {"python", "hrprob", "jax", "jaxlib", "numpy", "numpyro", "xarray"}
    assert facts["thinning"] == {"keep": "auto", "step": 1, "users": USERS, "rule": "every user"}
    assert (facts["wall_seconds"], facts["cpu_seconds"]) == (1.5, 2.0)
    assert facts["command"] == ["hrprob", "run"]


def test_without_a_repository_there_is_no_revision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert manifest._git_revision() is None
    monkeypatch.setenv("PATH", "")
    assert manifest._git_revision() is None


@pytest.mark.parametrize("content", ["7", "[]", '"text"', "{}", '{"versions": 1}'])
def test_a_manifest_that_is_no_table_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InvalidInput, match="it is no table of facts"):
        manifest.read_manifest(tmp_path)


def test_changes_that_git_cannot_tell_are_not_known(tmp_path, monkeypatch):
    """As when it takes too long; what is stopped then must not have locked the user's repository."""
    git = tmp_path / "git"
    said = tmp_path / "said"
    git.write_text(f'#!/bin/sh\necho "$@" >> "{said}"\ncase "$2" in rev-parse) echo abc;; *) exit 1;; esac\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert manifest._git_revision() == {"revision": "abc", "changed": None}
    assert all(line.startswith("--no-optional-locks ") for line in said.read_text().splitlines())
