"""``hrprob check``, and the check within ``hrprob fit``: what they print and leave."""

import json

import numpy as np
import pytest

from hrprob.fitting.table import Table, write_table

QUICK = ("--engine", '{kind = "laplace", points = 0}', "--draws", 1024)


@pytest.fixture
def rounds(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, size=(60, 1))
    r = 0.5 * x[:, 0] + np.sqrt(x[:, 0] + 2) * rng.normal(size=60)
    path = tmp_path / "rounds.csv"
    write_table(Table(x, r, user=np.arange(60), beta=9.0), path)
    return path


@pytest.mark.slow
def test_a_check_answers_and_leaves_a_page(call, rounds, tmp_path):
    compared = 'gaussian, student-t,{kind = "student-t", df = 3.0}, {df = 5.0, kind = "student-t"}'
    status, out, _ = call("check", rounds, *QUICK, "--quick", "--compare", compared, "--out", "a/check")
    assert status == 0
    question, answer = out.splitlines()[:2]
    assert question == "Can this posterior be trusted on these data?"
    assert answer.startswith(("Yes: ", "No: ", "Cannot tell: "))
    folder = tmp_path / "a" / "check"
    assert {"check.html", "check.json", "manifest.json", "ranking.json"} <= {
        path.name for path in folder.iterdir()
    }
    data = json.loads((folder / "check.json").read_text())
    ranking = json.loads((folder / "ranking.json").read_text())
    assert data["answer"] in ("yes", "no", "cannot tell")
    assert ranking["models"][0]["behind"] == 0.0
    # The model of --model and one that is named twice are fitted once.
    named = {one["model"] for one in ranking["models"]}
    assert len(ranking["models"]) == 3
    assert named == {"gaussian", "student-t (df 5)", "student-t (df 3)"}
    assert all(name in out for name in named)
    assert json.loads((folder / "manifest.json").read_text())["job"] == "check"


@pytest.mark.slow
def test_a_fit_checks_itself(call, rounds, tmp_path):
    status, out, _ = call("fit", rounds, *QUICK, "--out", "fitted")
    assert status == 0
    assert "Can this posterior be trusted on these data?" in out
    facts = json.loads((tmp_path / "fitted" / "manifest.json").read_text(encoding="utf-8"))
    assert {"check.html", "check.json"} <= set(facts["sha256"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "`FILE` must be"),
        (("rounds.csv", "--engine", "lapalce"), "`--engine`"),
        (("rounds.csv", *QUICK, "--quick", "--compare", "students"), "`--compare`"),
        (("rounds.csv", *QUICK, "--quick", "--compare", "gaussian"), "`--compare` must name another model"),
        (("rounds.csv", *QUICK, "--quick", "--compare", '{kind = "student-t", df = 0.5}'), "`--compare.df`"),
    ],
)
def test_what_cannot_be_checked_is_said_in_one_line(call, rounds, arguments, message):
    status, _, err = call("check", *arguments)
    assert status == 2
    assert message in err.strip().splitlines()[-1]
