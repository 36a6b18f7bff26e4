"""Tasks on Dask: processes on this machine, or any cluster that has a scheduler.

Dask plays a task again if its worker dies, and starts a new worker in its place on this machine. A task that has
taken more than :data:`ALLOWED_DEATHS` workers with it is given up.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

import dask
import distributed

from hrprob._core.errors import InvalidInput
from hrprob.io.unfinished import differences, versions
from hrprob.scheduling.forks import begin_imports
from hrprob.scheduling.workers import Done, Preparation, play_in_worker
from hrprob.simulation.checkpoints import ChunkStore
from hrprob.simulation.tasks import Job

__all__ = ["ALLOWED_DEATHS", "DaskScheduler", "cluster_at", "processes_here"]

R = TypeVar("R")

ALLOWED_DEATHS = 10
"""Workers that may die while a task is theirs, before it is given up."""

# Seconds to wait for a scheduler to answer, and for its first worker.
_PATIENCE, _PATIENCE_WITH_WORKERS = "10s", 60
# Seconds between two looks at the workers, and how often they are started before that is given up.
_LOOK_AFTER, _STARTS = 5.0, 3
# Not what other libraries take when they look for a client: xarray would lock every file by way of the scheduler, under the
# name of a buffer in memory, which the next buffer may have while the lock is being removed.
_OURS_ALONE = False
# Tasks that are handed out beyond those that can be played at once: workers never wait, and few results do.
_AHEAD = 2


class DaskScheduler:
    """Plays tasks on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
        The client.
    modules : sequence of str
        Modules that every worker imports first.
    prepare : callable, optional
        Called once in every worker, before its first task.
    processes : int, optional
        How many workers there must be, if they are processes of this machine.
    """

    def __init__(
        self,
        client: distributed.Client,
        *,
        modules: Sequence[str] = (),
        prepare: Callable[[], object] | None = None,
        processes: int | None = None,
    ) -> None:
        self._client, self._processes = client, processes
        self._preparation = Preparation(tuple(modules), os.getcwd(), prepare, processes)

    def play(
        self,
        tasks: Sequence[Job[R]],
        report: Callable[[int], None],
        store: Callable[[int], ChunkStore | None],
    ) -> Iterator[tuple[int, R]]:
        """Yield the number of each task and its result, as workers finish them."""
        waiting = deque(range(len(tasks)))
        running: dict[distributed.Future[Done[R]], int] = {}
        finished: SimpleQueue[distributed.Future[Done[R]]] = SimpleQueue()
        try:
            while waiting or running:
                threads = list(self._client.nthreads().values())
                while waiting and len(running) < sum(threads) + _AHEAD:
                    number = waiting.popleft()
                    future = self._client.submit(
                        play_in_worker, tasks[number], self._preparation, max(threads, default=1), pure=False
                    )
                    running[future] = number
                    future.add_done_callback(finished.put)
                for done in self._first_of(finished):
                    number = running.pop(done)
                    result = self._result_of(done)
                    done.release()
                    report(tasks[number].size)
                    yield number, result
        finally:
            self._client.cancel(list(running))

    def _first_of(self, finished: SimpleQueue[distributed.Future[R]]) -> list[distributed.Future[R]]:
        """Return a task that is finished; none after a while, so that workers are looked after."""
        try:
            # Dask's own function to wait needs a client that is everybody's.
            return [finished.get(timeout=_LOOK_AFTER)]
        except Empty:
            started = self._client.cluster
            if self._processes and started is not None and len(self._client.nthreads()) < self._processes:
                # Dask replaces a worker that dies, but not one that dies while it starts.
                started.scale(self._processes)
            return []

    def _result_of(self, future: distributed.Future[Done[R]]) -> R:
        try:
            done = future.result()
        except distributed.KilledWorker as error:
            # Of the machine, not of the input: a worker without enough memory, for example.
            raise ChildProcessError(
                f"more than {ALLOWED_DEATHS} workers died while they played one task: {error}"
            ) from None
        found = differences(done.versions, versions())
        if found:
            must = "must run the same versions as this process"
            raise InvalidInput("scheduler", must, self._client.scheduler_info()["address"], "; ".join(found))
        return done.result


@contextlib.contextmanager
def processes_here(count: int) -> Iterator[distributed.Client]:
    """Start a scheduler and ``count`` processes on this machine, which nobody else can reach."""
    settings = {
        **_SETTINGS,
        "distributed.scheduler.allowed-failures": ALLOWED_DEATHS,
        # The operating system says when a process here has died. Silence says nothing: the machine may have slept.
        "distributed.scheduler.worker-ttl": None,
        "distributed.worker.multiprocessing-method": begin_imports(),
    }
    with (
        dask.config.set(settings),
        _quiet(),
        _start_cluster(count) as cluster,
        distributed.Client(cluster, set_as_default=_OURS_ALONE) as client,
    ):
        yield client


def _start_cluster(count: int) -> distributed.LocalCluster:
    """Start a cluster; again, if a process dies while it starts."""
    for left in reversed(range(_STARTS)):
        try:
            return distributed.LocalCluster(
                host="127.0.0.1",
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                # Without an address, the pages on its state would be open to the whole network.
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                memory_limit=None,
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError as error:
            if not left:
                reason = f"{count} processes could not be started: {error.__cause__ or error}"
                raise ChildProcessError(reason) from None
    raise AssertionError("unreachable")


@contextlib.contextmanager
def cluster_at(address: str) -> Iterator[distributed.Client]:
    """Connect to the scheduler of a cluster, and wait for its first worker."""
    with dask.config.set(_SETTINGS), _quiet():
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=_OURS_ALONE)
        except (OSError, TimeoutError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            reason = ""
        if reason:
            # Closed now: Dask's half-made client would wait for ever if it were collected while another one starts.
            gc.collect()
            raise InvalidInput("scheduler", "must be a Dask scheduler that answers", address, reason)
        with client:
            try:
                client.wait_for_workers(1, timeout=_PATIENCE_WITH_WORKERS)
            except TimeoutError as error:
                raise InvalidInput("scheduler", "must have a worker", address, str(error)) from None
            yield client


_SETTINGS = {
    # A machine with more to do than it can lets a process wait for minutes.
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
    "distributed.admin.tick.limit": "1h",
    "distributed.diagnostics.nvml": False,
}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log off the terminal: workers that come and go are its business, and errors are raised."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
