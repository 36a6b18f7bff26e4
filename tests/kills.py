"""Commands that are killed at random moments and resumed, and what they leave compared with uninterrupted ones.

::

    python -m tests.kills [--times 50] [--signals 25] [--seed 0] [run suite sweep reproduce]

Every command is played once without interruption. Then, ``--times`` times: it is started, killed (−9, all its
processes) at a random moment, and repeated with ``--resume`` until it ends; all arrays of the result must be
the same, to the bit, and nothing else may be left. ``--signals`` times each it gets SIGTERM or SIGINT, and
must end with exit code 143 or 130. Chunks are written as soon as they are finished, not every half minute.
Prints a line per command; the exit code is 1 if anything differs.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray

CONFIGURATION = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, -0.4]
contexts = { kind = "ball", actions = 5 }

[run]
users = 20000
trials = 40
seed = 1

[[policy]]
kind = "hr-ucb"
[[policy]]
kind = "greedy"
"""
SWEEP = """
[sweep]
"problem.link.offset" = { low = 2.0, high = 4.0, points = 8 }
"""
COMMANDS = {
    "run": ["run", "run.toml"],
    "sweep": ["sweep", "sweep.toml"],
    "suite": ["suite", "--only", "d2", "--only", "two-actions", "--users", "500", "--trials", "4"],
    "reproduce": ["reproduce", "--panel", "c", "--users", "500", "--trials", "4"],
}
# The command line, but chunks are written whenever they are finished.
PROGRAM = "import hrprob.io.chunks as c; c.EVERY = 0.0; from hrprob.cli import console_main; console_main()"
ENDS = {signal.SIGTERM: (143, -signal.SIGTERM), signal.SIGINT: (130, -signal.SIGINT)}


def start(folder, command, out, *options):
    arguments = [sys.executable, "-c", PROGRAM, *command, "--out", str(out), "--quiet", *options]
    return subprocess.Popen(arguments, cwd=folder, start_new_session=True, stderr=subprocess.PIPE, text=True)


def arrays(out):
    """Return all arrays of a result as bytes, but for times."""
    found = {}
    for file in sorted([*out.glob("results.nc"), *out.glob("parts/*.nc")]):
        with xarray.open_datatree(file, engine="h5netcdf") as tree:
            for node in tree.subtree:
                for name, values in node.to_dataset().drop_vars("seconds", errors="ignore").variables.items():
                    found[f"{file.name}{node.path}:{name}"] = np.asarray(values.values).tobytes()
    for file in sorted((out / "results.zarr").rglob("*")):
        if file.is_file():
            found[str(file.relative_to(out))] = file.read_bytes()
    assert found, out
    return found


def belongs_together(out):
    """Say whether the files of a result are those of its manifest."""
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    return files - {"manifest.json"} == set(facts["sha256"])


def kill_and_resume(folder, command, seconds, rng, wanted):
    """Return whether a killed and resumed command left the wanted arrays and nothing else."""
    place = Path(tempfile.mkdtemp(dir=folder))
    out, options, left = place / "out", [], 3
    while True:
        process = start(folder, command, out, *options)
        if left:
            left -= 1
            try:
                process.communicate(timeout=rng.uniform(0.0, seconds))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                assert not out.exists() or belongs_together(out)
                options = ["--resume"]
                continue
        error = process.communicate()[1]
        break
    good = process.returncode == 0 and arrays(out) == wanted and belongs_together(out)
    good = good and [path.name for path in place.iterdir()] == ["out"]
    if not good:
        print(f"{command[0]}: exit code {process.returncode}; {error}", file=sys.stderr)
    shutil.rmtree(place)
    return good


def stop(folder, command, seconds, rng, number):
    """Return whether a command that gets a signal ends as it should; None if it ended before."""
    place = Path(tempfile.mkdtemp(dir=folder))
    process = start(folder, command, place / "out")
    time.sleep(rng.uniform(0.2 * seconds, seconds))
    if process.poll() is None:
        process.send_signal(number)
    error = process.communicate()[1]
    code, ended = process.returncode, (place / "out").exists()
    shutil.rmtree(place)
    if code == 0 and ended:
        return None
    if code not in ENDS[number]:
        print(f"{command[0]}: signal {number}, exit code {code}; {error}", file=sys.stderr)
    return code in ENDS[number]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commands", nargs="*", default=list(COMMANDS))
    for name, default in (("times", 50), ("signals", 25), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    (folder / "run.toml").write_text(CONFIGURATION)
    (folder / "sweep.toml").write_text(CONFIGURATION.replace("20000", "1000") + SWEEP)
    rng, failed = random.Random(asked.seed), False
    for name in asked.commands:
        command = COMMANDS[name]
        # Twice: the first compiles, and the second says how long it takes.
        for turn in range(2):
            began = time.perf_counter()
            process = start(folder, command, folder / f"{name}-{turn}")
            error = process.communicate()[1]
            assert process.returncode == 0, error
            seconds = time.perf_counter() - began
        wanted = arrays(folder / f"{name}-0")
        same = wanted == arrays(folder / f"{name}-1")
        good = sum(kill_and_resume(folder, command, seconds, rng, wanted) for _ in range(asked.times))
        ends = [stop(folder, command, seconds, rng, kind) for kind in ENDS for _ in range(asked.signals)]
        ended = [one for one in ends if one is not None]
        print(
            f"{name}: {good} of {asked.times} killed and resumed with the same bits; "
            f"{sum(ended)} of {len(ended)} stopped with the right exit code "
            f"({len(ends) - len(ended)} ended before); repeated: {'same' if same else 'not the same'}",
            flush=True,
        )
        failed = failed or not same or good < asked.times or not all(ended)
    shutil.rmtree(folder)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
