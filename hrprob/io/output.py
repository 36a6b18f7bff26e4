"""What a run leaves in its folder, written whole or not at all.

==================  ==============================================================
file                what it has
==================  ==============================================================
results.nc          the dataset, as :func:`xarray.open_dataset` reads it
summary.json        regret at users 1, 1001, 2001, ... and the last, mean lifetime
manifest.json       configuration as resolved, seed, versions, times, revision
regret.png, .svg    :func:`~hrprob.plot.plots.plot_regret`
lifetime.png, .svg  :func:`~hrprob.plot.plots.plot_lifetime`
==================  ==============================================================

All of it is written into a hidden folder beside the place where it belongs, which takes
its name in the end. A reader finds the old result, the new one, or none; never a part.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import os
import platform
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io.config import Experiment, resolved
from hrprob.simulation.results import summary_users

__all__ = ["check_named", "environment", "manifest", "staged", "summary", "write", "write_json"]

MANIFEST = "manifest.json"
_PACKAGES = ("jax", "jaxlib", "numpy", "numpyro", "xarray")


@contextlib.contextmanager
def staged(out: str | Path, job: str = "run") -> Iterator[Path]:
    """Give a new folder to write into, which becomes ``out`` when all went well.

    It is made at once, so a place that cannot be written to is found out before any work is
    done. If the work fails, nothing is left and what was at ``out`` stays. An earlier result
    of the same job at ``out`` is replaced; files in it that hrprob did not write are kept.

    Parameters
    ----------
    out : str or Path
        Where the result is to be.
    job : str
        What is done, as its manifest has it.

    Raises
    ------
    InvalidInput
        If ``out`` is a file, the current folder, has something in it that is no result of
        hrprob, or cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "result")
    >>> with staged(place) as folder:
    ...     _ = (folder / "note.txt").write_text("done")
    >>> [path.name for path in place.iterdir()]
    ['note.txt']
    """
    check_named(out)
    missing: list[Path] = []
    try:
        place = Path(out).resolve()
        _check_free(out, place, job)
        missing = [folder for folder in place.parents if not folder.exists()]
        folder = place.parent / f".{place.name}.{secrets.token_hex(4)}"
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
    _put_in_place(folder, place, job)


def check_named(out: str | Path) -> None:
    """Raise unless ``out`` is the name of a folder: the empty one would be that of the current folder."""
    if not str(out):
        raise InvalidInput("--out", "must name a folder", str(out), "for example results/first")


def write(folder: Path, dataset: xarray.Dataset, facts: Mapping[str, Any]) -> None:
    """Write the files of a result into ``folder``.

    Parameters
    ----------
    folder : Path
        An empty folder, as :func:`staged` gives it.
    dataset : xarray.Dataset
        What :func:`~hrprob.simulation.engine.simulate` returned.
    facts : mapping
        What :func:`manifest` returned.
    """
    from hrprob.plot import plots

    packed = {"zlib": True, "complevel": 1, "shuffle": True}
    encoding = dict.fromkeys(("regret", "lifetime", "action", "optimal", "best"), packed)
    dataset.to_netcdf(folder / "results.nc", engine="h5netcdf", encoding=encoding)
    write_json(folder / "summary.json", summary(dataset))
    plots.save(plots.plot_regret(dataset), folder, "regret")
    plots.save(plots.plot_lifetime(dataset), folder, "lifetime")
    files = sorted([path.name for path in folder.iterdir()] + [MANIFEST])
    write_json(folder / MANIFEST, {**facts, "files": files})


def summary(dataset: xarray.Dataset) -> dict[str, Any]:
    """Return regret along the way, mean lifetime and time of every policy, as plain data.

    Parameters
    ----------
    dataset : xarray.Dataset
        What :func:`~hrprob.simulation.engine.simulate` returned.

    Returns
    -------
    dict
        By policy: ``regret`` by user (as text: 1, 1001, 2001, ... and the last; those that were
        kept) and ``lifetime``, each with ``mean`` and ``se``, the standard error over trials, None
        with one trial; and ``seconds``.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> summary(result)["oracle"]["regret"]["50"]
    {'mean': 0.0, 'se': 0.0}
    """
    users = np.intersect1d(summary_users(int(dataset.attrs["users"])), dataset.user.values)
    return {str(name): _summary_of(dataset.sel(policy=name), users) for name in dataset.policy.values}


def _summary_of(dataset: xarray.Dataset, users: np.ndarray) -> dict[str, Any]:
    regret = dataset.regret.sel(user=users).values
    return {
        "regret": {str(user): _mean_and_error(regret[:, place]) for place, user in enumerate(users)},
        "lifetime": _mean_and_error(dataset.mean_lifetime.values),
        "seconds": _finite(dataset.seconds),
    }


def _mean_and_error(samples: np.ndarray) -> dict[str, float | None]:
    with np.errstate(invalid="ignore"):
        error = samples.std(ddof=1) / math.sqrt(samples.size) if samples.size > 1 else math.nan
    return {"mean": _finite(samples.mean()), "se": _finite(error)}


def _finite(number: Any) -> float | None:
    # JSON has neither NaN nor infinity.
    return float(number) if math.isfinite(number) else None


def manifest(
    experiment: Experiment,
    dataset: xarray.Dataset,
    *,
    keep: str | int,
    command: list[str],
    wall_seconds: float,
    cpu_seconds: float,
) -> dict[str, Any]:
    """Return what somebody needs to repeat a run, as plain data.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    dataset : xarray.Dataset
        What came of it.
    keep : "auto", "all" or int
        Which users were asked to be kept.
    command : list of str
        The command line.
    wall_seconds, cpu_seconds : float
        What the simulation took, compilation included.
    """
    return {
        "program": "hrprob",
        "job": "run",
        "configuration": resolved(experiment),
        "seed": experiment.seed,
        "thinning": _thinning(dataset.user.values, keep),
        "command": command,
        "wall_seconds": wall_seconds,
        "cpu_seconds": cpu_seconds,
    } | environment()


def environment() -> dict[str, Any]:
    """Return what a result may depend on besides its configuration: versions, machine, revision.

    Examples
    --------
    >>> sorted(environment())
    ['git', 'platform', 'versions']
    """
    import jax

    return {
        "versions": {"python": platform.python_version(), "hrprob": hrprob.__version__}
        | {name: importlib.metadata.version(name) for name in _PACKAGES},
        "platform": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "devices": [device.device_kind for device in jax.devices()],
        },
        "git": _git_revision(),
    }


def _thinning(users: np.ndarray, keep: str | int) -> dict[str, Any]:
    step = int(users[1] - users[0]) if len(users) > 1 else 1
    rule = "every user" if step == 1 else f"each {step}-th user from the first; 1, 1001, ... and the last"
    return {"keep": keep, "step": step, "users": len(users), "rule": rule}


def _git_revision() -> dict[str, Any] | None:
    """Return the revision of the working directory and whether files differ from it, or None without git."""
    revision = _git("rev-parse", "HEAD")
    return (
        None if revision is None else {"revision": revision, "changed": _git("status", "--porcelain") != ""}
    )


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def write_json(path: Path, data: Any) -> None:
    """Write plain data as JSON."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    path.write_text(text + "\n", encoding="utf-8")


