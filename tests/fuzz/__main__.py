"""Feed every reader with inputs that are changed at random, and play configurations that are accepted.

::

    python -m tests.fuzz [--inputs 1000000] [--played 2500] [--seed 0] [--minutes 60] [--processes N] [READER ...]

A reader may accept an input or refuse it with :class:`~hrprob._core.errors.InvalidInput`, the error that becomes exit
code 2. Anything else is printed with the number that repeats it (``--from NUMBER --inputs 1 --played 0 READER``): another
exception, a NaN that was accepted, more than 20 seconds. ``--played`` configurations are played against a plain
loop, as far as they are accepted. The exit code is 1 if anything was found. ``--minutes`` ends it earlier; what was done
is printed.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.readers import READERS, prepare
from tests.fuzz.working import PLAYED, Work, begin, do

# How often readers get an input: to read HDF5 takes ten times as long as a table.
WEIGHTS = {"netcdf": 0.2, "posterior": 0.1}
# Inputs that a process has at a time.
_AT_A_TIME = 1000
_MOST_SHOWN = 5


def all_work(asked: argparse.Namespace) -> list[Work]:
    """Return what was asked for, in portions."""
    weights = {name: WEIGHTS.get(name, 1.0) for name in asked.readers}
    counts = {name: round(asked.inputs * weight / sum(weights.values())) for name, weight in weights.items()}
    end = time.time() + 60 * asked.minutes
    work = []
    for name, count in {**counts, PLAYED: asked.played}.items():
        first = 0 if name == PLAYED else asked.first
        portion = max(1, min(_AT_A_TIME, count // asked.processes))
        for low in range(first, first + count, portion):
            work.append(Work(name, range(low, min(low + portion, first + count)), asked.seed, end))
    return work


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("readers", nargs="*", default=list(READERS))
    for name, default in (("inputs", 1_000_000), (PLAYED, 2500), ("seed", 0), ("processes", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    began, totals, failures = time.perf_counter(), collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole")
        whole.mkdir()
        prepare(whole)
        context = multiprocessing.get_context("spawn")
        with context.Pool(asked.processes, begin, (str(whole),)) as pool:
            for found in pool.imap_unordered(do, all_work(asked)):
                totals[found.name] += found.ends
                totals[found.name]["failed"] += len(found.failures)
                for line in found.failures[: max(0, _MOST_SHOWN - len(failures))]:
                    print(line, flush=True)
                failures += found.failures
    for name, ends in totals.items():
        said = ", ".join(f"{how} {times}" for how, times in sorted(ends.items()))
        print(f"{name}: {sum(ends.values())}: {said}")
    inputs = sum(sum(ends.values()) for name, ends in totals.items() if name != PLAYED)
    print(f"{inputs} inputs in {time.perf_counter() - began:.0f} s, {len(failures)} failed")
    sys.exit(int(bool(failures)))


if __name__ == "__main__":
    main()
