"""A saved agent goes on as the other would have; a log makes the same agent again; nothing answered is lost."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.live.decision_log import DecisionLog, read_log
from hrprob.policies import POLICIES
from tests.live.traffic import SETS, go_on, make_agent

ROOT = Path(__file__).parents[2]
SERVED = [kind for kind, cls in POLICIES.kinds().items() if not cls.knows_truth]


def agent_of(kind, policy=None, **options):
    if kind == "kl-ulcb":
        options |= {"contexts": hrprob.Finite(SETS), "satisfaction": hrprob.FixedLevels(0.2)}
    return make_agent(hrprob.policies.make_policy({"kind": kind} | (policy or {})), **options)


def same_state(one, other):
    for leaf, twin in zip(jax.tree.leaves(one.state), jax.tree.leaves(other.state), strict=True):
        np.testing.assert_array_equal(leaf, twin)
    assert (one.users, one.samples, one.events, one.present) == (
        other.users,
        other.samples,
        other.events,
        other.present,
    )


def in_another_process(path, seed, decisions):
    command = [sys.executable, "-m", "tests.live.traffic", str(path), str(seed), str(decisions)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["epsilon-greedy"])
def test_saved_and_rebuilt_agents_go_on_alike(kind, tmp_path):
    log = tmp_path / "decisions.jsonl"
    agent = agent_of(kind, log=log)
    go_on(agent, 1, 60)
    agent.save(tmp_path / "agent.zip")
    answers = go_on(agent, 2, 60)
    loaded = hrprob.Agent.load(tmp_path / "agent.zip")
    assert go_on(loaded, 2, 60) == answers
    same_state(agent, loaded)
    agent.close()
    # From the first call, and from the saved agent with the calls since.
    same_state(agent, hrprob.Agent.rebuild(log, append=False))
    resumed = hrprob.Agent.load(tmp_path / "agent.zip", log=log)
    same_state(agent, resumed)
    assert go_on(resumed, 3, 20) == go_on(agent, 3, 20)
    resumed.close()
    same_state(agent, hrprob.Agent.rebuild(log, append=False))


@pytest.mark.study
@pytest.mark.parametrize("kind", SERVED)
def test_every_policy_goes_on_alike_in_another_process(kind, tmp_path):
    agent = agent_of(kind)
    go_on(agent, 1, int(np.random.default_rng(5).integers(50, 400)))
    agent.save(tmp_path / "agent.zip")
    answers = go_on(agent, 2, 1000)
    assert in_another_process(tmp_path / "agent.zip", 2, 1000) == answers


@pytest.mark.study
@pytest.mark.parametrize("options", [{"warmup": 5}, {"warmup": 5, "eager": True}], ids=["warm-up", "eager"])
@pytest.mark.parametrize("kind", SERVED)
def test_eager_and_warmed_up_agents_go_on_alike_in_another_process(kind, options, tmp_path):
    try:
        agent = agent_of(kind, policy=options)
    except InvalidInput as complaint:
        pytest.skip(str(complaint))
    go_on(agent, 1, int(np.random.default_rng(len(kind)).integers(3, 200)))
    agent.save(tmp_path / "agent.zip")
    answers = go_on(agent, 2, 1000)
    assert in_another_process(tmp_path / "agent.zip", 2, 1000) == answers


@pytest.mark.parametrize("forgetting", [{"discount": 0.95}, {"window": 20}], ids=str)
def test_saved_agents_that_forget_go_on_alike(forgetting, tmp_path):
    agent = agent_of("greedy", policy=forgetting)
    go_on(agent, 1, 60)
    agent.save(tmp_path / "agent.zip")
    answers = go_on(agent, 2, 60)
    loaded = hrprob.Agent.load(tmp_path / "agent.zip")
    assert go_on(loaded, 2, 60) == answers
    same_state(agent, loaded)


def kill_while_serving(folder, seed, lines):
    """Kill a serving process after it has said this much; return what it said last."""
    command = [sys.executable, "-m", "tests.live.traffic", "serve", str(folder), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    said = [process.stdout.readline() for _ in range(lines)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    whole = [line.split() for line in said if line.endswith("\n")]
    return {word: max(int(number) for name, number in whole if name == word) for word in ("made", "saved")}


def check_killed(folder, seed, lines):
    said = kill_while_serving(folder, seed, lines)
    agent = hrprob.Agent.load(folder / "agent.zip")
    assert agent.events >= said["saved"]
    resumed = hrprob.Agent.load(folder / "agent.zip", log=folder / "decisions.jsonl")
    resumed.close()
    assert resumed.events >= said["made"]
    same_state(resumed, hrprob.Agent.rebuild(folder / "decisions.jsonl", append=False))


@pytest.mark.slow
def test_nothing_answered_is_lost_if_the_process_is_killed(tmp_path):
    check_killed(tmp_path, 1, 40)


@pytest.mark.study
def test_nothing_answered_is_lost_in_fifty_kills(tmp_path):
    for seed in range(50):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_killed(folder, seed, 5 + int(np.random.default_rng(seed).integers(200)))


def test_an_unfinished_line_is_cut_off(tmp_path):
    path = tmp_path / "decisions.jsonl"
    log = DecisionLog(path)
    log.append({"log": "hrprob decisions", "version": 1, "x": np.array([0.1])})
    log.append({"event": "leave", "user": None})
    log.close()
    path.write_bytes(path.read_bytes() + b'{"event": "lea')
    assert [event.get("event") for event in read_log(path)] == [None, "leave"]
    DecisionLog(path, durable=True).close()
    assert path.read_bytes().endswith(b"}\n")


def test_a_line_that_cannot_be_written_leaves_log_and_agent_as_they_were(tmp_path, monkeypatch):
    path = tmp_path / "decisions.jsonl"
    agent = agent_of("epsilon-greedy", log=path)
    go_on(agent, 1, 10)
    before, events = path.read_bytes(), agent.events
    written = os.write

    def half_full(number, content):
        if len(content) < 20:
            raise OSError(28, "No space left on device")
        return written(number, content[: len(content) // 2])

    monkeypatch.setattr(os, "write", half_full)
    with pytest.raises(OSError, match="No space"):
        agent.select("late", np.zeros((4, 3)), 0.0)
    monkeypatch.undo()
    assert (path.read_bytes(), agent.events, "late" in agent.present) == (before, events, False)
    with pytest.raises(InvalidInput, match="`log` must not be written by two processes"):
        hrprob.Agent.rebuild(path)
    agent.close()


def test_what_cannot_be_loaded_is_named(tmp_path):
    path = tmp_path / "agent.zip"
    with pytest.raises(InvalidInput, match="`path` must be a file that can be read"):
        hrprob.Agent.load(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(InvalidInput, match="`path` must be a saved agent"):
        hrprob.Agent.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("agent.json", json.dumps({"format": "hrprob agent", "version": 99}))
    with pytest.raises(InvalidInput, match="`path` must be of a known version, got 99"):
        hrprob.Agent.load(path)
    log = tmp_path / "decisions.jsonl"
    log.write_text("{}\n")
    with pytest.raises(InvalidInput, match="`log` must begin as a log of decisions"):
        hrprob.Agent.rebuild(log)


def test_a_log_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "decisions.jsonl"
    agent = agent_of("epsilon-greedy", log=path)
    go_on(agent, 1, 30)
    agent.close()
    lines = path.read_text().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if '"update"' in line)
    event = json.loads(lines[place])
    event["outcomes"][0][1] = -event["outcomes"][0][1] + 9.0
    path.write_text("".join([*lines[:place], json.dumps(event) + "\n", *lines[place + 1 :]]))
    with pytest.raises(InvalidInput, match="`log` must repeat to the same answers"):
        hrprob.Agent.rebuild(path, append=False)


def test_what_cannot_be_written_down_cannot_be_saved(tmp_path):
    contexts = hrprob.ContextFunction(lambda user, key: np.zeros((4, 3)), actions=4)
    agent = make_agent(hrprob.EpsilonGreedy(), contexts=contexts)
    with pytest.raises(InvalidInput, match="something that can be written down"):
        agent.save(tmp_path / "agent.zip")


def test_files_that_are_damaged_are_named(tmp_path):
    log, saved = tmp_path / "decisions.jsonl", tmp_path / "agent.zip"
    log.write_text('{"log": "hrprob decisions", "version": 1, "events": 0, "agent": {"dimension": 2}}\n')
    with pytest.raises(InvalidInput, match="`log` must be as hrprob writes it"):
        hrprob.Agent.rebuild(log)
    with pytest.raises(InvalidInput, match="`log` must be as hrprob writes it"):
        hrprob.evaluate(log, "greedy")
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("agent.json", json.dumps({"format": "hrprob agent", "version": 1}))
    with pytest.raises(InvalidInput, match="`path` must be as hrprob writes it"):
        hrprob.Agent.load(saved)
