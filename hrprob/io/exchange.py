"""Two folders change places in one step, so that at every moment there is one under each name."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

__all__ = ["exchange", "link_or_copy", "recover"]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # of Linux's renameat2, and as RENAME_SWAP of macOS's renamex_np


def exchange(one: Path, other: Path) -> None:
    """Let two folders beside each other change places: in one step, or where the system has none, in three.

    A process that dies between the three steps leaves what :func:`recover` mends.
    """
    sys.audit("os.rename", one, other, -1, -1)
    if _exchange_in_one_step(one, other):
        return
    aside = _aside(other)
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)


def recover(folder: Path) -> None:
    """Put a folder back in its place that an exchange in three steps had moved aside."""
    aside = _aside(folder)
    if not aside.is_dir():
        return
    if folder.exists():
        shutil.rmtree(aside)
    else:
        aside.rename(folder)


def link_or_copy(source: Path, target: Path) -> None:
    """Let ``target`` be another name of a file, or of all files of a folder; a copy where names cannot be added."""
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, copy_function=_link_file)
    else:
        _link_file(source, target)


def _exchange_in_one_step(one: Path, other: Path) -> bool:
    library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        swap = getattr(library, "renamex_np", None)
        return swap is not None and swap(*names, ctypes.c_uint(_RENAME_EXCHANGE)) == 0
    rename = getattr(library, "renameat2", None)
    if rename is None:
        return False
    # A file system that cannot do it says so, and nothing has changed.
    return rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)) == 0


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.earlier")


def _link_file(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(source, target, follow_symlinks=False)
