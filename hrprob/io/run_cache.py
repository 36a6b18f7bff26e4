"""Runs of long jobs, kept in the output folder and reused by a later call.

A job such as ``hrprob suite`` plays several runs, its parts. Each is stored under a fingerprint of its
configuration, of the versions, and of hrprob's own code; a later call loads it if the fingerprint is the
same, and plays it again otherwise. Every file appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io.config import Experiment, resolved
from hrprob.io.manifest import MANIFEST
from hrprob.io.staging import check_folder_name, whole_file
from hrprob.simulation.engine import simulate

__all__ = ["load_or_play", "prepare_folder"]


def prepare_folder(out: str | Path, job: str, parts: Iterable[str]) -> Path:
    """Return the folder of a job's results; make it if it does not exist.

    Parameters
    ----------
    out : str or Path
        The folder: new, empty, or with an earlier result of this job.
    job : str
        The job, as its manifest names it.
    parts : iterable of str
        The parts that the job can have.
    """
    check_folder_name(out)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        present = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        if present and not _has_earlier_result(folder, job, parts):
            raise InvalidInput(
                "--out", "must be empty or hold an earlier result", str(out), f"it has {present[0]!r} in it"
            )
        (folder / "parts").mkdir(exist_ok=True)
        probe = folder / "parts" / f".probe.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InvalidInput("--out", "must be a folder that can be written", str(out), str(error)) from None
    return folder


def load_or_play(
    part: str,
    experiment: Experiment,
    folder: Path,
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
    folder : Path
        The result of :func:`prepare_folder`.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.
    """
    file, fingerprint = folder / "parts" / f"{part}.nc", _fingerprint(experiment)
    stored = _load(file, fingerprint)
    if stored is not None:
        say(f"{part}: taken from {file}")
        return stored
    say(f"{part}: {len(experiment.policies)} policies, {experiment.users} users, {experiment.trials} trials")
    run = simulate(
        experiment.problem,
        experiment.policies,
        users=experiment.users,
        trials=experiment.trials,
        seed=experiment.seed,
        keep=10 if experiment.users >= 10000 else "all",
        progress=progress,
    )
    run.attrs["fingerprint"] = fingerprint
    with whole_file(file) as path:
        run.to_netcdf(path, engine="h5netcdf")
    return run


def _has_earlier_result(folder: Path, job: str, parts: Iterable[str]) -> bool:
    """Say whether the folder holds a result of this job, finished or not."""
    if not (folder / "parts").is_dir():
        return False
    try:
        facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = {f"{part}.nc" for part in parts}
        return all(path.name in known or path.name[0] == "." for path in (folder / "parts").iterdir())
    except ValueError:
        return False
    return isinstance(facts, dict) and facts.get("job") == job


def _fingerprint(experiment: Experiment) -> str:
    import jax
    import scipy

    digest = hashlib.sha256()
    digest.update(json.dumps(resolved(experiment), sort_keys=True, default=str).encode())
    digest.update(f"{hrprob.__version__} {jax.__version__} {np.__version__} {scipy.__version__}".encode())
    package = Path(hrprob.__file__).parent
    for folder in (package, package / "models"):
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _load(file: Path, fingerprint: str) -> xarray.Dataset | None:
    if not file.exists():
        return None
    try:
        with xarray.open_dataset(file, engine="h5netcdf") as stored:
            return stored.load() if stored.attrs.get("fingerprint") == fingerprint else None
    except (OSError, ValueError, KeyError):
        # The file is not one of ours, or damaged: the part is played again and the file replaced.
        return None
