"""How the work is cut: blocks of trials, chunks of users.

The warm-up users come first, then the users of the run. Both are cut into chunks of one length, so that
one program makes all arrivals; the last chunk and the last block are filled up with users and trials
whose results are dropped. No result depends on how the work is cut: a random number is a function of
seed, trial, user and purpose.

Chunks have a power of two as their length, because every length is a program of its own: to make arrivals that
nobody meets costs milliseconds, to compile a program takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from hrprob._core.memory import check_memory
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS
from hrprob.problem import Problem
from hrprob.simulation.arrivals import Arrivals, checked_arrivals
from hrprob.simulation.programs import Keys

__all__ = ["Chunk", "Schedule", "arriving"]

# Trials in a block: enough to fill vector registers, few enough to stay in the cache.
MOST_TRIALS_IN_BLOCK = 32
# Numbers in the contexts of a chunk: 16 MB. Smaller ones cost more in calls than the cache saves: an eighth of this, a third more.
MOST_CONTEXT_NUMBERS = 2**21
# Chunks of short runs: all of them share programs.
SHORTEST_CHUNK = 64
# Even where contexts are so large that these exceed the number above.
LEAST_CHUNK = 16


class Chunk(NamedTuple):
    """Some users of a block of trials, who arrive one after another."""

    before: int  # how many users, warm-up users first, came in earlier chunks
    warmup: int  # how many warm-up users it begins with
    users: range  # numbers of the users after the warm-up, from 1
    arrived: Arrivals  # all of them, and who fills the chunk up

    def place(self, user: int) -> int:
        """Return the place of a user after the warm-up in the arrays of the chunk."""
        return self.warmup + user - self.users.start


class Schedule:
    """Blocks of trials and chunks of users.

    Parameters
    ----------
    problem : Problem
        Its contexts decide how many users fit into a chunk.
    users, warmup : int
        Users of the run, and warm-up users before them.
    trials : range
        The numbers of the trials.
    block, longest_chunk : int, optional
        Most trials in a block, and most users in a chunk.

    Examples
    --------
    >>> schedule = Schedule(Problem(), users=7, trials=range(50), warmup=2)
    >>> schedule.block_size, len(schedule.blocks), schedule.chunk_size
    (25, 2, 64)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        users: int,
        trials: range,
        warmup: int = 0,
        block: int = MOST_TRIALS_IN_BLOCK,
        longest_chunk: int | None = None,
    ) -> None:
        self.users, self.trials, self.warmup = users, trials, warmup
        blocks = -(-len(trials) // min(len(trials), block))
        # Even blocks waste the least on the last one, which is filled up so that all have one shape.
        self.block_size = -(-len(trials) // blocks)
        self.blocks = [np.arange(first, first + self.block_size) for first in trials[:: self.block_size]]
        numbers = problem.contexts.actions * problem.dimension * self.block_size
        fitting = max(
            LEAST_CHUNK, min(MOST_CONTEXT_NUMBERS // numbers, longest_chunk or MOST_CONTEXT_NUMBERS)
        )
        wanted = max(SHORTEST_CHUNK, users + warmup)
        self.chunk_size = min(1 << (wanted - 1).bit_length(), 1 << (fitting.bit_length() - 1))
        # A context and two more numbers (its value, its standard deviation) of every action, in doubles.
        size = self.chunk_size * self.block_size * problem.contexts.actions * (problem.dimension + 2) * 8
        remedy = f"{self.chunk_size} users of {self.block_size} trials arrive at a time; take fewer actions"
        check_memory("problem.contexts.actions", problem.contexts.actions, size, remedy)

    def real(self, block: np.ndarray) -> int:
        """Return how many trials of a block were asked for; they come first."""
        return int(np.sum(block < self.trials.stop))


def arriving(
    problem: Problem,
    keys: Keys,
    schedule: Schedule,
    trials: int,
    pool: Executor | None = None,
    after: int = 0,
) -> Iterator[Chunk]:
    """Yield the chunks of a block; with a pool, the next one is made while the caller works on one.

    ``trials`` of the block were asked for, and ``after`` of its chunks were played before. What a user's own functions return is checked for the users
    and trials that were asked for.
    """
    everybody, size = schedule.warmup + schedule.users, schedule.chunk_size

    def make(start: int) -> Chunk:
        places = np.arange(start, start + size)
        numbers = np.where(places < schedule.warmup, WARMUP_USERS + places, places - schedule.warmup + 1)
        with double_precision():
            arrived = checked_arrivals(problem, keys, numbers.astype(np.uint32), everybody - start, trials)
        end = min(start + size, everybody) - schedule.warmup
        warmup = min(max(schedule.warmup - start, 0), size)
        return Chunk(start, warmup, range(max(start - schedule.warmup, 0) + 1, max(end, 0) + 1), arrived)

    starts = range(0, everybody, size)[after:]
    if pool is None or not starts:
        yield from map(make, starts)
        return
    coming = pool.submit(make, starts[0])
    for following in [*starts[1:], None]:
        chunk = coming.result()
        if following is not None:
            coming = pool.submit(make, following)
        yield chunk
