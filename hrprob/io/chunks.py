"""Finished chunks of a run on disk, each whole or not at all.

A block of trials has a folder: ``records-000000.npz``, ``records-000001.npz``, ... with what was recorded,
and ``state.npz`` with the state after the last of them that counts. The entries of these files have checksums.
"""

from __future__ import annotations

import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hrprob._core.files import whole_file
from hrprob.simulation.checkpoints import Stored

__all__ = ["EVERY", "ArrayFolder", "ChunkFolder"]

EVERY = 30.0
"""Seconds between two times that finished chunks are written: so much may have to be played again."""


class ChunkFolder:
    """A folder with the finished chunks of one run.

    Parameters
    ----------
    folder : Path
        The folder; it is made when there is something to write.
    mark : str
        A fingerprint of the run: chunks of another one do not count.
    every : float, optional
        Seconds between two times that chunks are written; by default :data:`EVERY`.
    """

    def __init__(self, folder: Path, mark: str, every: float | None = None) -> None:
        self._folder, self._mark = folder, mark
        self._every = EVERY if every is None else every
        self._last = time.monotonic()

    def load(self, block: int) -> Stored | None:
        """Return what there is of a block; None if there is nothing, or a file of it is damaged or of another run."""
        place = self._place(block)
        try:
            state = _read(place / "state.npz")
            if str(state.pop("mark")) != self._mark:
                return None
            count = int(state["saved"])
            return Stored(state, [_read(place / f"records-{number:06d}.npz") for number in range(count)])
        except _DAMAGED:
            return None

    def save(
        self, block: int, number: int, state: dict[str, np.ndarray], records: dict[str, np.ndarray]
    ) -> None:
        """Store the records number ``number`` of a block, then the state that makes them count."""
        place = self._place(block)
        place.mkdir(parents=True, exist_ok=True)
        _write(place / f"records-{number:06d}.npz", records)
        full = state | {"saved": np.array(number + 1), "mark": np.array(self._mark)}
        _write(place / "state.npz", full)
        self._last = time.monotonic()

    def due(self) -> bool:
        """Say whether the last time is long enough ago."""
        return time.monotonic() - self._last >= self._every

    def _place(self, block: int) -> Path:
        return self._folder / f"block-{block:06d}"


class ArrayFolder:
    """A folder with the results of finished jobs, a file of arrays each.

    Parameters
    ----------
    folder : Path
        The folder; it is made when there is something to write.
    mark : str
        A fingerprint of what the jobs belong to: files of another one do not count.
    """

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder, mark

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of a job; None if there are none, or the file is damaged or of another plan."""
        try:
            arrays = _read(self._folder / f"{name}.npz")
            return arrays if str(arrays.pop("mark")) == self._mark else None
        except _DAMAGED:
            return None

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store the arrays of a job."""
        self._folder.mkdir(parents=True, exist_ok=True)
        _write(self._folder / f"{name}.npz", {**arrays, "mark": np.array(self._mark)})


# What reading a file of arrays raises that is not there, or not whole: damaged entries seem encrypted, packed in
# unknown ways, or larger than memory.
_DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def _write(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    with whole_file(file) as path, open(path, "wb") as opened:
        np.savez(opened, **arrays)  # type: ignore[arg-type]


def _read(file: Path) -> dict[str, np.ndarray]:
    # Opened here: NumPy would leave a damaged file open.
    with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as content:
        return {name: content[name] for name in content.files}
