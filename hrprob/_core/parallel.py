"""Work side by side on the machine's cores."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

from hrprob._core.precision import double_precision

__all__ = ["Submit", "import_for_threads", "in_background", "side_by_side"]

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


def import_for_threads() -> None:
    """Import what several threads would import at their first use of xarray: Dask, where it is installed.

    Two threads that import a package and one of its modules at the same moment may find half of them.
    """
    with contextlib.suppress(ImportError):
        importlib.import_module("dask.base")


def side_by_side(function: Callable[[T], R], arguments: Sequence[T]) -> Iterator[R]:
    """Yield ``function`` of each argument, in order, on all cores and in double precision.

    At most one call per core runs at a time, and the next call starts only when a result is taken:
    a caller that works through large results one by one never holds many of them.

    Examples
    --------
    >>> list(side_by_side(lambda x: x * x, [1, 2, 3]))
    [1, 4, 9]
    """

    def one(argument: T) -> R:
        with double_precision():
            return function(argument)

    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        waiting = list(arguments)
        running = [pool.submit(one, waiting.pop(0)) for _ in range(min(workers, len(waiting)))]
        while running:
            result = running.pop(0).result()
            if waiting:
                running.append(pool.submit(one, waiting.pop(0)))
            yield result


class Submit(Protocol):
    """Has a function called elsewhere; the future has its result."""

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of ``function`` of these arguments."""


@contextlib.contextmanager
def in_background() -> Iterator[Submit]:
    """Yield a function that has others called in one thread beside the caller, in order and in double precision.

    When the context ends, calls that have not begun are dropped, and the one that runs is waited for.

    Examples
    --------
    >>> with in_background() as submit:
    ...     print(submit(pow, 2, 5).result())
    32
    """

    def submit(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        def in_double_precision() -> T:
            with double_precision():
                return function(*args, **kwargs)

        return pool.submit(in_double_precision)

    pool = ThreadPoolExecutor(1)
    try:
        yield submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
