"""How far the blocks of a run have come, stored so that a later process goes on from there, to the same bits.

What a block needs to go on: how many of its chunks of users are finished, the state of every policy after
them (:attr:`~hrprob.simulation.play.Play.carry`), and what was recorded. A random number is a function of
seed, trial, user and purpose, so nothing else is remembered.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from hrprob.simulation.play import Play
from hrprob.simulation.results import Recorder
from hrprob.simulation.schedule import Chunk

__all__ = ["BlockProgress", "ChunkStore"]

Arrays = dict[str, np.ndarray]


class Stored(NamedTuple):
    """What a store has of a block."""

    state: Arrays  # after the last chunk that counts
    records: list[Arrays]  # of the chunks, in order


class ChunkStore(Protocol):
    """Where finished chunks are kept."""

    def load(self, block: int) -> Stored | None:
        """Return what there is of a block, or None if there is nothing whole."""

    def save(self, block: int, number: int, state: Arrays, records: Arrays) -> None:
        """Store the records number ``number`` of a block and its new state; they count when both are there."""

    def due(self) -> bool:
        """Say whether the last time is long enough ago."""


class BlockProgress:
    """How far a block has come.

    Parameters
    ----------
    store : ChunkStore or None
        Where it is kept; with None, nothing is.
    index : int
        The number of the block.
    block : ndarray
        Its trials.
    recorder : Recorder
        What is recorded; takes in what the store has.
    """

    def __init__(self, store: ChunkStore | None, index: int, block: np.ndarray, recorder: Recorder) -> None:
        self._store, self._index, self._block, self._recorder = store, index, block, recorder
        self._carries: Arrays = {}
        self._saved, self._low = 0, 0
        self._seconds = np.zeros(len(recorder.names))
        self.chunks = 0
        stored = None if store is None else store.load(index)
        if stored is not None:
            self._carries, self._saved = stored.state, len(stored.records)
            self.chunks, self._low = int(stored.state["chunks"]), int(stored.state["columns"])
            self._seconds = stored.state["seconds"]
            recorder.restore(block, stored.records, stored.state)

    def restore(self, plays: dict[str, Play]) -> None:
        """Let the policies go on from where they were."""
        if self.chunks:
            for row, play in enumerate(plays.values()):
                count = sum(name.startswith(f"carry-{row}-") for name in self._carries)
                play.set_carry([self._carries[f"carry-{row}-{leaf}"] for leaf in range(count)])

    def finished(self, chunk: Chunk, plays: dict[str, Play], seconds: dict[str, float]) -> None:
        """Take notice of a chunk that all policies have played, and store the progress if it is time to."""
        self.chunks += 1
        if self._store is None:
            return
        self._seconds = self._seconds + np.array(list(seconds.values()))
        if not self._store.due():
            return
        records, columns = self._recorder.records(self._block, self._low, chunk.users.stop)
        state = {
            "chunks": np.array(self.chunks),
            "columns": np.array(columns),
            "seconds": self._seconds,
            "users": np.array(chunk.users.stop - 1),
        } | self._recorder.sums(self._block)
        for row, play in enumerate(plays.values()):
            state |= {f"carry-{row}-{leaf}": values for leaf, values in enumerate(play.carry)}
        self._store.save(self._index, self._saved, state, records)
        self._saved, self._low = self._saved + 1, columns
