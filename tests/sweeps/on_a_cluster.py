"""A sweep of 64 points on two processes, one of which is killed three times, against one process with one thread.

::

    python -m tests.sweeps.on_a_cluster [--points 64] [--trials 20] [--users 5000] [--kills 3] [--policies ucb|thompson]

Prints the seconds of both, on the clock and of the processors (which do not depend on what else the machine does), and whether all
files of the results are the same. ``--kills 0`` compares their speed without what is played twice. Three policies in closed form,
``ucb``, take seconds in all, so that the start of processes and the figure count; by default Thompson sampling is beside them.
"""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIGURATION = """
[problem]
theta = [0.6, 0.5, 0.5, 0.3]
phi = [0.5, 0.2, 0.8, 0.9]
contexts = {{ kind = "sphere", actions = 20 }}

[run]
users = {users}
trials = {trials}

[[policy]]
kind = "hr-ucb"
[[policy]]
kind = "greedy"
[[policy]]
kind = "linucb"
{more}
[sweep]
"problem.link.offset" = {{ low = 2.0, high = 4.0, points = {side} }}
"policy.hr-ucb.ridge" = {{ low = 0.1, high = 10.0, points = {side}, scale = "log" }}
"""

MORE = {"ucb": "", "thompson": '[[policy]]\nkind = "thompson"\nengine = "laplace"\n'}

_PR_SET_CHILD_SUBREAPER = 36  # of Linux's prctl


def start(file, out, *options):
    command = [sys.executable, "-m", "hrprob.cli", "sweep", str(file), "--out", str(out), "--quiet", *options]
    return subprocess.Popen(command)


def kill_workers(process, kills, pause):
    """Kill a worker of a sweep, several times, and return how often that was possible."""
    done = 0
    # Whether it has ended is only looked at: its times are still to be read.
    while done < kills and not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(pause)
        workers = workers_of(process.pid)
        if workers:
            os.kill(workers[done % len(workers)], signal.SIGKILL)
            done += 1
    return done


def workers_of(parent):
    """Return the processes that play: forks of one that a sweep has started, or spawned."""
    started = children(parent)
    forked = [pid for server in started if "forkserver" in command_of(server) for pid in children(server)]
    return forked or [pid for pid in started if "spawn_main" in command_of(pid)]


def become_reaper():
    """Be the parent of processes whose parent has ended, so that their times are counted."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_all(process):
    """Return how a process ended, and the seconds of processors of it and of all that it started."""
    before, status = os.times(), None
    while True:
        try:
            pid, ended = os.wait()
        except ChildProcessError:
            after = os.times()
            return status, sum(after[2:4]) - sum(before[2:4])
        if pid == process.pid:
            status = ended


def children(parent):
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return sorted(pid for pid in pids if parent_of(pid) == parent)


def parent_of(pid):
    try:
        return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def command_of(pid):
    try:
        return Path("/proc", str(pid), "cmdline").read_text()
    except OSError:
        return ""


def content(out):
    return {
        path.relative_to(out): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("points", 64), ("trials", 20), ("users", 5000), ("kills", 3), ("pause", 6)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--policies", choices=MORE, default="thompson")
    arguments = parser.parse_args()
    become_reaper()
    folder = Path(tempfile.mkdtemp())
    file = folder / "sweep.toml"
    side = round(arguments.points**0.5)
    sizes = {"users": arguments.users, "trials": arguments.trials, "side": side}
    file.write_text(CONFIGURATION.format(**sizes, more=MORE[arguments.policies]))
    seconds, results = {}, {}
    for name, options in (("one thread", []), ("two processes", ["--scheduler=local:2"])):
        began = time.perf_counter()
        process = start(file, folder / name, *options)
        if not options:
            os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        kills = kill_workers(process, arguments.kills, arguments.pause) if options else 0
        status, processors = wait_for_all(process)
        assert status == 0, name
        seconds[name], results[name] = time.perf_counter() - began, content(folder / name)
        same = results[name] == results["one thread"]
        ratio = seconds["one thread"] / seconds[name]
        print(
            f"{name}: {seconds[name]:.1f} s, {ratio:.2f} times as fast, "
            f"{processors:.1f} s of processors, {kills} kills, same bytes: {same}",
            flush=True,
        )
    shutil.rmtree(folder)
    if not all(result == results["one thread"] for result in results.values()):
        sys.exit("the results differ")


if __name__ == "__main__":
    main()
