"""A folder with the numbers of a command that prints them: one JSON file and its manifest, whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.staging import staged

__all__ = ["numbers_folder"]


@contextlib.contextmanager
def numbers_folder(
    out: str | Path | None, job: str, file: str, command: Sequence[str] = ()
) -> Iterator[Callable[[object], None]]:
    """Give a function that writes plain data into ``out``; without ``out`` it does nothing.

    The folder is made at once, so that one that cannot be written is reported before any work is done.

    Parameters
    ----------
    out : str, Path or None
        The folder.
    job : str
        The job, as its manifest names it.
    file : str
        The name of the JSON file.
    command : sequence of str
        What was typed, for the manifest.

    Examples
    --------
    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp(), "numbers")
    >>> with numbers_folder(out, "evaluate", "evaluation.json") as write:
    ...     write({"users": 3})
    >>> sorted(path.name for path in out.iterdir())
    ['evaluation.json', 'manifest.json']
    """
    if out is None:
        yield lambda content: None
        return
    with staged(out, job) as folder:

        def write(content: object) -> None:
            write_json(folder / file, content)
            facts = {"program": "hrprob", "job": job, "command": list(command)}
            write_manifest(folder, facts | environment())

        yield write
