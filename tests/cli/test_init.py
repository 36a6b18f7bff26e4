"""``hrprob init``: a configuration to start from."""

import json
import re
import tomllib

import pytest

from hrprob.io import config
from hrprob.policies import POLICIES
from hrprob.problem.parts import PARTS


@pytest.fixture
def written(call, tmp_path):
    status, out, err = call("init")
    assert (status, err) == (0, "")
    assert "hrprob run experiment.toml" in out
    return tmp_path / "experiment.toml"


def test_it_is_the_default_problem_with_some_policies(written):
    experiment = config.read(written)
    assert list(experiment.policies) == ["HR-UCB", "Thompson", "Greedy", "LinUCB"]
    assert (experiment.users, experiment.trials, experiment.seed) == (2000, 20, 0)


def test_every_comment_that_sets_a_parameter_is_one_that_can_be_set(written, tmp_path):
    """With the comment signs of all defaults removed, the file makes the same experiment."""
    text = written.read_text(encoding="utf-8")
    assert "# delta = 0.1\n" in text
    uncommented = re.sub(r"^# (\w+ = (?!\.\.\.).*)$", r"\1", text, flags=re.M)
    assert uncommented.count("\ndelta = 0.1\n") == 1
    (tmp_path / "all.toml").write_text(uncommented, encoding="utf-8")
    assert config.resolved(config.read(tmp_path / "all.toml")) == config.resolved(config.read(written))


def test_every_key_and_kind_is_named(written):
    text = written.read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    for part, registry in PARTS.items():
        for kind in registry:
            assert kind in text, (part, kind)
    for table in tables["policy"]:
        section = text.partition(f'kind = "{table["kind"]}"')[2].partition("[[policy]]")[0]
        for parameter in POLICIES.describe(table["kind"])[0].parameters:
            assert f"# {parameter.name} = " in section


def test_a_file_that_exists_stays(call, written):
    before = written.read_text(encoding="utf-8")
    status, out, err = call("init")
    assert (status, out) == (2, "")
    assert "`FILE` must be a new file, got 'experiment.toml'" in err
    assert written.read_text(encoding="utf-8") == before
    for name in ("no/such/folder.toml", "a" * 5000):
        status, _, err = call("init", name)
        assert status == 2
        assert "`FILE` must be a file that can be written" in err


@pytest.mark.slow
def test_it_is_played(call, written):
    status, out, _ = call("run", written, "--users", 40, "--trials", 2, "--json")
    assert status == 0
    assert list(json.loads(out)["result"]) == ["HR-UCB", "Thompson", "Greedy", "LinUCB"]
