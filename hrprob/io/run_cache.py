"""Long jobs in parts: every part's run is kept, and a later call takes it over.

A run is kept in the output folder under a fingerprint of its configuration, of the
versions, and of hrprob's own code; a later call takes it from there if its fingerprint is
the same. Every file is written under another name and renamed when whole.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io import output
from hrprob.io.config import Experiment, resolved
from hrprob.simulation.engine import simulate

__all__ = ["play", "prepared", "whole", "write_json"]


def prepared(out: str | Path, job: str, parts: Iterable[str]) -> Path:
    """Return the folder for a job's results, made if it is not there.

    Parameters
    ----------
    out : str or Path
        Where it is to be; new, empty, or with an earlier result of this job.
    job : str
        What is done, as its manifest has it.
    parts : iterable of str
        The parts that the job can have.
    """
    output.check_named(out)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strangers = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        if strangers and not _is_earlier(folder, job, parts):
            raise InvalidInput(
                "--out", "must be empty or hold an earlier result", str(out), f"it has {strangers[0]!r} in it"
            )
        (folder / "parts").mkdir(exist_ok=True)
        probe = folder / "parts" / f".probe.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InvalidInput("--out", "must be a folder that can be written", str(out), str(error)) from None
    return folder


def _is_earlier(folder: Path, job: str, parts: Iterable[str]) -> bool:
    """Say whether this job, finished or not, was done here."""
    if not (folder / "parts").is_dir():
        return False
    try:
        facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        ours = {f"{part}.nc" for part in parts}
        return all(path.name in ours or path.name[0] == "." for path in (folder / "parts").iterdir())
    except ValueError:
        return False
    return isinstance(facts, dict) and facts.get("job") == job


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a name to write to; the file appears at ``path`` when it is whole."""
    partial = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


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


def play(
    part: str, experiment: Experiment, folder: Path, say: Callable[[str], None], progress: bool
) -> xarray.Dataset:
    """Return the run of a part: what was kept of an earlier call, or played now and kept."""
    file, fingerprint = folder / "parts" / f"{part}.nc", _fingerprint(experiment)
    kept = _kept(file, fingerprint)
    if kept is not None:
        say(f"{part}: taken from {file}")
        return kept
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
    with whole(file) as path:
        run.to_netcdf(path, engine="h5netcdf")
    return run


def _kept(file: Path, fingerprint: str) -> xarray.Dataset | None:
    if not file.exists():
        return None
    try:
        with xarray.open_dataset(file, engine="h5netcdf") as found:
            return found.load() if found.attrs.get("fingerprint") == fingerprint else None
    except (OSError, ValueError, KeyError):
        # Not a file of ours, or a broken one: the part is played anew and the file replaced.
        return None


def write_json(file: Path, data: Any) -> None:
    """Write plain data as JSON, whole or not at all."""
    with whole(file) as path:
        output.write_json(path, data)
