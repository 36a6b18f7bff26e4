"""CPU and wall seconds of a call, compilation apart; peak memory of a process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ROOT", "Cost", "in_process", "measured", "own_peak", "prepare", "second"]

ROOT = Path(__file__).parents[1]


class Cost(NamedTuple):
    """Seconds of a call."""

    cpu: float  # of all threads of the process
    wall: float

    def over(self, number: float) -> dict[str, float]:
        """Return the seconds divided by a number of users, draws or calls."""
        return {"cpu": self.cpu / number, "wall": self.wall / number}


def prepare() -> None:
    """Set JAX as the command line does, with its cache of programs."""
    from hrprob.cli.jax_setup import prepare_jax

    prepare_jax()


def measured(call: Callable[[], Any]) -> Cost:
    """Return the seconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def second(call: Callable[[], Any], repeats: int = 3, between: Callable[[], Any] = int) -> tuple[Cost, Cost]:
    """Return the seconds of the first call, which compiles, and the least of later ones; ``between`` is called before each."""
    first = measured(call)
    later = []
    for _ in range(repeats):
        between()
        later.append(measured(call))
    return first, Cost(min(cost.cpu for cost in later), min(cost.wall for cost in later))


def in_process(code: str, **environment: str) -> tuple[str, Cost]:
    """Run Python code in a process of its own; return what it printed, and its seconds."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=variables
    )
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, Cost(cpu, wall)


def own_peak() -> float:
    """Return the peak resident memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would not do: a process inherits the peak of the one that started it.
        return next(float(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS
