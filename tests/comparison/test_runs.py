"""Which results can be paired, and `hrprob compare` on folders."""

import json

import numpy as np
import pytest

import hrprob
from hrprob import cli
from hrprob._core.errors import InvalidInput
from hrprob.comparison.runs import pool, read

CONFIGURATION = """
[problem]
theta = [{theta}, 0.2]
phi = [0.5, -0.3]
contexts = {{ kind = "ball", actions = 3 }}

[run]
users = {users}
trials = {trials}
seed = {seed}
"""
POLICIES = {
    "greedy": '[[policy]]\nkind = "greedy"\n',
    "random": '[[policy]]\nkind = "random"\n',
    "hr": '[[policy]]\nkind = "hr-ucb"\nname = "hr"\n',
    "hr2": '[[policy]]\nkind = "hr-ucb"\nname = "hr"\ngrowth = 2\n',
}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a function that plays policies and returns the folder, each kind of run once."""
    folder, known = tmp_path_factory.mktemp("runs"), {}

    def play(*names, theta=0.5, users=40, trials=4, seed=0):
        key = (names, theta, users, trials, seed)
        if key not in known:
            file, out = folder / f"{len(known)}.toml", folder / f"run{len(known)}"
            text = CONFIGURATION.format(theta=theta, users=users, trials=trials, seed=seed)
            file.write_text(text + "\n".join(POLICIES[name] for name in names), encoding="utf-8")
            assert cli.main(["run", str(file), "--out", str(out), "--quiet"]) == 0
            known[key] = out
        return known[key]

    return play


@pytest.mark.slow
def test_results_with_the_same_users_are_pooled(played):
    one, other = played("greedy", "hr"), played("greedy", "random", "hr2", trials=3)
    pooled = pool([*read(one), *read(other)])
    (data,) = pooled.values()
    # The same policy twice counts once; a different one with the same name has its folder in its name.
    assert data.policy.values.tolist() == ["greedy", "hr", "random", f"hr ({other.name})"]
    assert data.sizes["trial"] == 3
    alone = read(other)[0].data
    np.testing.assert_array_equal(data.regret.sel(policy="random"), alone.regret.sel(policy="random"))
    assert hrprob.compare(data).trials == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "why"), [({"seed": 1}, "seed 0, .* has 1"), ({"users": 30}, "users 40, .* has 30")]
)
def test_results_with_other_users_are_refused(played, changes, why):
    with pytest.raises(InvalidInput, match=why):
        pool([*read(played("greedy", "hr")), *read(played("random", **changes))])


@pytest.mark.slow
def test_results_of_another_problem_are_not_paired(played):
    with pytest.raises(InvalidInput, match="different problems"):
        pool([*read(played("greedy", "hr")), *read(played("random", theta=0.3))])


@pytest.mark.slow
def test_several_problems_are_a_suite(played, tmp_path, capsys):
    folders = [str(played("greedy", "random")), str(played("greedy", "random", theta=0.3))]
    out = tmp_path / "out"
    assert cli.main(["compare", *folders, "--out", str(out)]) == 0
    assert "over all problems" in capsys.readouterr().out
    found = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert len(found["problems"]) == 2
    assert found["ranks"][0]["policy"] == "greedy"
    for name in ("suite.png", "01-differences.svg", "02-optimal.png", "report.html", "manifest.json"):
        assert (out / name).stat().st_size > 0
    # A second report replaces the first.
    assert cli.main(["compare", *folders, "--out", str(out), "--quiet"]) == 0


@pytest.mark.slow
def test_trials_are_added_from_the_command_line(played, tmp_path, monkeypatch, capsys):
    folder = played("greedy", "random")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", str(folder), "--until", "0.05", "--most-trials", "40"]) == 0
    said = capsys.readouterr().out
    # Who won comes before the tables, and the folder of the page last.
    assert 0 < said.index("Is greedy the best policy?\nYes: greedy loses ") < said.index("policy  ")
    assert "Decided after 20 trials (greedy against all others)" in said
    page = f"results/compare/{folder.name}/report.html"
    assert said.splitlines()[-1] == f"report in {page}"
    assert (tmp_path / page).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "nobody"], "`--baseline` must be one of greedy, random"),
        (["--at", "41"], "`--at` must be a user that the result has, got 41: the nearest is 40"),
        (["--until", "2"], "`--until` must"),
        (["--until", "0.05", "--most-trials", "3"], "`--most-trials` must"),
    ],
)
def test_bad_arguments_are_refused(played, tmp_path, capsys, arguments, message):
    out = tmp_path / "out"
    assert cli.main(["compare", str(played("greedy", "random")), "--out", str(out), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_folders_without_a_result_are_refused(tmp_path, capsys):
    assert cli.main(["compare", str(tmp_path)]) == 2
    assert "`DIR` must hold a results.nc" in capsys.readouterr().err
    (tmp_path / "results.nc").write_bytes(b"not a file of ours")
    assert cli.main(["compare", str(tmp_path)]) == 2
    assert "`DIR` must hold a results.nc of hrprob" in capsys.readouterr().err
