"""Steps of a diagnosis: a progress bar, a line for each step done, and an end to all where one fails."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

__all__ = ["Steps"]


class Steps:
    """Reports the steps of threads that run side by side; one bar counts all of them.

    Parameters
    ----------
    say : callable
        Called with one line for each step that is done.
    progress : bool
        Show a progress bar, if stderr is a terminal.
    total : int
        How many steps there will be.
    """

    def __init__(
        self, say: Callable[[str], None] = lambda line: None, progress: bool = False, total: int = 0
    ) -> None:
        self._say, self._progress, self._lock = say, progress, threading.Lock()
        self._stopped = threading.Event()
        self.total = total
        self.on_failure: Callable[[BaseException], object] = lambda error: None

    def __enter__(self) -> Steps:
        from tqdm import tqdm

        # ArviZ warns about Pareto shapes k̂ that the report shows anyway. Filters belong to the process, not
        # to a thread: they are set once for all threads.
        self._filters = warnings.catch_warnings()
        self._filters.__enter__()
        warnings.filterwarnings("ignore", category=UserWarning, module="arviz_stats")
        self._bar = tqdm(
            total=self.total,
            bar_format="{percentage:3.0f} %|{bar}| {elapsed}, {desc}",
            disable=not (self._progress and sys.stderr.isatty()),
            leave=False,
        )
        self._started = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
        self._filters.__exit__(None, None, None)

    def stop(self) -> None:
        """Let no thread begin another step: its result would not be used."""
        self._stopped.set()

    @contextlib.contextmanager
    def step(self, title: str, users: float = math.inf) -> Iterator[Callable[[int], None]]:
        """Count the block as one step, and yield a function that reports users served out of ``users``."""
        done = 0.0

        def served(number: int) -> None:
            nonlocal done
            share = min(number / users, 1.0 - done)
            done += share
            with self._lock:
                self._bar.update(share)

        self._check()
        with self._lock:
            self._bar.set_description_str(title)
        try:
            yield served
        except BaseException as error:
            self.on_failure(error)
            raise
        self._check()
        with self._lock:
            self._bar.update(1.0 - done)
            self._say(f"[{time.perf_counter() - self._started:4.0f} s] {title}")

    def _check(self) -> None:
        if self._stopped.is_set():
            raise CancelledError
