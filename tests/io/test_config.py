"""Configuration files: what they describe, and messages about those that cannot be used."""

import json
import math
import sys
import types
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io import config
from hrprob.problem.parts import PARTS

PROBLEM = {"theta": [0.6, 0.3], "phi": [0.5, 0.9]}
POLICY = {"kind": "greedy"}
EXPERIMENTS = Path(__file__).parents[2] / "experiments"

SMALLEST = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, 0.9]
[[policy]]
kind = "greedy"
"""


def write(folder, text):
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(make):
    with pytest.raises(InvalidInput) as caught:
        make()
    return caught.value


def problem_with(**fields):
    return {"problem": PROBLEM | fields, "policy": [POLICY]}


def policy_with(*tables):
    return {"problem": PROBLEM, "policy": list(tables)}


BAYESIAN = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, 0.9]
[[policy]]
kind = "thompson"
engine = "laplace"
scale = 0.5
[[policy]]
kind = "thompson"
name = "tables"
engine = { kind = "svi", steps = 500 }
model = { kind = "student-t", df = 6.0 }
prior = { kind = "gaussian", theta_share = 0.25 }
refit = 1.3
growth = 5
eager = true
warmup = 2
[[policy]]
kind = "bayes-ucb"
engine = { kind = "smc", particles = 64 }
level = 0.8
"""


def test_bayesian_policies_come_by_name_and_by_table(tmp_path):
    experiment = config.read(write(tmp_path, BAYESIAN))
    plain, tables, quantile = experiment.policies.values()
    assert (plain.engine.kind, plain.model.kind, plain.prior.kind) == ("laplace", "gaussian", "uniform")
    assert (plain.scale, plain.refit, plain.growth) == (0.5, 1.05, None)
    assert (tables.engine.steps, tables.model.df, tables.prior.theta_share) == (500, 6.0, 0.25)
    assert (tables.refit, tables.growth, tables.eager, tables.warmup) == (1.3, 5.0, True, 2)
    assert (quantile.engine.particles, quantile.level) == (64, 0.8)
    again = config.from_data(json.loads(json.dumps(config.resolved(experiment))))
    assert again.policies == experiment.policies
    wrong = policy_with({"kind": "thompson", "prior": {"kind": "gaussian", "theta_share": 0.0}})
    assert complaint(lambda: config.from_data(wrong)).field == 'policy "thompson".prior.theta_share'


def test_the_smallest_file_has_the_papers_defaults(tmp_path):
    experiment = config.read(write(tmp_path, SMALLEST))
    assert (experiment.users, experiment.trials, experiment.seed) == (30000, 20, 0)
    assert list(experiment.policies) == ["greedy"]
    paper = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9])
    assert repr(experiment.problem) == repr(paper)
    assert (paper.link.slope, paper.link.offset) == (1.0, 2.0)
    assert (paper.bounds.theta, paper.bounds.phi) == (1.0, 2.0)
    assert (paper.satisfaction.low, paper.satisfaction.high) == (-1.0, 1.0)
    assert (paper.contexts.kind, paper.contexts.actions) == ("sphere", 20)


def test_a_part_is_a_table_or_a_kind_alone():
    by_table = config.from_data(problem_with(contexts={"kind": "ball"}, objective={"kind": "lifetime"}))
    by_name = config.from_data(problem_with(contexts="ball", objective="lifetime"))
    assert repr(by_table.problem) == repr(by_name.problem)
    assert by_name.problem.contexts.kind == "ball"


def turning(key, user):
    angle = 0.01 * user + jnp.arange(3.0)
    return 0.9 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def rising(key, user):
    return -1.0 / user


def functions(monkeypatch):
    """Make the two above importable as a user's own module."""
    module = types.ModuleType("of_a_user")
    module.turning, module.rising = turning, rising
    monkeypatch.setitem(sys.modules, "of_a_user", module)


