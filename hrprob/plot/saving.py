"""Figures as PNG and SVG files."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from matplotlib.figure import Figure

from hrprob.plot.sizes import DOTS_PER_INCH
from hrprob.plot.style import style

__all__ = ["load_backends", "save", "save_in_background"]


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``name``.png and ``name``.svg into a folder; the same figure gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> save(Figure(figsize=(1, 1)), folder, "empty")
    >>> sorted(path.name for path in folder.iterdir())
    ['empty.png', 'empty.svg']
    """
    layout, dots = figure.get_layout_engine(), figure.dpi
    with style():
        if layout is not None:
            # Computed once at the final resolution; with a layout engine, each file would be drawn twice.
            figure.set_dpi(DOTS_PER_INCH)
            layout.execute(figure)
            figure.set_layout_engine(None)
            figure.set_dpi(dots)
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.set_layout_engine(layout)


def load_backends() -> None:
    """Load what writes PNG and SVG files, by drawing nothing: half a second that a run can spend beside its work."""
    for kind in ("png", "svg"):
        Figure(figsize=(1, 1)).savefig(io.BytesIO(), format=kind)


@contextlib.contextmanager
def save_in_background() -> Iterator[Callable[[Figure, Path, str], None]]:
    """Yield a :func:`save` that returns at once; another process writes, and has finished when the context ends.

    Drawing keeps one core busy, and Python's threads could not do other work meanwhile.
    """
    pending: list[Future[None]] = []
    # Not by fork, which copies one thread only of a program that has several.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _ignore_interrupts) as pool:
        pending.append(pool.submit(_start))
        try:
            yield lambda figure, folder, name: pending.append(pool.submit(save, figure, folder, name))
            for future in pending:
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which reaches all processes of a terminal: the calling process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _start() -> None:
    """Do nothing: submitting it starts the process, which imports this module."""
