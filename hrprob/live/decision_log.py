"""The log of an agent's decisions: JSON lines, appended one by one, from which the agent can be made again.

The first line says what the agent is; every other line is one call that changed it, with what it answered:

===========  ==============================================================================
``event``    fields
===========  ==============================================================================
``start``    ``log`` ("hrprob decisions"), ``version`` of the format, ``hrprob`` and ``jax`` (versions), ``agent`` (its
             settings), ``events`` (how many calls came before this log)
``select``   ``user``, ``contexts``, ``beta``, ``actions``, ``time``; the answer: ``decision``
``update``   ``outcomes`` ([user, outcome, left] each), ``time``; the answer: ``decisions``
``leave``    ``user``
``expire``   ``time``; the answer: ``users``
===========  ==============================================================================

A line is written before the call returns, so what was answered is in the file, whatever happens to the process. A line
that a killed process left unfinished was never answered: it is cut off when the log is opened again. ``beta`` is null where
levels are hidden, and the text "inf" for a user who leaves at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.files import sync
from hrprob._core.types import Decoded, PyTree
from hrprob.io.locking import locked

__all__ = ["DecisionLog", "plain", "read_log", "well_formed"]

FORMAT, VERSION = "hrprob decisions", 1
MOST_CHARACTERS = 100_000_000
"""Longest line that is read."""


class DecisionLog:
    """A log that is open for appending, by this process alone.

    Parameters
    ----------
    path : Path
        The file; it is made if it does not exist.
    durable : bool
        Whether to wait until every line is on the disk itself.
    """

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path, self._durable = path, durable
        self._held = contextlib.ExitStack()
        try:
            self._held.enter_context(locked(path))
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except InvalidInput as complaint:
            raise InvalidInput("log", complaint.must, complaint.got, complaint.remedy) from None
        except OSError as error:
            self._held.close()
            raise InvalidInput(
                "log", "must be a file that can be written", str(path), error.strerror or str(error)
            ) from None
        self._held.callback(os.close, self._file)
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            self._held.close()
            remedy = "what is written to a device or a pipe cannot be read again"
            raise InvalidInput("log", "must be a regular file", str(path), remedy)
        if durable:
            sync(path.parent)
        self._size = _whole_lines(path)
        os.ftruncate(self._file, self._size)

    @property
    def empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._size == 0

    def append(self, event: dict[str, object]) -> None:
        """Write one line; if that fails, the file is as it was before."""
        line = (json.dumps(plain(event), allow_nan=False, separators=(",", ":")) + "\n").encode()
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            if self._durable:
                os.fsync(self._file)
        except BaseException:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def close(self) -> None:
        """Close the file and let other processes write to it."""
        self._held.close()


@contextlib.contextmanager
def well_formed(field: str, path: str | Path) -> Iterator[None]:
    """Turn the error of a file that has something else where a field is expected into one that names the file."""
    try:
        yield
    except InvalidInput:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        why = f"it is damaged, or was not written by hrprob ({type(error).__name__}: {error})"
        raise InvalidInput(field, "must be as hrprob writes it", str(path), why) from None


def plain(value: object) -> PyTree:
    """Return what JSON reads back as it was written: numbers exactly, NaN as null, infinities as text.

    Examples
    --------
    >>> plain({"x": np.array([0.1, np.nan]), "beta": math.inf})
    {'x': [0.1, None], 'beta': 'inf'}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if dataclasses.is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _whole_lines(path: Path) -> int:
    """Return how many bytes of a log are whole lines."""
    content = path.read_bytes()
    return content.rfind(b"\n") + 1


def read_log(path: Path) -> Iterator[dict[str, Decoded]]:
    """Return the events of a log in order, the first being its start; a last line without an end is left out."""
    try:
        # Bytes that are no UTF-8 are no JSON either, and refused with their line.
        file = path.open(encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput("log", "must be a file that can be read", str(path), reason) from None
    with file:
        for number in itertools.count(1):
            # A device without an end has no lines either.
            line = file.readline(MOST_CHARACTERS)
            if not line.endswith("\n"):
                if len(line) >= MOST_CHARACTERS:
                    remedy = f"line {number} has more than {MOST_CHARACTERS} characters"
                    raise InvalidInput("log", "must have one event per line", str(path), remedy)
                return
            yield _event(path, number, line)


def _event(path: Path, number: int, line: str) -> dict[str, Decoded]:
    try:
        event = json.loads(line.encode(errors="surrogateescape").decode())
    except (ValueError, RecursionError) as error:
        remedy = f"line {number} is not JSON ({error}); take a copy that is whole"
        raise InvalidInput("log", "must have one event per line", str(path), remedy) from None
    if not isinstance(event, dict):
        remedy = f"line {number} is no table; take a copy that is whole"
        raise InvalidInput("log", "must have one event per line", str(path), remedy)
    if number == 1 and event.get("log") != FORMAT:
        raise InvalidInput("log", "must begin as a log of decisions", str(path), "an agent writes one")
    if number == 1 and event.get("version") != VERSION:
        remedy = f"this hrprob reads version {VERSION}"
        raise InvalidInput("log", "must be of a known version", event.get("version"), remedy)
    return event
