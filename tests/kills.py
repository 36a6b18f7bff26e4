"""Commands that are killed at random moments and resumed, and what they leave compared with uninterrupted ones.

::

    python -m tests.kills [--times 50] [--signals 5] [--seed 0] [--record FILE] [run suite sweep diagnose reproduce]

Every command is played without interruption first. Then, ``--times`` times: it is started, killed (−9, all its
processes) at one to three random moments, each time repeated with ``--resume``, until it ends; all arrays of the result
must be the same, to the bit, and nothing else may be left. ``--signals`` times each it gets SIGTERM or
SIGINT before it is done, and must end with exit code 143 or 130.

The configurations are small, chunks are written as soon as they are finished, the suite has three policies and the
diagnosis the diagnostics that share data sets, on few of them. A command is a fork of this process, which has imported
everything, drawn a figure and computed nothing: moments are those of the work, not of the imports. Figures are drawn in
it, not in a process of their own, and coarsely. All commands share the programs that the first ones compile. Prints a
line per command, and writes what was counted to the file that ``--record`` names, where it replaces the command's earlier
count (with ``--times 0`` only that of signals, with ``--signals 0`` only that of kills); the exit code is 1 if anything
differs.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import distributed  # noqa: F401 (imported once, for all forks; xarray asks it for locks)
import h5netcdf  # noqa: F401
import numpy as np
import xarray
from matplotlib.figure import Figure

import hrprob
import hrprob.comparison.play
import hrprob.diagnostics.experiment
import hrprob.io.chunks
import hrprob.io.run
import hrprob.reproduce.play
import hrprob.sweeps.play
from hrprob import plot
from hrprob.cli import console_main
from hrprob.diagnostics.base import make_diagnostics
from hrprob.diagnostics.study import Sizes

CONFIGURATION = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, -0.4]
contexts = { kind = "ball", actions = 5 }

[run]
users = 3000
trials = 8
seed = 1

[[policy]]
kind = "hr-ucb"
[[policy]]
kind = "greedy"
"""
SWEEP = """
[sweep]
"problem.link.offset" = { low = 2.0, high = 4.0, points = 4 }
"""
COMMANDS = {
    "run": ["run", "run.toml"],
    "suite": ["suite", "--only", "d2", "--only", "two-actions", "--users", "400", "--trials", "8"],
    "sweep": ["sweep", "sweep.toml"],
    "diagnose": ["diagnose", "run.toml", "--quick", "--policy", "hr-ucb"],
    "reproduce": ["reproduce", "--panel", "c", "--users", "200", "--trials", "4"],
}
POLICIES = ("hr-ucb-released", "greedy", "linucb")
DIAGNOSTICS = ("calibration", "truth")
SIZES = Sizes(
    sets=32,
    users=(5, 10),
    draws=40,
    every_engine=False,
    other_users=10,
    replications=32,
    fits=4,
    rounds=32,
    design_users=20,
    truth_sets=32,
    truth_users=(5, 10),
    refit=1.5,
)
ENDS = {signal.SIGTERM: (143, -signal.SIGTERM), signal.SIGINT: (130, -signal.SIGINT)}


