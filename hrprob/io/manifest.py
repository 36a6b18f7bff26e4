"""What is needed to repeat a run: configuration, seed, versions, machine, revision, times."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded
from hrprob.io.config import Experiment, resolved
from hrprob.io.json_files import read_json, write_json
from hrprob.simulation.reading import beliefs_in_words

if TYPE_CHECKING:
    import xarray

__all__ = [
    "MANIFEST",
    "check_file",
    "checksum",
    "environment",
    "read_manifest",
    "run_manifest",
    "write_manifest",
]

MANIFEST = "manifest.json"
"""Name of the file that every result folder has."""

_PACKAGES = ("jax", "jaxlib", "numpy", "numpyro", "xarray")


def run_manifest(
    experiment: Experiment,
    dataset: xarray.Dataset,
    *,
    keep: str | int,
    command: list[str],
    wall_seconds: float,
    cpu_seconds: float,
) -> dict[str, object]:
    """Return the manifest of a run as plain data.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    dataset : xarray.Dataset
        Its result.
    keep : "auto", "all" or int
        Which users were to be kept.
    command : list of str
        The command line.
    wall_seconds, cpu_seconds : float
        Time of the simulation, compilation included.
    """
    return {
        "program": "hrprob",
        "job": "run",
        "configuration": resolved(experiment),
        "seed": experiment.seed,
        # What policies assume that is not so, in words.
        "misspecified": beliefs_in_words(dataset),
        "thinning": _thinning(dataset.user.values, keep),
        "command": command,
        "wall_seconds": wall_seconds,
        "cpu_seconds": cpu_seconds,
    } | environment()


def write_manifest(folder: Path, facts: Mapping[str, object]) -> None:
    """Write a manifest into a folder, with the list of all files that are there and their checksums: call it last."""
    files = sorted([path.name for path in folder.iterdir()] + [MANIFEST])
    checksums = {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    write_json(folder / MANIFEST, {**facts, "files": files, "sha256": checksums})


def read_manifest(folder: Path) -> dict[str, Decoded]:
    """Return the manifest of a result folder; nothing if there is none.

    Raises
    ------
    InvalidInput
        If it is there but cannot be read.
    """
    file = folder / MANIFEST
    try:
        facts = read_json(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput("DIR", f"must have a {MANIFEST} that can be read", str(folder), reason) from None
    tables = [facts.get(name, {}) for name in ("versions", "sha256")] if isinstance(facts, dict) else [None]
    if not facts or not all(isinstance(table, dict) for table in tables):
        remedy = "it is no table of facts; play it again"
        raise InvalidInput("DIR", f"must have a {MANIFEST} of hrprob", str(folder), remedy)
    return facts


def check_file(folder: Path, name: str, facts: Mapping[str, Decoded]) -> None:
    """Raise if a file of a result is not the one that was written with the manifest ``facts``."""
    expected = facts.get("sha256", {}).get(name)
    if expected is not None and checksum(folder / name) != expected:
        remedy = (
            f"{name} differs from its checksum in {MANIFEST}: it is damaged or was changed; play it again"
        )
        raise InvalidInput("DIR", "must hold a result as it was written", str(folder), remedy)


def checksum(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def environment(*packages: str) -> dict[str, Decoded]:
    """Return what a result may depend on besides its configuration: versions, machine, revision.

    Parameters
    ----------
    packages : str
        Further packages whose versions matter.

    Examples
    --------
    >>> sorted(environment())
    ['git', 'platform', 'versions']
    >>> "scipy" in environment("scipy")["versions"]
    True
    """
    import jax

    return {
        "versions": {"python": platform.python_version(), "hrprob": hrprob.__version__}
        | {name: importlib.metadata.version(name) for name in (*_PACKAGES, *packages)},
        "platform": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "devices": [device.device_kind for device in jax.devices()],
        },
        "git": _git_revision(),
    }


def _processor() -> str:
    """Return the name of the processor: results may differ in the last digits between processors."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _thinning(users: np.ndarray, keep: str | int) -> dict[str, object]:
    step = int(users[1] - users[0]) if len(users) > 1 else 1
    rule = "every user" if step == 1 else f"each {step}-th user from the first; 1, 1001, ... and the last"
    return {"keep": keep, "step": step, "users": len(users), "rule": rule}


def _git_revision() -> dict[str, object] | None:
    """Return the revision of the working directory and whether files differ from it (None: not known), or None without git."""
    revision = _git("rev-parse", "HEAD")
    if revision is None:
        return None
    changes = _git("status", "--porcelain")
    return {"revision": revision, "changed": None if changes is None else changes != ""}


def _git(*arguments: str) -> str | None:
    # Without locks: one that is stopped by the time limit would leave its lock in the user's repository.
    command = ["git", "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
