"""One process at a time writes to a destination."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

from hrprob._core.errors import InvalidInput

__all__ = ["locked"]


@contextlib.contextmanager
def locked(destination: Path) -> Iterator[bool]:
    """Hold the lock of a destination; yield whether there is one, which not every system has.

    The lock is a hidden file beside the destination, and it ends with the process that holds it, however
    that process ends.

    Raises
    ------
    InvalidInput
        If another process holds it.

    Examples
    --------
    >>> import tempfile
    >>> with locked(Path(tempfile.mkdtemp(), "result")) as held:
    ...     held in (True, False)
    True
    """
    file = destination.with_name(f".{destination.name}.lock")
    number = _open_locked(file, destination)
    if number is None:
        yield False
        return
    try:
        yield True
    finally:
        # Removed before it is let go: who waits for it finds that the name has gone, and makes a new one.
        try:
            file.unlink(missing_ok=True)
        finally:
            os.close(number)


def _open_locked(file: Path, destination: Path) -> int | None:
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(number, 200, 0).decode(errors="replace")
            os.close(number)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            remedy = f"{holder or 'another process'} is writing there; wait for it, or name another folder"
            must = "must not be written by two processes at a time"
            raise InvalidInput("out", must, str(destination), remedy) from None
        if _is_still(file, number):
            break
        os.close(number)
    holder = f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}"
    try:
        os.truncate(number, 0)
        os.pwrite(number, holder.encode(), 0)
    except BaseException:
        os.close(number)
        raise
    return number


def _is_still(file: Path, number: int) -> bool:
    """Say whether the open file is still the one of that name: its holder may just have removed it."""
    try:
        return os.path.samestat(os.stat(file), os.fstat(number))
    except FileNotFoundError:
        return False