class Child:
    """A command in a process group of its own."""

    def __init__(self, folder, arguments):
        self.said, self.done = Path(folder, "stderr.txt"), Path(folder, "done.txt")
        self.done.unlink(missing_ok=True)
        self.process = os.fork()
        if not self.process:
            run_in_child(folder, self.said, self.done, arguments)
        # Here too: it may be killed before it has done so itself.
        with contextlib.suppress(OSError):
            os.setpgid(self.process, self.process)

    def wait(self, seconds=None):
        """Return the exit code; None if it does not end in this time."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            process, status = os.waitpid(self.process, 0 if end is None else os.WNOHANG)
            if process:
                return os.waitstatus_to_exitcode(status)
            if end is not None and time.monotonic() > end:
                return None
            time.sleep(0.005)

    def had_ended(self, moment):
        """Say whether the command was done at this moment; its process may end a little later."""
        return self.done.exists() and int(self.done.read_text() or moment) < moment


def run_in_child(folder, said, done, arguments):
    """Become the command; never return."""
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        make_smaller()
        sys.argv = ["hrprob", *arguments]
        console_main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    if code == 0:
        done.write_text(str(time.monotonic_ns()))
    os._exit(code)


def make_smaller():
    """Let chunks be written whenever they are finished; have three policies, few diagnostics, and small ones."""
    hrprob.io.chunks.EVERY = 0.0
    whole = hrprob.comparison.play.problems

    def problems(**options):
        return {
            name: one.replace(policies={kind: one.policies[kind] for kind in POLICIES})
            for name, one in whole(**options).items()
        }

    hrprob.comparison.play.problems = problems
    plot.save_in_background = save_here
    Figure.savefig = save_coarsely(Figure.savefig)
    hrprob.diagnostics.experiment.QUICK = SIZES
    hrprob.diagnostics.runner.make_diagnostics = lambda written: make_diagnostics(DIAGNOSTICS)


def start(folder, command, out, *options):
    return Child(folder, [*command, "--out", str(out), "--quiet", *options])


def arrays(out):
    """Return all arrays of a result as bytes, but for times."""
    found = {}
    for file in sorted([*out.glob("*.nc"), *out.glob("parts/*.nc")]):
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


class Pace:
    """How long a command takes: the shortest time that was seen, since other work makes it longer."""

    def __init__(self, seconds):
        self.seconds = seconds

    def see(self, began):
        self.seconds = min(self.seconds, time.perf_counter() - began)


def kill_and_resume(folder, command, pace, rng, wanted):
    """Return whether a command killed and resumed left the wanted arrays and nothing else, and how often it was killed."""
    place = Path(tempfile.mkdtemp(dir=folder))
    out, options, kills, most = place / "out", [], 0, rng.choice((1, 1, 1, 2, 3))
    while True:
        began = time.perf_counter()
        child = start(folder, command, out, *options)
        code = child.wait(rng.uniform(0.0, pace.seconds) if kills < most else None)
        if code == 0 and not kills:
            # It ended before its moment came.
            pace.see(began)
            shutil.rmtree(out)
            continue
        if code is not None:
            break
        os.killpg(child.process, signal.SIGKILL)
        child.wait()
        kills += 1
        assert not out.exists() or belongs_together(out)
        options = ["--resume"]
    good = code == 0 and arrays(out) == wanted and belongs_together(out)
    good = good and [path.name for path in place.iterdir()] == ["out"]
    if not good:
        print(f"{command[0]}: exit code {code}; {child.said.read_text()}", file=sys.stderr)
    shutil.rmtree(place)
    return good, kills


def stop(folder, command, pace, rng, number):
    """Return whether a command that gets a signal ends as it should; None if it ended before."""
    place = Path(tempfile.mkdtemp(dir=folder))
    began = time.perf_counter()
    child = start(folder, command, place / "out")
    code = child.wait(rng.uniform(0.1, 0.9) * pace.seconds)
    moment = time.monotonic_ns()
    if code is None:
        os.kill(child.process, number)
        code = child.wait()
    else:
        pace.see(began)
    shutil.rmtree(place)
    # A command that goes on to its end in spite of the signal has not ended before.
    if code == 0 and child.had_ended(moment):
        return None
    if code not in ENDS[number]:
        print(f"{command[0]}: signal {number}, exit code {code}; {child.said.read_text()}", file=sys.stderr)
    return code in ENDS[number]


def stop_often(folder, command, pace, rng, times):
    """Return how it ended each time, for so many signals of every kind, and how often it had ended before one."""
    ends, before = [], 0
    while len(ends) < times * len(ENDS):
        one = stop(folder, command, pace, rng, list(ENDS)[len(ends) % len(ENDS)])
        if one is None:
            before += 1
        else:
            ends.append(one)
    return ends, before


def series(folder, name, asked, rng):
    """Play the series of one command, print its line, and return what was counted."""
    command = COMMANDS[name]
    pace = Pace(float("inf"))
    # Twice: the first may have to compile.
    for turn in range(2):
        began = time.perf_counter()
        child = start(folder, command, folder / f"{name}-{turn}")
        assert child.wait() == 0, child.said.read_text()
        pace.see(began)
    wanted = arrays(folder / f"{name}-0")
    same = wanted == arrays(folder / f"{name}-1")
    counts = {"repeated to the same bits": same, "arrays": len(wanted)}
    if asked.times:
        found = [kill_and_resume(folder, command, pace, rng, wanted) for _ in range(asked.times)]
        counts["killed and resumed"] = len(found)
        counts["with the same bits"] = sum(good for good, _ in found)
        counts["kills"] = sum(kills for _, kills in found)
    if asked.signals:
        ends, before = stop_often(folder, command, pace, rng, asked.signals)
        counts["stopped"] = len(ends)
        counts["with the right exit code"] = sum(ends)
        counts["ended before"] = before
    print(f"{name} ({pace.seconds:.1f} s): {counts}", flush=True)
    return counts


def is_good(counts):
    return (
        counts["repeated to the same bits"]
        and counts.get("with the same bits") == counts.get("killed and resumed")
        and counts.get("with the right exit code") == counts.get("stopped")
    )


def draw_once(folder):
    """Let fonts be found and the parts of matplotlib be imported once, for all forks."""
    figure = Figure(layout="constrained")
    figure.subplots().plot([1, 2], label="some $x^2$")
    figure.legend()
    plot.save(figure, folder, "warm")


@contextlib.contextmanager
def save_here():
    """Draw in this process: another one would take two seconds to start, every time."""
    yield plot.save


def save_coarsely(savefig):
    """Return what saves a figure with few dots, and no SVG: drawing would be most of the work."""

    def save(figure, path, **options):
        # Backends are loaded by drawing to no file.
        if isinstance(path, Path) and path.suffix == ".svg":
            path.write_text("<svg/>")
        else:
            savefig(figure, path, dpi=20, **options)

    return save


def write_record(file, name, counts):
    """Put the counts of a command into a file, beside those of others; what was not asked for stays."""
    facts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    facts["command"], facts["hrprob"] = "python -m tests.kills", hrprob.__version__
    facts.setdefault("counts", {}).setdefault(name, {}).update(counts)
    file.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commands", nargs="*", default=list(COMMANDS))
    for name, default in (("times", 50), ("signals", 5), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    # A shell that starts this in the background has it ignore Ctrl-C, and commands respect that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp())
    (folder / "run.toml").write_text(CONFIGURATION)
    (folder / "sweep.toml").write_text(CONFIGURATION.replace("3000", "500") + SWEEP)
    draw_once(folder)
    good = []
    for name in asked.commands:
        counts = series(folder, name, asked, random.Random(f"{name} {asked.seed}"))
        good.append(is_good(counts))
        if asked.record is not None:
            write_record(asked.record, name, counts)
    shutil.rmtree(folder)
    sys.exit(int(not all(good)))


if __name__ == "__main__":
    main()
