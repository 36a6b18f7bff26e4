"""From what ``--scheduler`` says to a scheduler."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence

from hrprob._core.errors import InvalidInput, check_count
from hrprob.simulation.tasks import InProcess, Scheduler

__all__ = ["is_here", "open_scheduler"]

_REMEDY = "write local, local:4 for four processes here, or the address of a Dask scheduler, tcp://host:8786"


@contextlib.contextmanager
def open_scheduler(
    place: str | Scheduler | None,
    *,
    modules: Sequence[str] = (),
    prepare: Callable[[], object] | None = None,
) -> Iterator[Scheduler]:
    """Give the scheduler that a text names; processes that it started end with the context.

    Parameters
    ----------
    place : str, Scheduler or None
        ``None``: this process. ``"local"``: a process per core here, ``"local:4"``: four. ``"tcp://host:8786"``,
        or any other address that Dask understands: a cluster that is running. A scheduler is given back as it is.
    modules : sequence of str
        Modules that every worker imports first, for what they register.
    prepare : callable, optional
        Called once in every worker before its first task; a function of a module, which workers import.

    Raises
    ------
    InvalidInput
        If Dask is not installed, the text names no scheduler, or none answers.

    Examples
    --------
    >>> with open_scheduler(None) as scheduler:
    ...     type(scheduler).__name__
    'InProcess'
    """
    if place is None:
        yield InProcess()
        return
    if not isinstance(place, str):
        yield place
        return
    processes = _processes(place)
    if processes is None and "://" not in place:
        raise InvalidInput("scheduler", "must be a place where tasks are played", place, _REMEDY)
    try:
        from hrprob.scheduling import cluster
    except ImportError as error:
        remedy = f"pip install 'hrprob[dask]' ({error})"
        raise InvalidInput("scheduler", "must have Dask", place, remedy) from None
    opened = cluster.processes_here(processes) if processes is not None else cluster.cluster_at(place)
    with opened as client:
        yield cluster.DaskScheduler(client, modules=modules, prepare=prepare, processes=processes)


def is_here(place: str | Scheduler | None) -> bool:
    """Say whether tasks are played in the memory of this machine, as far as that is known.

    Examples
    --------
    >>> is_here("local:4"), is_here("tcp://host:8786")
    (True, False)
    """
    return isinstance(place, InProcess | None) or (isinstance(place, str) and "://" not in place)


def _processes(place: str) -> int | None:
    """Return how many processes ``local`` or ``local:N`` asks for; None for anything else."""
    name, _, count = place.partition(":")
    if name != "local":
        return None
    if not count and ":" not in place:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    number = int(count) if count.isascii() and count.isdecimal() and len(count) < 6 else count
    return check_count("scheduler", number, remedy=_REMEDY)