# Fields without a default, by kind, in two dimensions.
NEEDED = {
    ("contexts", "finite"): {"sets": [[[0.5, 0.0], [0.0, 0.5]]]},
    ("contexts", "sequence"): {"users": [[[0.5, 0.0], [0.0, 0.5]]]},
    ("contexts", "function"): {"function": "of_a_user:turning", "actions": 3},
    ("contexts", "withholding"): {"coordinates": 1},
    ("satisfaction", "empirical"): {"levels": [0.5, -1.0, 0.5]},
    ("satisfaction", "sequence"): {"levels": [0.5, -1.0, 0.5]},
    ("satisfaction", "function"): {"function": "of_a_user:rising"},
}
EVERY_KIND = [(part, kind) for part, registry in PARTS.items() for kind in registry]


@pytest.mark.parametrize(("part", "kind"), EVERY_KIND)
def test_every_kind_can_be_read_and_written(part, kind, monkeypatch):
    functions(monkeypatch)
    table = {"kind": kind} | NEEDED.get((part, kind), {})
    experiment = config.from_data(problem_with(**{part: table}))
    assert type(getattr(experiment.problem, part)) is PARTS[part].get(kind)
    data = json.loads(json.dumps(config.resolved(experiment), allow_nan=False))
    again = config.from_data(data)
    assert config.resolved(again) == data
    if kind != "function":
        assert repr(again) == repr(experiment)


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    (tmp_path / "sets.csv").write_text("context,action,x1,x2\n1,1,0.5,0\n1,2,0,0.5\n")
    text = SMALLEST.replace("[[policy]]", 'contexts = { kind = "finite", sets = "sets.csv" }\n[[policy]]')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    sets = config.read(write(tmp_path, text)).problem.contexts.sets
    np.testing.assert_array_equal(sets, [[[0.5, 0], [0, 0.5]]])


@pytest.mark.parametrize("name", ["paper", "reproduce/text", "reproduce/released-d"])
def test_resolved_data_are_plain_and_make_the_same_experiment(name):
    experiment = config.read(EXPERIMENTS / f"{name}.toml")
    data = json.loads(json.dumps(config.resolved(experiment), allow_nan=False))
    again = config.from_data(data)
    assert repr(again) == repr(experiment)
    assert config.resolved(again) == data


def test_the_papers_settings():
    experiment = config.read(EXPERIMENTS / "paper.toml")
    # f at the norm of φ*: 2 + √(.25 + .04 + .64 + .81)
    assert experiment.policies["HR-UCB (K=5)"].variance_max == 2 + math.sqrt(1.74)
    assert experiment.problem.contexts.kind == "sphere"
    assert {policy.kind for policy in experiment.policies.values()} >= {"greedy", "random", "oracle"}


