"""The suite: what its files say, and that one command plays it."""

import json
from collections import Counter
from importlib import resources

import numpy as np
import pytest

from hrprob import cli
from hrprob.comparison import play
from hrprob.comparison.held_out import SIZES, held_out_problems
from hrprob.comparison.play import problems
from tests.helpers import make

RELEASED = "hr-ucb-released"


@pytest.fixture(scope="module")
def suite():
    return problems()


def test_every_problem_says_what_it_tests(suite):
    folder = resources.files("hrprob.experiments") / "suite"
    assert len(suite) >= 12
    everything = problems(large=True)
    assert set(everything) - set(suite) == {"d32"}
    for name, experiment in everything.items():
        file = folder / f"{name}.toml" if name in suite else folder / "large" / f"{name}.toml"
        first = file.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# ")
        assert first.endswith(".")
        assert (experiment.users, experiment.trials) == (5000, 20)


def test_nothing_is_tuned_to_a_problem(suite):
    everybody = {name: policy for name, policy in suite["paper"].policies.items() if name != RELEASED}
    for name, experiment in suite.items():
        # Policies that are defined on one problem only come after those that play all.
        own = {"kl-ulcb"} if name == "one-level" else set()
        assert {policy: experiment.policies[policy] for policy in everybody} == everybody
        assert set(experiment.policies) - set(everybody) == own | {RELEASED}
    # The paper's variance bound would be tuned to its problem.
    assert all(getattr(policy, "variance_max", None) is None for policy in everybody.values())


@pytest.mark.parametrize("draw", ["suite", "random"])
def test_hr_ucb_stands_there_as_released_too(suite, draw):
    """With the norm of φ* of each problem; in the paper's setting and for its 30 000 users ξ is 26.03."""
    for experiment in (suite if draw == "suite" else play.random_problems(3)).values():
        released, bounds = (experiment.policies[name] for name in (RELEASED, "hr-ucb-from-bounds"))
        assert (released.growth, released.warmup, released.radius) == (5, 5, "released")
        norm = np.linalg.norm(experiment.problem.phi)
        assert released.variance_max == pytest.approx(float(experiment.problem.link(norm)))
        assert (bounds.growth, bounds.warmup, bounds.variance_max) == (5, 0, None)
    paper = suite["paper"]
    assert paper.policies[RELEASED].bind(paper.problem, 30000).width.value == pytest.approx(26.03, abs=0.005)


def test_problems_differ_as_they_say(suite):
    everything = problems(large=True)
    assert {experiment.problem.dimension for experiment in everything.values()} >= {2, 4, 8, 32}
    phi = {name: np.linalg.norm(suite[name].problem.phi) for name in ("strong-variance", "weak-variance")}
    assert phi["strong-variance"] > 10 * phi["weak-variance"]
    risk = suite["risk"].problem
    # Even along θ* no mean reaches the lowest level.
    assert np.linalg.norm(risk.theta) < risk.satisfaction.low


@pytest.mark.slow
def test_one_command_plays_it(tmp_path, capsys, monkeypatch, suite):
    few = {name: make(name, {}) for name in ("greedy", "linucb", "random")}
    small = {name: suite[name].replace(policies=few) for name in ("one-set", "two-actions")}
    monkeypatch.setattr(play, "problems", lambda *, large=False: small)
    arguments = ["suite", "--users", "60", "--trials", "3", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 0
    assert "over all problems" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert set(found["problems"]) == set(small)
    assert cli.main(arguments) == 0
    assert "one-set: taken from an earlier call" in capsys.readouterr().out
    assert cli.main(["suite", "--only", "nothing", "--out", str(tmp_path / "other")]) == 2
    assert "`--only` must be one of one-set, two-actions" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_random_problems_are_those_of_the_stated_distribution():
    """Each kind of 300 problems is as frequent as stated, within 4 standard errors; problem i is the same whatever the number."""
    drawn = list(held_out_problems(300, seed=3).values())
    assert repr(drawn[:2]) == repr(list(held_out_problems(2, seed=3).values()))
    assert repr(drawn[0]) != repr(held_out_problems(1, seed=4)["random-01"])
    kinds = Counter((problem.contexts.kind, len(getattr(problem.contexts, "sets", ()))) for problem in drawn)
    assert set(kinds) == {("sphere", 0), ("ball", 0), ("finite", 1), ("finite", 10)}
    assert all(abs(count - 75) < 4 * (300 * 0.25 * 0.75) ** 0.5 for count in kinds.values())
    sizes = Counter((problem.dimension, problem.contexts.actions) for problem in drawn)
    assert set(sizes) == set(SIZES)
    assert all(abs(count - 100) < 4 * (300 * 2 / 9) ** 0.5 for count in sizes.values())
    normal = sum(problem.noise.kind == "normal" for problem in drawn)
    assert abs(normal - 225) < 4 * (300 * 0.25 * 0.75) ** 0.5
    for problem in drawn:
        assert 0.2 <= np.linalg.norm(problem.theta) <= 0.9
        assert 0.1 <= np.linalg.norm(problem.phi) <= 1.5
        assert -1.0 <= problem.satisfaction.low <= 0.5
        assert 0.0 <= problem.satisfaction.high - problem.satisfaction.low <= 1.5


@pytest.mark.slow
def test_one_command_plays_random_problems(tmp_path, capsys, monkeypatch):
    few = {name: make(name, {}) for name in ("greedy", "linucb", "random")}
    drawn = play.random_problems
    monkeypatch.setattr(
        play,
        "random_problems",
        lambda count, seed: {name: one.replace(policies=few) for name, one in drawn(count, seed).items()},
    )
    out = tmp_path / "out"
    command = ["suite", "--held-out", "2", "--seed", "5", "--users", "40", "--trials", "4", "--out", str(out)]
    assert cli.main(command) == 0
    assert "typical ratio" in capsys.readouterr().out
    found = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert set(found["problems"]) == {"random-01", "random-02"}
    assert found["ratios"]["random-01"]["random"]["ratio"]["mean"] > 1
    assert (
        json.loads((out / "manifest.json").read_text(encoding="utf-8"))["job"] == "suite of random problems"
    )
    assert cli.main(["suite", "--held-out", "0", "--out", str(tmp_path / "other")]) == 2
    assert "`--held-out` must be a whole number of at least 1" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
