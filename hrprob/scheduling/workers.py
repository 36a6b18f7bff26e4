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


class Preparation(NamedTuple):
    """What a worker does before its first task."""

    modules: tuple[str, ...]  # it imports these
    folder: str  # where they may lie
    prepare: Callable[[], object] | None  # it calls this


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
    if preparation.prepare is not None:
        preparation.prepare()
    if preparation.modules and os.path.isdir(preparation.folder) and preparation.folder not in sys.path:
        sys.path.insert(0, preparation.folder)
    for name in preparation.modules:
        importlib.import_module(name)
