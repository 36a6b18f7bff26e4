"""Folders that appear whole or not at all; :func:`hrprob._core.files.whole_file` is the same for a file.

A result is written into a hidden folder beside its destination. When it is complete, the two change places
(:mod:`hrprob.io.exchange`). A reader sees the old result or the new one; never a part of one, and never
parts of both.

====================  ==================================================================
beside ``out``        what it is
====================  ==================================================================
``.out.lock``         held by the process that writes (:mod:`hrprob.io.locking`)
``.out.new``          the new result, until it is complete; then the old one, to be removed
``.out.unfinished``   finished chunks of a run that is not (:mod:`hrprob.io.unfinished`)
====================  ==================================================================

What a process leaves that was killed, the next one with the same ``out`` clears away.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob._core.files import sync
from hrprob._core.stopping import undisturbed
from hrprob.io.exchange import exchange, link_or_copy, recover
from hrprob.io.json_files import read_json
from hrprob.io.locking import locked
from hrprob.io.manifest import MANIFEST

__all__ = ["check_folder_name", "reserved", "staged", "staged_at"]

# A full disk, and a share of it that is used up.
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


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
        If ``out`` is a file, the current folder, contains something other than a result of this job,
        cannot be written, or is being written by another process.

    Examples
    --------
    >>> import tempfile
    >>> destination = Path(tempfile.mkdtemp(), "result")
    >>> with staged(destination) as folder:
    ...     _ = (folder / "note.txt").write_text("done")
    >>> [path.name for path in destination.iterdir()]
    ['note.txt']
    """
    with reserved(out, job) as destination, staged_at(destination, job) as folder:
        yield folder


@contextlib.contextmanager
def reserved(out: str | Path, job: str) -> Iterator[Path]:
    """Check a destination, reserve it for this process and return its path; errors are those of :func:`staged`."""
    check_folder_name(out)
    with contextlib.ExitStack() as stack:
        try:
            destination = Path(out).resolve()
            _check_kind(out, destination)
            missing = [folder for folder in destination.parents if not folder.exists()]
            stack.callback(_remove_empty, missing)
            destination.parent.mkdir(parents=True, exist_ok=True)
            alone = stack.enter_context(locked(destination))
            if alone:
                recover(destination)
                _discard(destination.with_name(f".{destination.name}.new"), destination, job)
            _check_free(out, destination, job)
        except OSError as error:
            raise _unwritable(out, error) from None
        try:
            yield destination
        except OSError as error:
            if error.errno in _FULL:
                place = f"there is no room for the result in {destination.parent}"
                error.add_note(f"{place}: free some, or name a folder elsewhere with --out")
            raise


@contextlib.contextmanager
def staged_at(destination: Path, job: str) -> Iterator[Path]:
    """Give a new folder that becomes ``destination``, which is :func:`reserved`."""
    folder = destination.with_name(f".{destination.name}.new")
    if folder.exists():
        # Somebody else's, where there are no locks.
        folder = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    try:
        folder.mkdir()
    except OSError as error:
        raise _unwritable(destination, error) from None
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _put_in_place(folder, destination, job)


def check_folder_name(out: str | Path) -> None:
    """Raise if ``out`` is empty: as a path, the empty string means the current folder."""
    if not str(out):
        raise InvalidInput("out", "must name a folder", str(out), "for example results/first")


def _unwritable(out: str | Path, error: OSError) -> InvalidInput:
    return InvalidInput("out", "must be a folder that can be written", str(out), str(error))


def _check_kind(out: str | Path, destination: Path) -> None:
    if destination.exists() and not destination.is_dir():
        raise InvalidInput("out", "must be a folder", str(out), "name a folder that is new or empty")
    if destination.is_mount():
        must = "must not be where a file system is mounted"
        raise InvalidInput("out", must, str(out), "name a folder inside it")


def _check_free(out: str | Path, destination: Path, job: str) -> None:
    present = sorted(path.name for path in destination.iterdir()) if destination.is_dir() else []
    if present and _files_of_result(destination, job) is None:
        must = "must not be a folder with other things in it"
        remedy = f"name a folder that is new, empty, or an earlier result of hrprob {job}"
        why = f"it has {present[0]!r} in it, and no {MANIFEST} of hrprob {job}; {remedy}"
        raise InvalidInput("out", must, str(out), why)
    if destination == Path.cwd():
        # Renaming would leave the shell that stands in it in a folder that no longer exists.
        must = "must not be the current folder"
        raise InvalidInput("out", must, str(out), "name a folder inside it, for example result")


def _files_of_result(destination: Path, job: str) -> list[str] | None:
    """Return the files of the result at ``destination``, or None if it is not a result of this job."""
    try:
        facts = read_json(destination / MANIFEST)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or (facts.get("program"), facts.get("job")) != ("hrprob", job):
        return None
    files = facts.get("files", [])
    return [str(name) for name in files] if isinstance(files, list) else None


def _put_in_place(folder: Path, destination: Path, job: str) -> None:
    try:
        sync(folder)
        earlier = _files_of_result(destination, job)
        if earlier is None:
            folder.rename(destination)
        else:
            # Somebody's own files are in the new result before it is in place, so they never go away.
            for path in destination.iterdir():
                if path.name not in earlier and not (folder / path.name).exists():
                    link_or_copy(path, folder / path.name)
            with undisturbed():
                exchange(folder, destination)
    except OSError as error:
        # It may hold hours of work, so it is not removed, nor named as what may be cleared away.
        saved = destination.with_name(f"{destination.name}.{secrets.token_hex(4)}")
        with contextlib.suppress(OSError):
            folder.rename(saved)
        raise OSError(
            f"the result stays in {saved if saved.exists() else folder}, because it could not be moved to "
            f"{destination}: {error}"
        ) from None
    # The new result is in place; if the old one cannot be removed now, a later run does it.
    with contextlib.suppress(OSError):
        _discard(folder, destination, job)


def _discard(folder: Path, destination: Path, job: str) -> None:
    """Remove a result that was replaced, or one that was never completed; somebody's own files in it are kept."""
    if not folder.is_dir():
        return
    files = _files_of_result(folder, job)
    if files is not None and destination.is_dir():
        for path in folder.iterdir():
            if path.name not in files and not (destination / path.name).exists():
                path.rename(destination / path.name)
    shutil.rmtree(folder)


def _remove_empty(folders: list[Path]) -> None:
    """Remove those of the newly made parent folders that are empty, the innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
