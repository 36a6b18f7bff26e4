"""The experiments on the extensions: each can be read, told and run, and compares with and without."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray
from scipy import stats

import hrprob
from hrprob.cli import main
from hrprob.io import config
from hrprob.problem.parts import PARTS

FOLDER = Path(__file__).parents[2] / "experiments" / "extensions"
FILES = sorted(path.stem for path in FOLDER.glob("*.toml"))


def test_every_extension_has_its_experiment():
    problems = [config.read(FOLDER / f"{name}.toml").problem for name in FILES]
    assert {problem.noise.kind for problem in problems} == set(PARTS["noise"])
    assert {problem.objective.kind for problem in problems} == set(PARTS["objective"])
    assert {problem.satisfaction.kind for problem in problems} >= {
        "hidden",
        "redrawn",
        "infinite",
        "sequence",
        "function",
    }
    assert {problem.contexts.kind for problem in problems} >= {
        "drifting",
        "withholding",
        "sequence",
        "function",
    }
    policies = [policy for name in FILES for policy in config.read(FOLDER / f"{name}.toml").policies.values()]
    assert any(policy.eager for policy in policies)
    assert any(getattr(policy, "samples", "first") == "informative" for policy in policies)


@pytest.mark.parametrize("name", FILES)
def test_the_readme_says_what_was_found(name):
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    paragraphs = [part for part in text.split("\n\n") if not part.startswith(("|", "#"))]
    assert any(f"`{name}.toml`" in part for part in paragraphs)


@pytest.mark.parametrize("name", FILES)
def test_what_is_resolved_makes_the_same_experiment(name):
    experiment = config.read(FOLDER / f"{name}.toml")
    data = json.loads(json.dumps(config.resolved(experiment), allow_nan=False))
    again = config.from_data(data)
    assert repr(again) == repr(experiment)
    # No comparison hides greedy.
    assert "greedy" in {policy.kind for policy in experiment.policies.values()}


@pytest.mark.study
@pytest.mark.parametrize("name", FILES)
def test_it_runs(name, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["run", str(FOLDER / f"{name}.toml"), "--out", str(out), "--users", "30", "--trials", "2"]
    assert main(command) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert all(np.isfinite(row["regret"]["30"]["mean"]) for row in summary.values())
    assert (out / "regret.png").stat().st_size > 0
    beliefs = {
        key: policy
        for key, policy in config.read(FOLDER / f"{name}.toml").policies.items()
        if any(getattr(policy, part, None) is not None for part in ("noise", "objective", "satisfaction"))
    }
    printed = capsys.readouterr().out
    assert all(f"{key} assumes " in printed for key in beliefs)


# The rows of the README's tables: with the extension and without it, both by file and policy.
TABLE = [
    ("noise-mixture", "HR-UCB, ψ known", "noise-mixture", "HR-UCB, normal ψ"),
    ("noise-truncated", "HR-UCB, ψ known", "noise-truncated", "HR-UCB, normal ψ"),
    ("noise-student-t", "HR-UCB, ψ known", "noise-student-t", "HR-UCB, normal ψ"),
    ("hidden", "HR-UCB, β averaged over", "hidden", "HR-UCB, mean β"),
    ("hidden", "Greedy, β averaged over", "hidden", "Greedy, mean β"),
    ("redrawn", "HR-UCB, β redrawn", "redrawn", "HR-UCB, β kept"),
    ("reward", "HR-UCB for reward", "reward", "HR-UCB for lifetime"),
    ("reward", "Greedy for reward", "reward", "Greedy for lifetime"),
    ("eager", "HR-UCB, eager", "eager", "HR-UCB, lazy"),
    ("eager", "Greedy, eager", "eager", "Greedy, lazy"),
    ("within-user", "Thompson, one draw a round", "within-user", "Thompson, one draw a user"),
    ("active", "HR-UCB (K=1), informative", "active", "HR-UCB (K=1), first come"),
    ("active", "HR-UCB (K=2), informative", "active", "HR-UCB (K=2), first come"),
    ("active", "Greedy (K=1), informative", "active", "Greedy (K=1), first come"),
    ("infinite", "HR-UCB, ξ = 1", "infinite", "HR-UCB for lifetime"),
    ("infinite", "HR-UCB, ξ = 1", "infinite", "HR-UCB"),
    ("infinite", "HR-UCB, ξ = 1", "infinite", "LinUCB"),
    ("mean-variance", "HR-UCB, risk-averse", "mean-variance", "HR-UCB for reward"),
    ("threshold", "HR-UCB for the threshold", "threshold", "HR-UCB for reward"),
    *(
        (name, policy, reference, policy)
        for name, reference in (
            ("drifting", "independent"),
            ("withholding", "independent"),
            ("function", "independent"),
            ("sequence", "independent-few"),
        )
        for policy in ("HR-UCB", "Greedy", "LinUCB", "Random")
    ),
    *(
        (name, "HR-UCB", name, other)
        for name in ("drifting", "withholding", "function", "sequence")
        for other in ("LinUCB", "Greedy")
    ),
]


# The intervals in the README's text that no table has: a file, two of its policies, after how many users, digits.
TEXT = [
    ("hidden", "HR-UCB, β averaged over", "HR-UCB, mean β", 10000, 0),
    ("hidden", "Greedy, β averaged over", "Greedy, mean β", 10000, 0),
    ("eager", "HR-UCB, eager", "HR-UCB, lazy", 10, 1),
    ("eager", "HR-UCB, eager", "HR-UCB, lazy", 100, 1),
    ("within-user", "Thompson, one draw a round", "Thompson, one draw a user", 100, 1),
    ("infinite", "HR-UCB, ξ = 1", "Greedy", 30000, 0),
]


def readme():
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def rows_of(name):
    """The rows that the README's tables have for a file: those with its name, and those below without one."""
    rows, here = [], False
    for line in readme().splitlines():
        here = line.startswith(f"| `{name}.toml` |") or (here and line.startswith("| |"))
        rows += [line] * here
    return rows