def _check_free(out: str | Path, place: Path, job: str) -> None:
    remedy = f"name a folder that is new, empty, or an earlier result of hrprob {job}"
    if place.exists() and not place.is_dir():
        raise InvalidInput("--out", "must be a folder", str(out), remedy)
    if place.is_dir() and any(place.iterdir()) and _files_of_result(place, job) is None:
        must = "must not be a folder with other things in it"
        raise InvalidInput("--out", must, str(out), f"it has no {MANIFEST} of hrprob {job}; {remedy}")
    if place == Path.cwd():
        # A new folder takes its place, and whoever stands in it is left in none.
        must = "must not be the current folder"
        raise InvalidInput("--out", must, str(out), "name a folder inside it, for example result")
    if place.is_mount():
        must = "must not be where a file system is mounted"
        raise InvalidInput("--out", must, str(out), "name a folder inside it")


def _files_of_result(place: Path, job: str) -> list[str] | None:
    """Return the files of the result at ``place``, or None if it is none of this job of hrprob."""
    try:
        facts = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(facts, dict) or (facts.get("program"), facts.get("job")) != ("hrprob", job):
        return None
    return [str(name) for name in facts.get("files", [])]


def _put_in_place(folder: Path, place: Path, job: str) -> None:
    try:
        earlier = _files_of_result(place, job)
        if earlier is None:
            folder.rename(place)
        else:
            _exchange(folder, place, earlier)
    except OSError as error:
        # Hours of work may be in it: it stays where it is.
        raise OSError(
            f"the result stays in {folder}, for it could not be moved to {place}: {error}"
        ) from None


def _exchange(folder: Path, place: Path, earlier: list[str]) -> None:
    """Put ``folder`` at ``place``, with what was there besides the files of the ``earlier`` result."""
    aside = folder.with_name(f"{folder.name}.earlier")
    place.rename(aside)
    try:
        folder.rename(place)
    except OSError:
        aside.rename(place)
        raise
    for path in aside.iterdir():
        if path.name not in earlier and not (place / path.name).exists():
            path.rename(place / path.name)
    shutil.rmtree(aside)


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made on the way and hold nothing, the innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
