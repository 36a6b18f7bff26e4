"""Files that appear whole or not at all, and the fingerprint of hrprob's own source."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import hrprob

__all__ = ["clear_leftovers", "read_bytes", "source_digest", "sync", "whole_file"]

_PIECE = 2**20


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; the file is renamed to ``path`` when it is complete.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "note.txt")
    >>> with whole_file(path) as temporary:
    ...     _ = temporary.write_text("done")
    >>> path.read_text()
    'done'
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_bytes(path: str | Path, most: int) -> bytes:
    """Return what is in a file, or raise if that is more than ``most`` bytes: a device may have no end.

    Raises
    ------
    OSError
        With ``errno.EFBIG`` if there is more, and as usual if the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "note.txt")
    >>> _ = path.write_text("done")
    >>> read_bytes(path, 4)
    b'done'
    >>> read_bytes(path, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    OSError: [Errno ...] it has more than 3 bytes: ...
    """
    content = bytearray()
    with open(path, "rb") as file:
        while piece := file.read(min(_PIECE, most + 1 - len(content))):
            content += piece
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return bytes(content)


def clear_leftovers(path: Path) -> None:
    """Remove what processes left that were killed while they wrote ``path``."""
    pattern = re.compile(re.escape(f".{path.name}.") + r"([0-9]+)\.[0-9a-f]{8}")
    for file in path.parent.iterdir():
        found = pattern.fullmatch(file.name)
        if found is not None and not _is_running(int(found.group(1))):
            file.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # Somebody else's, or a number that no process can have.
        return True
    return True


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk itself."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError:
        # Not every file system can do so for folders.
        if not path.is_dir():
            raise
    finally:
        os.close(number)


def source_digest() -> str:
    """Return a fingerprint of hrprob's own source as it is on disk now, the models included.

    Examples
    --------
    >>> len(source_digest())
    64
    """
    digest, package = hashlib.sha256(), Path(hrprob.__file__).parent
    for folder in (package, package / "models"):
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
