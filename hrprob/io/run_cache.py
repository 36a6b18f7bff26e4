"""Runs of long jobs, kept in the output folder and reused by a later call.

A job such as ``hrprob suite`` plays several runs, its parts. Each is stored under a fingerprint of its
configuration, of the versions, and of hrprob's own code; a later call loads it if the fingerprint is the
same, and plays it again otherwise. A part is on disk, whole, as soon as it is finished; the folder with
the results of all parts appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import xarray

from hrprob._core.files import whole_file
from hrprob._core.parallel import import_for_threads, in_background
from hrprob._core.precision import double_precision
from hrprob.io.chunks import ChunkFolder
from hrprob.io.config import Experiment, resolved
from hrprob.io.exchange import link_or_copy
from hrprob.io.manifest import checksum
from hrprob.io.netcdf import read_netcdf, write_netcdf
from hrprob.io.sources import sources
from hrprob.io.staging import reserved, staged_at
from hrprob.io.unfinished import fingerprint, unfinished
from hrprob.simulation.binding import bind
from hrprob.simulation.cost import slow_policies
from hrprob.simulation.engine import compile_programs
from hrprob.simulation.progress import Progress
from hrprob.simulation.results import kept_users
from hrprob.simulation.tasks import Scheduler, Task, cut, join, play_task

__all__ = ["Condense", "PartsFolder", "load_or_play", "staged_with_parts", "thinned"]

Condense = Callable[[xarray.Dataset], xarray.Dataset]
"""From a run with all users to what is stored of it."""

# Parts that are played side by side in this process.
_AT_A_TIME = 2


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
    plan = {
        "job": job,
        "parts": {name: resolved(part) for name, part in parts.items()},
        "sources": sources(parts),
    }
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
    parts: Mapping[str, Experiment],
    folder: PartsFolder,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
    scheduler: Scheduler | None = None,
    condense: Mapping[str, Condense] | None = None,
) -> dict[str, xarray.Dataset]:
    """Return the runs of all parts: stored by an earlier call, or played now and stored.

    Parameters
    ----------
    parts : mapping of str to Experiment
        What the parts play, by their names, which are the names of their files.
    folder : PartsFolder
        The result of :func:`staged_with_parts`.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.
    scheduler : Scheduler, optional
        Where the parts are played, all of them side by side; by default in this process, two at a time.
    condense : mapping of str to callable, optional
        For parts of which something is counted over all users: what makes the run that is stored, with the users that
        parts are stored with (:func:`thinned`), of the run with all of them, which is in memory while it is played.
    """
    condense = condense or {}
    runs = {part: _stored(part, experiment, folder, say) for part, experiment in parts.items()}
    missing = {part: parts[part] for part, run in runs.items() if run is None}
    tasks = {part: _task(experiment, part in condense) for part, experiment in missing.items()}
    played = _play_here(missing, tasks, folder, say, progress)
    if scheduler is not None:
        played = _play_on(scheduler, missing, tasks, say, progress)
    # Closed here, whatever happens: its threads must not be left to the garbage collector.
    with contextlib.closing(played):
        for part, complete in played:
            run = condense.get(part, _unchanged)(complete)
            run.attrs["fingerprint"] = _mark(parts[part])
            file = folder.finished / "parts" / f"{part}.nc"
            _store(run, file)
            shutil.rmtree(_chunks_of(part, folder), ignore_errors=True)
            _put_into_result(file, folder)
            runs[part] = run
    return {part: run for part, run in runs.items() if run is not None}


def thinned(run: xarray.Dataset) -> xarray.Dataset:
    """Return a run with the users that a part is stored with."""
    users = int(run.attrs["users"])
    kept = kept_users(users, _step(users), run.sizes["policy"] * run.sizes["trial"])
    return run.sel(user=kept)


def _mark(experiment: Experiment) -> str:
    return fingerprint([resolved(experiment), sources(experiment)])


def _unchanged(run: xarray.Dataset) -> xarray.Dataset:
    return run


def _stored(
    part: str, experiment: Experiment, folder: PartsFolder, say: Callable[[str], None]
) -> xarray.Dataset | None:
    """Return the run of a part that an earlier call stored, or None; the result folder has it then."""
    mark = _mark(experiment)
    for place in (folder.finished, folder.result):
        file = place / "parts" / f"{part}.nc"
        stored = _load(file, mark)
        if stored is not None:
            say(f"{part}: taken from an earlier call")
            if place == folder.finished:
                _put_into_result(file, folder)
            return stored
    return None


def _put_into_result(file: Path, folder: PartsFolder) -> None:
    final = folder.result / "parts" / file.name
    for source, target in ((file, final), (_checksum_of(file), _checksum_of(final))):
        target.unlink(missing_ok=True)
        link_or_copy(source, target)


def _play_here(
    parts: Mapping[str, Experiment],
    tasks: Mapping[str, Task],
    folder: PartsFolder,
    say: Callable[[str], None],
    progress: bool,
) -> Generator[tuple[str, xarray.Dataset]]:
    """Yield the run of each part when it is finished, with its chunks stored on the way.

    A policy is played on one core, and the slowest one of a part would leave the others idle: so two parts are
    played at a time, each on half of the cores, and later parts are compiled meanwhile.
    """
    # The longest first: last, one would keep half of the cores busy alone.
    order = sorted(tasks, key=lambda part: -sum(each.long_program for each in tasks[part].policies.values()))
    abandoned = threading.Event()

    def play(part: str) -> xarray.Dataset:
        def served(users: int) -> None:
            if abandoned.is_set():
                raise CancelledError
            shown.played(part, users)

        task = tasks[part]
        say(f"{part}: {_in_words(parts[part])}")
        shown.compiling(part)
        with double_precision():
            bound = {
                name: bind(name, policy, task.problem, task.users) for name, policy in task.policies.items()
            }
        for line in slow_policies(bound, task.users, len(task.trials)):
            shown.note(f"{part}: {line}")
        store = ChunkFolder(_chunks_of(part, folder), _mark(parts[part]))
        return play_task(task, progress=served, workers=workers, store=store)

    workers = max((os.cpu_count() or 1) // _AT_A_TIME, 1)
    with Progress(progress, sum(task.size for task in tasks.values())) as shown, in_background() as submit:
        # Those of the slowest policies first. What cannot be compiled is reported when its part is played.
        for only_long in (True, False):
            for part in order[_AT_A_TIME:]:
                task = tasks[part]
                submit(
                    compile_programs,
                    task.problem,
                    task.policies,
                    task.users,
                    task.trials,
                    only_long=only_long,
                )
        import_for_threads()
        pool = ThreadPoolExecutor(_AT_A_TIME)
        try:
            playing = {pool.submit(play, part): part for part in order}
            for future in as_completed(playing):
                yield playing[future], future.result()
        finally:
            # A part that is being played ends with its next chunk.
            abandoned.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _play_on(
    scheduler: Scheduler,
    parts: Mapping[str, Experiment],
    tasks: Mapping[str, Task],
    say: Callable[[str], None],
    progress: bool,
) -> Generator[tuple[str, xarray.Dataset]]:
    """Yield the run of each part when all its tasks are finished; the tasks of all parts are played side by side."""
    pieces = [(part, piece) for part, task in tasks.items() for piece in cut(task)]
    left = Counter(part for part, _ in pieces)
    found: dict[str, dict[int, xarray.Dataset]] = {part: {} for part in parts}
    with Progress(progress, sum(piece.size for _, piece in pieces)) as shown:
        for number, result in scheduler.play(
            [piece for _, piece in pieces], lambda users: shown.played("", users), lambda number: None
        ):
            part = pieces[number][0]
            found[part][number] = result
            if len(found[part]) == left[part]:
                say(f"{part}: {_in_words(parts[part])}")
                yield part, join([run for _, run in sorted(found.pop(part).items())])


def _task(experiment: Experiment, complete: bool) -> Task:
    return Task(
        experiment.problem,
        experiment.policies,
        experiment.users,
        range(experiment.trials),
        experiment.seed,
        "all" if complete else _step(experiment.users),
    )


def _step(users: int) -> int:
    """Return how many users apart those are that a part is stored with."""
    return 10 if users >= 10000 else 1


def _in_words(experiment: Experiment) -> str:
    return f"{len(experiment.policies)} policies, {experiment.users} users, {experiment.trials} trials"


def _chunks_of(part: str, folder: PartsFolder) -> Path:
    return folder.finished / "chunks" / part


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