def paragraph_of(name):
    """What was found with a file, on one line."""
    found = [part for part in readme().split("\n\n") if part.startswith("**") and f"`{name}.toml`" in part]
    return " ".join(found[0].split())


def test_the_readme_counts_its_intervals():
    """But for the one of no difference at all."""
    assert f"of the {len(TABLE) + len(TEXT) - 1} on this page" in readme()
    assert sum(len(rows_of(name)) for name in FILES) == len(TABLE)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Play an experiment as it stands, once: a fresh process that finds nothing compiled; its folder and seconds."""
    done = {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}

    def play(name):
        if name not in done:
            out = tmp_path_factory.mktemp(name) / "out"
            command = [sys.executable, "-m", "hrprob.cli", "run", FOLDER / f"{name}.toml", "--out", out]
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment | {"HRPROB_CACHE": ""})
            done[name] = out, time.perf_counter() - start
        return done[name]

    return play


def regret(out, policy, user=None):
    """Return the regret of all trials, after the last user unless said otherwise."""
    with xarray.open_dataset(out / "results.nc") as run:
        curve = run.regret.sel(policy=policy)
        return (curve.isel(user=-1) if user is None else curve.sel(user=user)).values


def number(x, digits=0):
    return f"{x:,.{digits}f}".replace(",", " ").replace("-", "−")


def interval(one, other, paired, digits=0):
    """The difference and its 95 % interval as the README has them; Welch's if they are not paired."""
    if np.array_equal(one, other):
        # Without any difference at all there is no t.
        low = high = 0.0
    else:
        test = stats.ttest_rel(one, other) if paired else stats.ttest_ind(one, other, equal_var=False)
        low, high = test.confidence_interval()
    difference, low, high = (number(x, digits) for x in (one.mean() - other.mean(), low, high))
    return f"{difference} [{low}, {high}]"


@pytest.mark.study
@pytest.mark.parametrize("name", FILES)
def test_a_full_run_takes_less_than_a_minute(name, played):
    """On a machine that does nothing else: two cores were enough."""
    out, seconds = played(name)
    assert seconds < 60
    assert {"regret.png", "lifetime.png"} <= {path.name for path in out.iterdir()}


