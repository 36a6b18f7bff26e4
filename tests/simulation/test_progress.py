"""What a run says of itself: what is compiled, how far it is, and what takes long."""

import io
import sys

import pytest

import hrprob
from hrprob.simulation import progress as module
from hrprob.simulation.cost import slow_policies
from hrprob.simulation.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    return now


def test_lines_name_what_is_compiled_and_the_time_left(monkeypatch, clock):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(True, 1000) as report:
        for _ in range(2):
            report.compiling("greedy")
        report.played("greedy", 100)
        clock[0] += 10.0
        report.played("greedy", 200)
        report.played("greedy", 100)
        report.played("greedy", 600)
    assert stream.getvalue().splitlines() == [
        "compiling greedy …",
        "10% of the users served",
        # 200 took 10 s after the first 100, whose time is that of compiling; 700 are left.
        "30% of the users served, about 35 s left",
    ]


def test_a_terminal_has_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(True, 1000) as report:
        report.compiling("greedy")
        report.note("it will take long")
        report.played("greedy", 1000)
    shown = stream.getvalue()
    assert "compiling greedy …" in shown
    assert "it will take long\n" in shown


def test_a_callback_gets_the_numbers_only(capsys):
    seen = []
    with Progress(seen.append, 10) as report:
        report.compiling("greedy")
        report.note("it will take long")
        report.played("greedy", 4)
        report.played("greedy", 6)
    assert seen == [4, 6]
    assert capsys.readouterr().err == ""


def slow(problem, policy, users=30000):
    return slow_policies({"it": policy.bind(problem, users)}, users, 20)


def test_slow_combinations_are_named_beforehand():
    hidden = hrprob.Problem(satisfaction=hrprob.HiddenLevels(), noise=hrprob.StudentT())
    (line,) = slow(hidden, hrprob.Greedy())
    assert "an average over levels of 170 evaluations" in line
    (line,) = slow(hrprob.Problem(), hrprob.Thompson(engine="nuts"))
    assert "nuts is fitted 2" in line
    assert "about 10 s each" in line
    (line,) = slow(hrprob.Problem(), hrprob.Thompson(model="student-t"), 2000)
    assert "every fit goes over all outcomes one by one" in line


@pytest.mark.parametrize(
    ("problem", "policy", "users"),
    [
        (hrprob.Problem(), hrprob.HRUCB(), 30000),
        (hrprob.Problem(), hrprob.Thompson(), 30000),
        (hrprob.Problem(satisfaction=hrprob.HiddenLevels()), hrprob.Greedy(), 30000),
        (hrprob.Problem(satisfaction=hrprob.HiddenLevels(), noise=hrprob.StudentT()), hrprob.Greedy(), 50),
    ],
)
def test_usual_combinations_are_not(problem, policy, users):
    assert slow(problem, policy, users) == []


def test_a_note_reaches_the_one_who_runs_it(monkeypatch, capsys):
    monkeypatch.setattr(
        "hrprob.simulation.engine.slow_policies", lambda *arguments: ["greedy will take long"]
    )
    hrprob.simulate(hrprob.Problem(), hrprob.Random(), users=5, trials=2, progress=True)
    assert capsys.readouterr().err.splitlines()[:2] == ["greedy will take long", "compiling random …"]
