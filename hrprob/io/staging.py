"""Folders and files that appear whole or not at all.

A result is written into a hidden folder beside its destination and renamed when it is complete. A reader
sees the old result, the new one, or none; never a part of one.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob.io.manifest import MANIFEST

__all__ = ["check_folder_name", "staged", "whole_file"]


@contextlib.contextmanager
def staged(out: str | Path, job: str = "run") -> Iterator[Path]:
    """Give a new folder to write into, which becomes ``out`` if the body of the ``with`` statement succeeds.

    The folder is made at once, so a destination that cannot be written is reported before any work is
    done. If the work fails, the folder is removed and ``out`` stays as it was. An earlier result of the
    same job at ``out`` is replaced; files in it that hrprob did not write are kept.

    Parameters
    ----------
    out : str or Path
        Destination of the result.
    job : str
        The job, as its manifest names it.

    Raises
    ------
    InvalidInput
        If ``out`` is a file, the current folder, contains something other than a result of this job, or
        cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> destination = Path(tempfile.mkdtemp(), "result")
    >>> with staged(destination) as folder:
    ...     _ = (folder / "note.txt").write_text("done")
    >>> [path.name for path in destination.iterdir()]
    ['note.txt']
    """
    check_folder_name(out)
    missing: list[Path] = []
    try:
        destination = Path(out).resolve()
        _check_free(out, destination, job)
        missing = [folder for folder in destination.parents if not folder.exists()]
        folder = destination.parent / f".{destination.name}.{secrets.token_hex(4)}"
        folder.mkdir(parents=True)
    except OSError as error:
        _remove_empty(missing)
        raise InvalidInput("--out", "must be a folder that can be written", str(out), str(error)) from None
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_empty(missing)
        raise
    _move(folder, destination, job)


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
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_folder_name(out: str | Path) -> None:
    """Raise if ``out`` is empty: as a path, the empty string means the current folder."""
    if not str(out):
        raise InvalidInput("--out", "must name a folder", str(out), "for example results/first")


def _check_free(out: str | Path, destination: Path, job: str) -> None:
    remedy = f"name a folder that is new, empty, or an earlier result of hrprob {job}"
    if destination.exists() and not destination.is_dir():
        raise InvalidInput("--out", "must be a folder", str(out), remedy)
    if destination.is_dir() and any(destination.iterdir()) and _files_of_result(destination, job) is None:
        must = "must not be a folder with other things in it"
        raise InvalidInput("--out", must, str(out), f"it has no {MANIFEST} of hrprob {job}; {remedy}")
    if destination == Path.cwd():
        # Renaming would leave the shell that stands in it in a folder that no longer exists.
        must = "must not be the current folder"
        raise InvalidInput("--out", must, str(out), "name a folder inside it, for example result")
    if destination.is_mount():
        must = "must not be where a file system is mounted"
        raise InvalidInput("--out", must, str(out), "name a folder inside it")


def _files_of_result(destination: Path, job: str) -> list[str] | None:
    """Return the files of the result at ``destination``, or None if it is not a result of this job."""
    try:
        facts = json.loads((destination / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(facts, dict) or (facts.get("program"), facts.get("job")) != ("hrprob", job):
        return None
    return [str(name) for name in facts.get("files", [])]


def _move(folder: Path, destination: Path, job: str) -> None:
    try:
        earlier = _files_of_result(destination, job)
        if earlier is None:
            folder.rename(destination)
        else:
            _replace(folder, destination, earlier)
    except OSError as error:
        # It may hold hours of work, so it is not removed.
        raise OSError(
            f"the result stays in {folder}, because it could not be moved to {destination}: {error}"
        ) from None


def _replace(folder: Path, destination: Path, earlier: list[str]) -> None:
    """Move ``folder`` to ``destination`` and keep the files there that are not of the ``earlier`` result."""
    aside = folder.with_name(f"{folder.name}.earlier")
    destination.rename(aside)
    try:
        folder.rename(destination)
    except OSError:
        aside.rename(destination)
        raise
    for path in aside.iterdir():
        if path.name not in earlier and not (destination / path.name).exists():
            path.rename(destination / path.name)
    shutil.rmtree(aside)


def _remove_empty(folders: list[Path]) -> None:
    """Remove those of the newly made parent folders that are empty, the innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
