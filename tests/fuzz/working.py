"""The work of a process: some inputs of one reader."""

from __future__ import annotations

import collections
import contextlib
import os
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.readers import feed

__all__ = ["PLAYED", "Found", "Work", "begin", "do"]

PLAYED = "played"
"""The name of the work that plays configurations."""

# Seconds that an input may take, and that a configuration may, whose program may have to be compiled.
_SECONDS, _SECONDS_TO_PLAY = 20, 300


class Work(NamedTuple):
    """Some inputs of one reader."""

    name: str
    numbers: range
    seed: int
    end: float  # when to stop, by the clock


class Found(NamedTuple):
    """How they ended."""

    name: str
    ends: collections.Counter[str]
    failures: list[str]
    seconds: float  # of the processor


class TooLong(BaseException):
    """An input took too long."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise in the body if it takes too long."""

    def ring(number: int, frame: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def do(work: Work) -> Found:
    """Let a reader have its inputs."""
    ends: collections.Counter[str] = collections.Counter()
    failures, began = [], time.process_time()
    for number in work.numbers:
        if time.time() > work.end:
            break
        try:
            with limited(_SECONDS_TO_PLAY if work.name == PLAYED else _SECONDS):
                ends[one(work, number)] += 1
        except (Exception, TooLong) as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            failures.append(f"{work.name} {number}: {type(error).__name__}: {str(error)[:300]} ({where})")
    return Found(work.name, ends, failures, time.process_time() - began)


def one(work: Work, number: int) -> str:
    """Return how one input ended."""
    if work.name == PLAYED:
        from tests.fuzz.played import play

        return play(number, work.seed)
    return "accepted" if feed(work.name, number, work.seed, Path.cwd()) else "refused"


def begin(whole: str) -> None:
    """Give a process a folder of its own, with a copy of all whole inputs."""
    warnings.simplefilter("ignore")
    place = tempfile.mkdtemp(dir=Path(whole).parent)
    shutil.copytree(whole, place, dirs_exist_ok=True)
    os.chdir(place)
