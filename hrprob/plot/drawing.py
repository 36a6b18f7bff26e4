"""Figures of a run, drawn by another process while this one does other work.

Matplotlib takes as long to import as a run of some thousand users takes to play, and drawing keeps one core busy: Python's threads
could do nothing else meanwhile. A command starts the process first of all, before it imports JAX itself.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob._core.stopping import undisturbed
from hrprob.simulation.reading import with_oracles

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import xarray

__all__ = ["BeginDrawing", "draw_run", "drawing_process"]

BeginDrawing = Callable[["xarray.Dataset", Path], Callable[[], None]]
"""Begins to write the figures of a run into a folder; what it returns waits for them."""

# A larger run would be in memory twice; drawing it takes little of its time.
_MOST_BYTES = 2**27
_LOADED = ("hrprob.plot.regret_curves", "hrprob.plot.lifetime_rows", "hrprob.plot.saving")


def draw_run(dataset: xarray.Dataset, folder: Path) -> None:
    """Write ``regret`` and ``lifetime`` as PNG and SVG files into a folder.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.
    folder : Path
        The folder.
    """
    from hrprob.plot.lifetime_rows import plot_lifetime
    from hrprob.plot.regret_curves import plot_regret
    from hrprob.plot.saving import save

    save(plot_regret(dataset), folder, "regret")
    save(plot_lifetime(dataset), folder, "lifetime")


@contextlib.contextmanager
def drawing_process() -> Iterator[BeginDrawing]:
    """Yield a function that has figures drawn by another process; that loads what it needs at once, and ends with the context.

    A script that calls this must be importable, as for every use of :mod:`multiprocessing`. Figures of more than 128 MB of data
    are drawn in this process, and so are others should that one end.

    Raises
    ------
    OSError
        If no process can be started.
    """
    # Imported here: whoever only imports this module starts no process.
    import multiprocessing

    # Not by fork, which copies one thread only of a program that has several.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    # A process that is stopped while it starts another would leave that one with half of what it needs to know.
    with undisturbed(), _without_interrupts():
        process.start()
    there.close()

    def draw_there(dataset: xarray.Dataset, folder: Path) -> None:
        try:
            here.send((with_oracles(dataset), folder))
            failure = here.recv()
        except (EOFError, ConnectionError):
            # The other process ended, killed for want of memory for example: what was computed must not be lost with it.
            draw_run(dataset, folder)
            return
        if failure is not None:
            raise failure

    def begin(dataset: xarray.Dataset, folder: Path) -> Callable[[], None]:
        if dataset.nbytes > _MOST_BYTES:
            return functools.partial(draw_run, dataset, folder)
        return thread.submit(draw_there, dataset, folder).result

    try:
        with ThreadPoolExecutor(1) as thread:
            try:
                yield begin
            except BaseException:
                # Whoever waits for an answer need not.
                process.kill()
                raise
    finally:
        process.kill()
        process.join()
        here.close()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C, which reaches all processes of a terminal, from one that is started in this context, for good."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection) -> None:
    """Draw what comes, and answer with the error or None, until the other end is closed."""
    # Ctrl-C reaches all processes of a terminal: the calling process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Figures are written to files, whatever a terminal session draws with.
    os.environ["MPLBACKEND"] = "agg"
    for module in _LOADED:
        importlib.import_module(module)
    from hrprob.plot.saving import load_backends

    load_backends()
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            dataset, folder = connection.recv()
            try:
                draw_run(dataset, folder)
            except Exception as error:
                connection.send(error)
            else:
                connection.send(None)
