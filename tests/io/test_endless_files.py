"""Files without an end, keys without an end: refused with one message, in no time and little memory."""

import os
import re
from pathlib import Path

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison.runs import read
from hrprob.fitting import csv_files
from hrprob.io import config, json_files
from hrprob.io.manifest import read_manifest
from hrprob.live import decision_log
from hrprob.problem import files

ENDLESS = "/dev/zero"
needs_devices = pytest.mark.skipif(not os.path.exists(ENDLESS), reason="there are no devices")


@needs_devices
def test_files_without_an_end_are_refused(tmp_path, monkeypatch):
    for module, name in ((config, "MOST_BYTES"), (files, "MOST_BYTES"), (json_files, "MOST_BYTES")):
        monkeypatch.setattr(module, name, 10_000)
    monkeypatch.setattr(csv_files, "_MOST_BYTES", 10_000)
    monkeypatch.setattr(decision_log, "MOST_CHARACTERS", 10_000)
    with pytest.raises(InvalidInput, match="`FILE` must have at most 10000 bytes, got 'more'"):
        config.read(ENDLESS)
    with pytest.raises(
        InvalidInput, match=r"`levels` must be a file that can be read.*more than 10000 bytes"
    ):
        hrprob.EmpiricalLevels(ENDLESS)
    with pytest.raises(
        InvalidInput, match=r"`data` must be a CSV file that can be read.*more than 10000 bytes"
    ):
        csv_files.read_file(ENDLESS)
    with pytest.raises(InvalidInput, match="line 1 has more than 10000 characters"):
        next(decision_log.read_log(Path(ENDLESS)))
    with pytest.raises(InvalidInput, match="it is a device or a pipe"):
        hrprob.Agent.load(ENDLESS)
    with pytest.raises(InvalidInput, match="must hold a results"):
        read(ENDLESS)
    (tmp_path / "manifest.json").symlink_to(ENDLESS)
    with pytest.raises(
        InvalidInput, match=r"must have a manifest\.json that can be read.*more than 10000 bytes"
    ):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "a." * 60_000 + "b = 1",
        "a . " * 60_000,
        "[" + "a." * 60_000 + "b]",
        "x = {" + "a." * 60_000 + "b = 1}",
        '"x,=".' * 60_000 + "b = 1",
        "'['." * 60_000 + "b = 1",
        '"\u2028".' * 60_000 + "b = 1",
    ],
)
def test_keys_of_many_parts_are_refused_before_they_are_read(tmp_path, text, monkeypatch):
    monkeypatch.setattr(config.tomllib, "loads", lambda text: pytest.fail("it was read"))
    path = tmp_path / "deep.toml"
    path.write_text(f"[problem]\n{text}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="must not be nested so deeply, got 'line 2'"):
        config.read(path)


@pytest.mark.parametrize(
    "value",
    [
        "[" + "0.1, " * 2000 + "1.0]",
        "[\n" + ("[" + "0.1, " * 500 + "1.0],\n") * 3 + "]",
        '"' + "a." * 1000 + '"',
        "'" + "a." * 1000 + "'",
        "1 # " + "a." * 1000,
    ],
)
def test_values_of_many_dots_are_read(tmp_path, value):
    path = tmp_path / "long.toml"
    path.write_text(f"x = {value}\n", encoding="utf-8")
    assert list(config.read_data(path)) == ["x"]


def test_a_path_that_is_too_long_is_named():
    with pytest.raises(
        InvalidInput, match=r"`DIR` must be a folder that can be read, got 'nnn.*: File name too long"
    ):
        read("n" * 5000)
    with pytest.raises(InvalidInput, match="File name too long"):
        hrprob.repeat("n" * 5000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"log": "/dev/full"}, "`log` must be a regular file"),
        ({"log": "a\0b"}, "`log` must be the path of a file"),
        ({"dimension": 10**9}, "`dimension` must need no more memory than there is"),
        ({"actions": 10**12}, "`actions` must need no more memory than there is"),
        ({"users": 2**63}, "`users` must be a whole number of at most 2147483647"),
        ({"propensity_draws": 10**12}, "`propensity_draws` must be a whole number of at most 1000000"),
    ],
)
def test_agents_beyond_every_machine(options, words):
    if "/dev/full" in options.values() and not os.path.exists("/dev/full"):
        pytest.skip("there are no devices")
    with pytest.raises(InvalidInput, match=re.escape(words)):
        hrprob.Agent(hrprob.Random(), **{"dimension": 2, "actions": 2} | options)


def test_names_and_paths_that_nobody_can_write():
    agent = hrprob.Agent(hrprob.Random(), dimension=2, actions=2)
    with pytest.raises(InvalidInput, match="at most 1024 bits, got a number of too many digits"):
        agent.select(10**5000, [[0.1, 0.2], [0.3, 0.4]], beta=0.0)
    with pytest.raises(InvalidInput, match="`path` must be the path of a file"):
        agent.save("a\0b")
