"""What somebody needs to repeat a run: configuration, seed, versions, machine, revision, times."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

import hrprob
from hrprob.io.config import Experiment, resolved
from hrprob.io.json_files import write_json

__all__ = ["MANIFEST", "environment", "run_manifest", "write_manifest"]

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
) -> dict[str, Any]:
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
        "thinning": _thinning(dataset.user.values, keep),
        "command": command,
        "wall_seconds": wall_seconds,
        "cpu_seconds": cpu_seconds,
    } | environment()


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write a manifest into a folder, with the list of all files that are there: call it last."""
    files = sorted([path.name for path in folder.iterdir()] + [MANIFEST])
    write_json(folder / MANIFEST, {**facts, "files": files})


def environment(*packages: str) -> dict[str, Any]:
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
