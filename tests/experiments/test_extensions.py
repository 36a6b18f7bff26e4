"""The experiments on the extensions: each can be read, described and run, and the README has its numbers."""

import json
import time

import numpy as np
import pytest

import hrprob
from hrprob.cli import main
from hrprob.io import config
from hrprob.problem.parts import PARTS
from tests.quoted.extensions import ALONE, EARLIER, FILES, FOLDER, PAIRS, STAYS, play
from tests.quoted.texts import records


def test_every_extension_has_its_experiment():
    problems = [config.read(FOLDER / f"{name}.toml").problem for name in FILES]
    # Residuals are those of a fit to real data, which the tutorials have.
    assert {problem.noise.kind for problem in problems} == set(PARTS["noise"]) - {"residuals"}
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
def test_the_readme_has_a_paragraph_on_it(name):
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    paragraphs = [part for part in text.split("\n\n") if not part.startswith(("|", "#"))]
    assert any(f"`{name}.toml`" in part for part in paragraphs)


@pytest.mark.parametrize("name", FILES)
def test_resolved_data_make_the_same_experiment(name):
    experiment = config.read(FOLDER / f"{name}.toml")
    data = json.loads(json.dumps(config.resolved(experiment), allow_nan=False))
    again = config.from_data(data)
    assert repr(again) == repr(experiment)
    # Every comparison includes greedy.
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


def readme():
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def rows_of(name):
    """Return the rows of the README's tables for a file: those with its name, and those below without one."""
    rows, here = [], False
    for line in readme().splitlines():
        here = line.startswith(f"| `{name}.toml` |") or (here and line.startswith("| |"))
        rows += [line] * here
    return rows


def test_the_readme_counts_its_intervals():
    """All but [0, 0], the interval of two equal policies."""
    assert f"of the {len(PAIRS) + len(EARLIER) - 1} on this page" in readme()
    assert sum(len(rows_of(name)) for name in FILES) == len(PAIRS)


def test_what_is_recorded_is_in_the_files():
    policies = {name: set(config.read(FOLDER / f"{name}.toml").policies) for name in FILES}
    for pair in [*PAIRS, *EARLIER]:
        assert pair.policy in policies[pair.name], pair
        assert pair.other in policies[pair.other_name], pair
    for name, alone in ALONE.items():
        assert set(alone) <= policies[name]
    for name, policy in STAYS.items():
        assert policy in policies[name]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a function that plays a file once, in a new process without compiled programs: its folder and seconds."""
    done = {}

    def run(name):
        if name not in done:
            start = time.perf_counter()
            done[name] = (
                play(name, tmp_path_factory.mktemp(name) / "out", cold=True),
                time.perf_counter() - start,
            )
        return done[name]

    return run


@pytest.mark.study
@pytest.mark.parametrize("name", FILES)
def test_a_full_run_takes_less_than_a_minute(name, played):
    """On an otherwise idle machine with two cores."""
    out, seconds = played(name)
    assert seconds < 60
    assert {"regret.png", "lifetime.png"} <= {path.name for path in out.iterdir()}


@pytest.mark.study
@pytest.mark.parametrize("pair", [*PAIRS, *EARLIER], ids=str)
def test_a_run_gives_what_is_recorded(pair, played):
    """The README has what is recorded, which `tests/test_quoted.py` checks."""
    recorded = records()["extensions"]["values"]["pairs"][pair.key]
    again = pair.measure(played(pair.name)[0], played(pair.other_name)[0])
    for part, value in again.items():
        assert value == pytest.approx(recorded[part], rel=1e-5, abs=1e-6), part


UNUSABLE = [
    ({"noise": {"kind": "student-t", "df": 2}}, "problem.noise.df", "no variance"),
    ({"noise": {"kind": "student-t", "fd": 3}}, "problem.noise.fd", "the keys here are kind, df"),
    ({"noise": "studnt-t"}, "problem.noise", "did you mean `student-t`?"),
    ({"objective": {"kind": "threshold", "level": "high"}}, "problem.objective.level", "compared with"),
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
        {"satisfaction": {"kind": "hidden", "of": {"kind": "normal", "sd": 2.0}}},
        "problem.satisfaction.of.sd",
        "infinite",
    ),
    (
        {"satisfaction": {"kind": "empirical", "levels": "no.csv"}},
        "problem.satisfaction.levels",
        "No such file",
    ),
    ({"satisfaction": {"kind": "empirical", "levels": ""}}, "problem.satisfaction.levels", "got '': name"),
    (
        {"satisfaction": {"kind": "hidden", "of": {"kind": "normal", "sd": -1}}},
        "problem.satisfaction.of.sd",
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


WIDE = {"kind": "hidden", "of": {"kind": "normal", "sd": 5.0}}
LOW = {"kind": "empirical", "levels": [-9.0, -8.0]}


@pytest.mark.parametrize(
    ("policy", "field", "words"),
    [
        # With a variance of at most 4, levels with a standard deviation of 2 make every lifetime infinite.
        (
            hrprob.Greedy(satisfaction=WIDE),
            "satisfaction.of.sd",
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
    some = WIDE | {"of": {"kind": "normal", "sd": 1.9}}
    assert hrprob.Greedy(satisfaction=some).bind(problem, 5).known.satisfaction.of.sd == 1.9


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


def test_a_wider_range_of_levels_enlarges_computed_constants():
    problem = hrprob.Problem(satisfaction=hrprob.UniformLevels(-0.1, 0.1))
    computed = {"radius": "paper", "c3": "computed", "c4": "computed"}
    own, wider = (
        hrprob.HRUCB(**computed, satisfaction=levels).bind(problem, 5).width.confidence.c3
        for levels in (None, hrprob.UniformLevels(-1.0, 1.0))
    )
    assert wider > own