# What was written, then the field, the value and the remedy that the message must have.
UNUSABLE = [
    ({}, "problem", "nothing", "add a table [problem]"),
    ({"problem": 3, "policy": [POLICY]}, "problem", "3", "[problem]"),
    ({"problem": {"phi": [0.5]}, "policy": [POLICY]}, "problem.theta", "nothing", "add theta"),
    ({"problem": {"theta": [0.5]}, "policy": [POLICY]}, "problem.phi", "nothing", "add phi"),
    ({"problem": PROBLEM}, "policy", "nothing", "[[policy]]"),
    ({"problem": PROBLEM, "policy": []}, "policy", "nothing", "[[policy]]"),
    ({"problem": PROBLEM, "policy": POLICY}, "policy", "greedy", "[[policy]]"),
    ({"problem": PROBLEM, "policies": [POLICY]}, "policies", "greedy", "did you mean `policy`?"),
    (problem_with(thta=[1.0]), "problem.thta", "[1.0]", "did you mean `theta`?"),
    (problem_with(zzz=1), "problem.zzz", "1", "theta, phi, link"),
    (problem_with(theta=[0.9, 0.9]), "problem.theta", "1.2728", "bounds.theta"),
    (problem_with(theta=[0.1, 0.2, 0.3]), "problem.phi", "[0.5, 0.9]", "as many entries"),
    (problem_with(theta=0.5), "problem.theta", "0.5", "weights of the mean"),
    (problem_with(theta=[]), "problem.theta", "[]", "weights of the mean"),
    (problem_with(theta=[[0.5, 0.1]]), "problem.theta", "[[0.5, 0.1]]", "weights of the mean"),
    (problem_with(theta=["0.6", "0.3"]), "problem.theta[1]", "'0.6'", "without quotes"),
    (problem_with(phi=[0.5, True]), "problem.phi[2]", "True", "write numbers"),
    (problem_with(phi=[0.5, math.nan]), "problem.phi[2]", "nan", "no field takes NaN"),
    (problem_with(theta=[10**400, 0]), "problem.theta[1]", "1000", "TOML has no larger"),
    (problem_with(link="afine"), "problem.link", "'afine'", "did you mean `affine`?"),
    (problem_with(link={"kind": "affine", "offset": 1}), "problem.link.offset", "1.0", "bounds.phi"),
    (problem_with(link={"kind": "affine", "slope": "1"}), "problem.link.slope", "'1'", "variance must grow"),
    (problem_with(noise="cauchy"), "problem.noise", "'cauchy'", "normal"),
    (problem_with(noise=["normal"]), "problem.noise", "['normal']", 'kind = "mixture"'),
    (problem_with(objective="lifetme"), "problem.objective", "'lifetme'", "`lifetime`"),
    (problem_with(contexts={"actions": 3}), "problem.contexts.kind", "nothing", "'sphere'"),
    (problem_with(contexts={"kind": 5}), "problem.contexts.kind", "5", "'sphere'"),
    (
        problem_with(contexts={"kind": "ball", "action": 3}),
        "problem.contexts.action",
        "3",
        "did you mean `actions`?",
    ),
    (problem_with(contexts={"kind": "ball", "actions": 0}), "problem.contexts.actions", "0", "at least one"),
    (problem_with(contexts={"kind": "ball", "actions": 2.5}), "problem.contexts.actions", "2.5", "at least"),
    (problem_with(contexts="finite"), "problem.contexts.sets", "nothing", "'finite' has no default for it"),
    (
        problem_with(contexts={"kind": "finite", "sets": "no.csv"}),
        "problem.contexts.sets",
        "no.csv",
        "No such file",
    ),
    (problem_with(contexts={"kind": "finite", "sets": "a\0b"}), "problem.contexts.sets", "a", "no path"),
    (
        problem_with(contexts={"kind": "finite", "sets": [[["a"]]]}),
        "problem.contexts.sets[1][1][1]",
        "'a'",
        "quotes",
    ),
    (
        problem_with(contexts={"kind": "finite", "sets": [[[2.0]]]}),
        "problem.contexts.sets",
        "2.0",
        "scale set 1",
    ),
    (
        problem_with(contexts={"kind": "finite", "sets": [[[0.5]]]}),
        "problem.contexts.sets",
        "1",
        "each entry of `theta`",
    ),
    (
        problem_with(satisfaction={"kind": "uniform", "low": 1, "high": -1}),
        "problem.satisfaction.high",
        "-1.0",
        "swap",
    ),
    (
        problem_with(satisfaction={"kind": "uniform", "hihg": 1}),
        "problem.satisfaction.hihg",
        "1",
        "did you mean `high`?",
    ),
    (
        problem_with(satisfaction={"kind": "fixed", "level": math.inf}),
        "problem.satisfaction.level",
        "inf",
        "infinity",
    ),
    (problem_with(bounds={"theta": 0}), "problem.bounds.theta", "0", "bounds a norm"),
    (problem_with(bounds={"beta": 1}), "problem.bounds.beta", "1", "`theta`"),
    (problem_with(bounds=2), "problem.bounds", "2", "theta = 1.0"),
    (policy_with({"name": "x"}), "policy[1].kind", "nothing", "hrprob policies"),
    (policy_with(POLICY, {"kind": "gredy"}), "policy[2].kind", "'gredy'", "did you mean `greedy`?"),
    (policy_with({"kind": ["greedy"]}), "policy[1].kind", "['greedy']", "did you mean `greedy`?"),
    (policy_with(POLICY, POLICY), "policy[2].name", "'greedy'", "policy[1] has it too"),
    (policy_with(POLICY | {"name": 5}), "policy[1].name", "5", "it names the policy"),
    (policy_with(POLICY | {"name": " "}), "policy[1].name", "' '", "it names the policy"),
    (policy_with(POLICY | {"name": "a\nb"}), "policy[1].name", "'a\\nb'", "it names the policy"),
    (policy_with(POLICY | {"rigde": 1}), 'policy "greedy".rigde', "1", "did you mean `ridge`?"),
    (
        policy_with({"kind": "hr-ucb", "name": "HR-UCB (K=5)", "delta": 1.2}),
        'policy "HR-UCB (K=5)".delta',
        "1.2",
        "probability that the confidence set misses",
    ),
    (policy_with({"kind": "hr-ucb", "radius": "wide"}), 'policy "hr-ucb".radius', "'wide'", "'paper'"),
    (policy_with({"kind": "hr-ucb", "xi": 3.0}), 'policy "hr-ucb".xi', "3.0", "'released'"),
    (policy_with({"kind": "linucb", "alpha": math.nan}), 'policy "linucb".alpha', "nan", "NaN"),
    (policy_with({"kind": "linucb", "warmup": -1}), 'policy "linucb".warmup', "-1", "before the first"),
    (policy_with({"kind": "linucb", "eager": 1}), 'policy "linucb".eager', "1", "after every round"),
    (problem_with() | {"run": 5}, "run", "5", "[run]"),
    (problem_with() | {"run": {"user": 5}}, "run.user", "5", "did you mean `users`?"),
    (problem_with() | {"run": {"users": 0}}, "run.users", "0", "at least one user"),
    (problem_with() | {"run": {"users": 2**31}}, "run.users", "2147483648", "31 bits"),
    (problem_with() | {"run": {"trials": 1.5}}, "run.trials", "1.5", "at least one trial"),
    (problem_with() | {"run": {"trials": True}}, "run.trials", "True", "at least one trial"),
    (problem_with() | {"run": {"seed": -1}}, "run.seed", "-1", "63 bits"),
    (problem_with() | {"run": {"seed": 2**63}}, "run.seed", "9223372036854775808", "TOML has no larger"),
]