@pytest.mark.study
@pytest.mark.parametrize(("name", "policy", "other_name", "other"), TABLE)
def test_the_readme_says_what_a_run_gives(name, policy, other_name, other, played):
    ours, theirs = regret(played(name)[0], policy), regret(played(other_name)[0], other)
    difference = interval(ours, theirs, paired=name == other_name)
    row = f"| {number(ours.mean())} | {number(theirs.mean())} | {difference} |"
    assert any(line.endswith(row) for line in rows_of(name)), row


@pytest.mark.study
@pytest.mark.parametrize(("name", "policy", "other", "user", "digits"), TEXT)
def test_the_text_of_the_readme_says_what_a_run_gives(name, policy, other, user, digits, played):
    ours, theirs = (regret(played(name)[0], one, user) for one in (policy, other))
    assert interval(ours, theirs, paired=True, digits=digits) in paragraph_of(name)


UNUSABLE = [
    ({"noise": {"kind": "student-t", "df": 2}}, "problem.noise.df", "no variance"),
    ({"noise": {"kind": "student-t", "fd": 3}}, "problem.noise.fd", "the keys here are kind, df"),
    ({"noise": "studnt-t"}, "problem.noise", "did you mean `student-t`?"),
    ({"objective": {"kind": "threshold", "level": "high"}}, "problem.objective.level", "held against"),
    (
        {"satisfaction": {"kind": "hidden", "of": 3}},
        "problem.satisfaction.of",
        "must be one of the levels, or name one",
    ),
    ({"satisfaction": {"kind": "hidden", "of": {"kind": "fixed"}}}, "problem.satisfaction.of", "averaged"),
    (
        {"satisfaction": {"kind": "hidden", "of": {"kind": "uniform", "hihg": 1}}},
        "problem.satisfaction.of.hihg",
        "did you mean `high`?",
    ),
    (
        {"satisfaction": {"kind": "hidden", "of": {"kind": "normal", "deviation": 2.0}}},
        "problem.satisfaction.of.deviation",
        "infinite",
    ),
    (
        {"satisfaction": {"kind": "empirical", "levels": "no.csv"}},
        "problem.satisfaction.levels",
        "No such file",
    ),
    ({"satisfaction": {"kind": "empirical", "levels": ""}}, "problem.satisfaction.levels", "got '': name"),
    (
        {"satisfaction": {"kind": "hidden", "of": {"kind": "normal", "deviation": -1}}},
        "problem.satisfaction.of.deviation",
        'take { kind = "empirical", levels = [x] }',
    ),
    (
        {"satisfaction": {"kind": "hidden", "of": {"kind": "fixed", "level": 0.0}}},
        "problem.satisfaction.of",
        'take { kind = "empirical", levels = [x] }',
    ),
    ({"satisfaction": {"kind": "empirical", "levels": [True]}}, "problem.satisfaction.levels[1]", "number"),
    ({"contexts": {"kind": "sequence"}}, "problem.contexts.users", "must be given"),
    (
        {"contexts": {"kind": "function", "function": "f", "actions": 2}},
        "problem.contexts.function",
        "module:name",
    ),
    ({"contexts": {"kind": "withholding", "coordinates": 2}}, "problem.contexts.coordinates", "below 2"),
]


@pytest.mark.parametrize(("change", "field", "words"), UNUSABLE)
def test_bad_configuration_is_named(change, field, words):
    data = {"problem": {"theta": [0.6, 0.3], "phi": [0.5, 0.9]} | change, "policy": [{"kind": "greedy"}]}
    with pytest.raises(hrprob.InvalidInput) as caught:
        config.from_data(data)
    assert caught.value.field == field
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("table", "field", "words"),
    [
        ({"noise": "gauss"}, "noise", "student-t"),
        ({"objective": {"kind": "reward", "x": 1}}, "objective.x", "known key"),
        (
            {"satisfaction": {"kind": "hidden", "of": {"kind": "empirical"}}},
            "satisfaction.of.levels",
            "has no default for it",
        ),
        ({"samples": "some"}, "samples", "informative"),
    ],
)
def test_bad_beliefs_are_named(table, field, words):
    data = {"problem": {"theta": [0.6], "phi": [0.5]}, "policy": [{"kind": "hr-ucb"} | table]}
    with pytest.raises(hrprob.InvalidInput) as caught:
        config.from_data(data)
    assert caught.value.field == f'policy "hr-ucb".{field}'
    assert words in str(caught.value)


