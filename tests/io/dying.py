"""A process that dies at a chosen file operation: from then on, nothing that it does reaches the disk."""

import contextlib
import os
import sys

# Every operation that changes a folder. What opens a file for reading changes nothing.
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}


class Died(BaseException):
    pass


class _Life:
    """How many operations are left; None outside of :func:`dying`."""

    left: int | None = None
    done = 0


def _count(event, arguments):
    if _Life.left is None or not (event in _CHANGES or (event == "open" and _writes(arguments))):
        return
    if _Life.done >= _Life.left:
        # Those after it fail too: whoever tidies up would be dead.
        raise Died
    _Life.done += 1


def _writes(arguments):
    _, mode, flags = arguments
    return (isinstance(mode, str) and set(mode) & set("wxa+")) or (
        isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    )


sys.addaudithook(_count)


@contextlib.contextmanager
def dying(after):
    """Let the body die after a given number of file operations; whether it did, the body's last line knows."""
    _Life.left, _Life.done = after, 0
    try:
        yield
    except Died:
        pass
    finally:
        _Life.left = None
