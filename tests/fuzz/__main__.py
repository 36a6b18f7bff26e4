"""Feed every reader with inputs that are changed at random, and play configurations that are accepted.

::

    python -m tests.fuzz [--inputs 1000000] [--played 3000] [--seed 0] [--minutes 60] [--processes N] [--record FILE] [READER ...]

A reader may accept an input or refuse it with :class:`~hrprob._core.errors.InvalidInput`, the error that becomes exit
code 2. Anything else is printed with the number that repeats it (``--from NUMBER --inputs 1 --played 0 READER``): another
exception, a NaN that was accepted, more than 20 seconds. ``--played`` configurations are played against a plain
loop, as far as they are accepted. The exit code is 1 if anything was found. ``--minutes`` ends it earlier; what was done
is printed, and written to the file that ``--record`` names while the command runs; what the file has of other readers stays.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

import hrprob
from tests.fuzz.readers import READERS, prepare
from tests.fuzz.working import PLAYED, Found, Work, begin, do

# How often readers get an input, so that none takes most of the time: to read HDF5 takes 50 times as long as to read a table.
WEIGHTS = {"netcdf": 0.06, "posterior": 0.02}
# Inputs that a process has at a time.
_AT_A_TIME = 500
_MOST_SHOWN = 5
# Files in memory, where there is such a folder.
_MEMORY = Path("/dev/shm")


def all_work(asked: argparse.Namespace) -> list[Work]:
    """Return what was asked for, in portions, all readers side by side."""
    weights = {name: WEIGHTS.get(name, 1.0) for name in asked.readers}
    counts = {name: round(asked.inputs * weight / sum(weights.values())) for name, weight in weights.items()}
    end = time.time() + 60 * asked.minutes
    work: list[tuple[float, Work]] = []
    for name, count in {**counts, PLAYED: asked.played}.items():
        first = 0 if name == PLAYED else asked.first
        portion = max(1, min(_AT_A_TIME, count // asked.processes))
        for low in range(0, count, portion):
            numbers = range(first + low, first + min(low + portion, count))
            work.append((low / count, Work(name, numbers, asked.seed, end)))
    return [one for _, one in sorted(work, key=lambda entry: entry[0])]


class Record:
    """What was done so far, in a file if one is asked for."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.began, self.file, self.failures = time.perf_counter(), asked.record, []
        self.earlier = self._earlier(asked)
        self.ends: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.seconds: collections.Counter[str] = collections.Counter()
        self.command = (
            f"python -m tests.fuzz --inputs {asked.inputs} --played {asked.played} --seed {asked.seed}"
        )

    @staticmethod
    def _earlier(asked: argparse.Namespace) -> dict[str, dict[str, float]]:
        """Return what the file has of readers that get no input now."""
        if asked.record is None or not asked.record.exists():
            return {}
        now = {*asked.readers, *([PLAYED] if asked.played else [])}
        readers = json.loads(asked.record.read_text(encoding="utf-8"))["readers"]
        return {name: ends for name, ends in readers.items() if name not in now}

    def add(self, found: Found) -> None:
        self.ends[found.name] += found.ends
        self.ends[found.name]["failed"] += len(found.failures)
        self.seconds[found.name] += found.seconds
        for line in found.failures[: max(0, _MOST_SHOWN - len(self.failures))]:
            print(line, flush=True)
        self.failures += found.failures
        if self.file is not None:
            self.file.write_text(json.dumps(self.facts(), indent=1) + "\n", encoding="utf-8")

    def facts(self) -> dict[str, object]:
        readers = self.earlier | {
            name: dict(sorted(ends.items())) | {"seconds": round(self.seconds[name], 2)}
            for name, ends in sorted(self.ends.items())
        }
        counts = {
            name: sum(count for end, count in ends.items() if end != "seconds")
            for name, ends in readers.items()
        }
        return {
            "command": self.command,
            "hrprob": hrprob.__version__,
            "inputs": sum(count for name, count in counts.items() if name != PLAYED),
            "processor_seconds": round(sum(ends["seconds"] for ends in readers.values())),
            "failures": self.failures,
            "readers": readers,
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("readers", nargs="*", default=list(READERS))
    for name, default in (("inputs", 1_000_000), (PLAYED, 3000), ("seed", 0), ("processes", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    record = Record(asked)
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as place:
        whole = Path(place, "whole")
        whole.mkdir()
        prepare(whole)
        context = multiprocessing.get_context("spawn")
        with context.Pool(asked.processes, begin, (str(whole),)) as pool:
            for found in pool.imap_unordered(do, all_work(asked)):
                record.add(found)
    facts = record.facts()
    for name, ends in record.ends.items():
        said = ", ".join(f"{how} {times}" for how, times in sorted(ends.items()))
        print(f"{name}: {ends.total()}: {said}")
    seconds = time.perf_counter() - record.began
    print(f"{facts['inputs']} inputs, {len(record.failures)} failed; {seconds:.0f} s")
    sys.exit(int(bool(record.failures)))


if __name__ == "__main__":
    main()
