"""Runs of long jobs, kept in the output folder and reused by a later call.

A job such as ``hrprob suite`` plays several runs, its parts. Each is stored under a fingerprint of its
configuration, of the versions, and of hrprob's own code; a later call loads it if the fingerprint is the
same, and plays it again otherwise. A part is on disk, whole, as soon as it is finished; the folder with
the results of all parts appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import xarray

from hrprob._core.files import whole_file
from hrprob.io.chunks import ChunkFolder
from hrprob.io.config import Experiment, resolved
from hrprob.io.exchange import link_or_copy
from hrprob.io.manifest import checksum
from hrprob.io.netcdf import read_netcdf, write_netcdf
from hrprob.io.staging import reserved, staged_at
from hrprob.io.unfinished import fingerprint, unfinished
from hrprob.simulation.engine import simulate

__all__ = ["PartsFolder", "load_or_play", "staged_with_parts"]


class PartsFolder(NamedTuple):
    """The folder of a job in parts, while it is made."""

    result: Path  # becomes the output folder when all is done
    finished: Path  # has the parts that are finished, whatever happens


@contextlib.contextmanager
def staged_with_parts(
    out: str | Path, job: str, parts: Mapping[str, Experiment], *, resume: bool = False
) -> Iterator[PartsFolder]:
    """Give a folder for the results of a job, as :func:`~hrprob.io.staging.staged` does, with the parts of an earlier result.

    Parameters
    ----------
    out : str or Path
        The folder: new, empty, or with an earlier result of this job.
    job : str
        The job, as its manifest names it.
    parts : mapping of str to Experiment
        The parts that will be played.
    resume : bool
        Refuse to go on if what an unfinished call left there is of other parts or versions; by default
        such parts are played again.
    """
    plan = {"job": job, "parts": {name: resolved(part) for name, part in parts.items()}}
    with (
        reserved(out, job) as destination,
        unfinished(destination, plan, resume=resume, reuse=True) as finished,
        staged_at(destination, job) as result,
    ):
        (result / "parts").mkdir()
        (finished / "parts").mkdir(exist_ok=True)
        for file in sorted(destination.glob("parts/*.nc*")):
            link_or_copy(file, result / "parts" / file.name)
        yield PartsFolder(result, finished)


def load_or_play(
    part: str,
    experiment: Experiment,
    folder: PartsFolder,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> xarray.Dataset:
    """Return the run of a part: stored by an earlier call, or played now and stored.

    Parameters
    ----------
    part : str
        Name of the part, and of its file.
    experiment : Experiment
        What the part plays.
    folder : PartsFolder
        The result of :func:`staged_with_parts`.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.
    """
    mark = fingerprint(resolved(experiment))
    final, finished = folder.result / "parts" / f"{part}.nc", folder.finished / "parts" / f"{part}.nc"
    for file in (finished, final):
        stored = _load(file, mark)
        if stored is not None:
            say(f"{part}: taken from an earlier call")
            break
    else:
        sizes = f"{experiment.users} users, {experiment.trials} trials"
        say(f"{part}: {len(experiment.policies)} policies, {sizes}")
        chunks = folder.finished / "chunks" / part
        stored = _play(experiment, progress, ChunkFolder(chunks, mark))
        stored.attrs["fingerprint"] = mark
        _store(stored, finished)
        shutil.rmtree(chunks, ignore_errors=True)
        file = finished
    if file != final:
        for source, target in ((file, final), (_checksum_of(file), _checksum_of(final))):
            target.unlink(missing_ok=True)
            link_or_copy(source, target)
    return stored


def _play(experiment: Experiment, progress: bool, store: ChunkFolder) -> xarray.Dataset:
    return simulate(
        experiment.problem,
        experiment.policies,
        users=experiment.users,
        trials=experiment.trials,
        seed=experiment.seed,
        keep=10 if experiment.users >= 10000 else "all",
        progress=progress,
        store=store,
    )


def _store(run: xarray.Dataset, file: Path) -> None:
    """Write a part, and then its checksum, without which it does not count."""
    with whole_file(file) as path:
        write_netcdf(run, path)
    with whole_file(_checksum_of(file)) as path:
        path.write_text(f"{checksum(file)}  {file.name}\n", encoding="utf-8")


def _checksum_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _load(file: Path, mark: str) -> xarray.Dataset | None:
    try:
        if _checksum_of(file).read_text(encoding="utf-8").split()[:1] != [checksum(file)]:
            return None
        stored = read_netcdf(file).to_dataset()
    except (OSError, ValueError):
        # The file is not there, not one of ours, or damaged: the part is played again and the file replaced.
        return None
    return stored if stored.attrs.get("fingerprint") == mark else None