@pytest.mark.parametrize(("data", "field", "value", "remedy"), UNUSABLE, ids=[row[1] for row in UNUSABLE])
def test_messages_about_unusable_data(data, field, value, remedy):
    error = complaint(lambda: config.from_data(data))
    assert error.field == field
    before, got, after = str(error).partition(", got ")
    assert before.startswith(f"`{field}` must ")
    assert got
    assert value in after
    # The possible choices may stand before the value.
    assert remedy in before + after


@pytest.mark.parametrize(
    ("content", "must", "remedy"),
    [
        (b"[problem\n", "must be a TOML file", "at line 1"),
        (b"a = 1\na = 2\n", "must be a TOML file", "at line 2"),
        (b"\xff\xfe\x00", "must be a TOML file", "UTF-8"),
        (b"a = " + b"[" * 100_000, "must be a TOML file", "nested too deeply"),
        (None, "must be a file that can be read", "No such file"),
    ],
)
def test_messages_about_unreadable_files(tmp_path, content, must, remedy):
    path = tmp_path / "experiment.toml"
    if content is not None:
        path.write_bytes(content)
    error = complaint(lambda: config.read(path))
    assert error.must == must
    assert error.got == str(path)
    assert remedy in error.remedy


def test_a_folder_is_no_file(tmp_path):
    assert "directory" in complaint(lambda: config.read(tmp_path)).remedy


def test_an_override_is_checked_like_a_written_value():
    experiment = config.from_data(problem_with())
    assert experiment.replace(users=7, seed=3).users == 7
    assert complaint(lambda: experiment.replace(trials=0)).field == "trials"