WIDE = {"kind": "hidden", "of": {"kind": "normal", "deviation": 5.0}}
LOW = {"kind": "empirical", "levels": [-9.0, -8.0]}


@pytest.mark.parametrize(
    ("policy", "field", "words"),
    [
        # With a variance of at most 4, levels that scatter by 2 make every lifetime infinite.
        (
            hrprob.Greedy(satisfaction=WIDE),
            "satisfaction.of.deviation",
            "must be below 2, got 5.0: no action",
        ),
        (
            hrprob.HRUCB(satisfaction={"kind": "hidden", "of": LOW}, noise={"kind": "truncated-normal"}),
            "satisfaction.of",
            "must have all levels above -7.0",
        ),
        (
            hrprob.Greedy(satisfaction={"kind": "redrawn", "of": LOW}, noise={"kind": "truncated-normal"}),
            "satisfaction.of",
            "must have some level above -7.0",
        ),
    ],
)
def test_a_belief_that_makes_every_value_infinite_is_refused(policy, field, words):
    problem = hrprob.Problem(satisfaction=hrprob.HiddenLevels())
    with pytest.raises(hrprob.InvalidInput) as caught:
        hrprob.simulate(problem, {"its": policy}, users=5, trials=1)
    assert caught.value.field == f'policy "its".{field}'
    assert words in str(caught.value)


def test_a_noise_that_makes_every_value_infinite_is_refused():
    levels = hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.5))
    problem = hrprob.Problem(satisfaction=levels)
    with pytest.raises(hrprob.InvalidInput) as caught:
        hrprob.Greedy(noise="truncated-normal").bind(problem, 5)
    assert caught.value.field == "noise"
    assert "heavier lower tail" in str(caught.value)


def test_a_belief_that_makes_some_values_infinite_is_not_refused():
    problem = hrprob.Problem(satisfaction=hrprob.HiddenLevels())
    some = WIDE | {"of": {"kind": "normal", "deviation": 1.9}}
    assert hrprob.Greedy(satisfaction=some).bind(problem, 5).known.satisfaction.of.deviation == 1.9


def test_a_belief_in_seen_levels_needs_levels_that_are_seen():
    problem = hrprob.Problem(satisfaction=hrprob.HiddenLevels())
    with pytest.raises(hrprob.InvalidInput, match="sees no level"):
        hrprob.simulate(problem, hrprob.Greedy(satisfaction=hrprob.UniformLevels()), users=5, trials=1)


@pytest.mark.parametrize("levels", [hrprob.FixedLevels(5.0), "infinite", hrprob.EmpiricalLevels([0.0, 0.5])])
def test_a_belief_in_other_seen_levels_would_change_nothing_and_is_refused(levels):
    problem = hrprob.Problem(satisfaction=hrprob.UniformLevels(-1.0, 1.0))
    with pytest.raises(hrprob.InvalidInput, match=r"got {'kind'.*seen on arrival.*\"redrawn\"") as caught:
        hrprob.Greedy(satisfaction=levels).bind(problem, 5)
    assert caught.value.field == "satisfaction"


def test_a_belief_in_levels_as_they_are_or_unseen_is_not_refused():
    problem = hrprob.Problem(satisfaction=hrprob.UniformLevels(-1.0, 1.0))
    hrprob.Greedy(satisfaction={"kind": "uniform", "low": -1, "high": 1}).bind(problem, 5)
    hrprob.Greedy(satisfaction=hrprob.HiddenLevels()).bind(problem, 5)


def test_a_wider_range_of_levels_bears_on_computed_constants():
    problem = hrprob.Problem(satisfaction=hrprob.UniformLevels(-0.1, 0.1))
    computed = {"radius": "paper", "c3": "computed", "c4": "computed"}
    own, wider = (
        hrprob.HRUCB(**computed, satisfaction=levels).bind(problem, 5).width.sets.c3
        for levels in (None, hrprob.UniformLevels(-1.0, 1.0))
    )
    assert wider > own
