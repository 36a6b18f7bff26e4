"""A command that is stopped while it starts: exit code 143 or 130 and one line, whatever is being imported."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.example import FEW, ROOT

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
CODES = {"SIGTERM": 143, "SIGINT": 130}
WORDS = {"SIGTERM": "hrprob: stopped; ", "SIGINT": "hrprob: interrupted; "}


def begin(module, *arguments, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HRPROB_CACHE": ""}
    command = [sys.executable, "-m", module, *arguments, *map(str, FEW), "--quiet"]
    return subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("name", "call"), [("SIGTERM", 5), ("SIGINT", 100), ("SIGTERM", 300)])
def test_a_library_that_starts_up_is_not_interrupted(small, tmp_path, name, call):
    # Before, these ended by SIGSEGV, SIGABRT and an ImportError: jaxlib cannot have what it calls raise.
    with begin(
        "tests.cli.stopped_while_starting", name, str(call), "run", str(small), folder=tmp_path
    ) as process:
        _, err = process.communicate()
    assert err.startswith("sent\n")
    assert (process.returncode, "Traceback" in err) == (CODES[name], False)
    assert WORDS[name] in err
    assert [path.name for path in tmp_path.iterdir()] == [small.name]


@pytest.mark.slow
def test_fresh_starts_that_are_stopped_at_random_moments(small, tmp_path):
    start = time.monotonic()
    with begin("hrprob", "run", str(small), folder=tmp_path) as process:
        process.communicate()
    whole, rng = time.monotonic() - start, random.Random(1)
    for turn in range(12):
        name = ("SIGTERM", "SIGINT")[turn % 2]
        with begin("hrprob", "run", str(small), "--out", "out", folder=tmp_path) as process:
            time.sleep(rng.uniform(0.02, 0.8) * whole)
            process.send_signal(getattr(signal, name))
            _, err = process.communicate()
        # Earlier than the command hears signals, the system ends it, and where the machine was quick it had finished.
        early = {-getattr(signal, name), 0}
        assert process.returncode in {CODES[name], *early}, err
        assert process.returncode in early or "Traceback" not in err
