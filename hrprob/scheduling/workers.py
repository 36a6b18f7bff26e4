"""What happens in a worker: it is prepared once, and plays tasks."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from hrprob.io.unfinished import versions
from hrprob.simulation.tasks import Job

__all__ = ["Done", "Preparation", "play_in_worker"]

R = TypeVar("R")

# Dask starts its workers with this variable: memory that was freed goes back to the system at once, which costs the
# engine, whose chunks ask for the same arrays again and again, up to half of its time.
_TRIMMING, _OF_DASK = "MALLOC_TRIM_THRESHOLD_", "65536"


class Preparation(NamedTuple):
    """What a worker does before its first task."""

    modules: tuple[str, ...]  # it imports these
    folder: str  # where they may lie
    prepare: Callable[[], object] | None  # it calls this
    processes: int | None = None  # it is one of so many, if they share this machine


class Done(NamedTuple, Generic[R]):
    """A task that a worker has played."""

    result: R
    versions: Mapping[str, object]  # of the libraries and of hrprob's own code there


def play_in_worker(task: Job[R], preparation: Preparation, threads: int) -> Done[R]:
    """Play a task in a worker."""
    _prepare(preparation)
    return Done(task.play(workers=threads), versions())


@functools.cache
def _prepare(preparation: Preparation) -> None:
    if preparation.processes is not None:
        _stay_on_own_cores(preparation.processes)
    if os.environ.get(_TRIMMING) == _OF_DASK:
        del os.environ[_TRIMMING]
    if preparation.prepare is not None:
        preparation.prepare()
    if preparation.modules and os.path.isdir(preparation.folder) and preparation.folder not in sys.path:
        sys.path.insert(0, preparation.folder)
    for name in preparation.modules:
        importlib.import_module(name)


def _stay_on_own_cores(processes: int) -> None:
    """Compute on a part of the cores that no other process of the same scheduler has, if there are enough.

    JAX starts a thread per core. Threads of several processes that move between the same cores take a quarter longer.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    import distributed

    cores = sorted(os.sched_getaffinity(0))
    if len(cores) >= processes:
        place = int(distributed.get_worker().name) % processes
        # Of this thread and those that it starts; the one that talks to the scheduler goes where there is room.
        os.sched_setaffinity(0, set(cores[place::processes]))
