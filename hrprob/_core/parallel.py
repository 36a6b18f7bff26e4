"""Work side by side on the machine's cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from hrprob._core.precision import double_precision

__all__ = ["side_by_side"]

T = TypeVar("T")
R = TypeVar("R")


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
