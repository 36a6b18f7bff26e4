"""The suite: what its files say, and that one command plays it."""

import json
from importlib import resources

import numpy as np
import pytest

from hrprob import cli
from hrprob.comparison import play
from hrprob.comparison.play import problems
from tests.helpers import make


@pytest.fixture(scope="module")
def suite():
    return problems()


def test_every_problem_says_what_it_tests(suite):
    folder = resources.files("hrprob.experiments") / "suite"
    assert len(suite) >= 12
    for name, experiment in suite.items():
        first = (folder / f"{name}.toml").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# ")
        assert first.endswith(".")
        assert (experiment.users, experiment.trials) == (10000, 20)


def test_nothing_is_tuned_to_a_problem(suite):
    everybody = suite["paper"].policies
    for name, experiment in suite.items():
        # Policies that are defined on one problem only come after those that play all.
        own = {"kl-ulcb"} if name == "one-level" else set()
        assert {policy: experiment.policies[policy] for policy in everybody} == everybody
        assert set(experiment.policies) - set(everybody) == own
    # The paper's variance bound would be tuned to its problem.
    assert all(getattr(policy, "variance_max", None) is None for policy in everybody.values())


def test_problems_differ_as_they_say(suite):
    assert {experiment.problem.dimension for experiment in suite.values()} >= {2, 4, 32}
    phi = {name: np.linalg.norm(suite[name].problem.phi) for name in ("strong-variance", "weak-variance")}
    assert phi["strong-variance"] > 10 * phi["weak-variance"]
    risk = suite["risk"].problem
    # Even along θ* no mean reaches the lowest level.
    assert np.linalg.norm(risk.theta) < risk.satisfaction.low


@pytest.mark.slow
def test_one_command_plays_it(tmp_path, capsys, monkeypatch, suite):
    few = {name: make(name, {}) for name in ("greedy", "linucb", "random")}
    small = {name: suite[name].replace(policies=few) for name in ("one-set", "two-actions")}
    monkeypatch.setattr(play, "problems", lambda: small)
    arguments = ["suite", "--users", "60", "--trials", "3", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 0
    assert "over all problems" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert set(found["problems"]) == set(small)
    assert cli.main(arguments) == 0
    assert "one-set: taken from" in capsys.readouterr().out
    assert cli.main(["suite", "--only", "nothing", "--out", str(tmp_path / "other")]) == 2
    assert "`--only` must be one of one-set, two-actions" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
