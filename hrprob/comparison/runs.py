"""Results on disk, and which of them can be paired.

Two results met the same users if they have the same problem, the same seed and the same
number of users (which policies may know); trial i is then the same in both, whatever the number of
trials. Results of different problems cannot be paired with each other: they form a suite.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded
from hrprob.io.checking import check_result
from hrprob.io.manifest import check_file, read_manifest
from hrprob.io.netcdf import read_netcdf
from hrprob.sweeps.points import read_points, result_at
from hrprob.sweeps.zarr_files import RESULTS, read_results

__all__ = ["Run", "pool", "read"]


class Run(NamedTuple):
    """A result and its origin."""

    name: str
    data: xarray.Dataset
    facts: dict[str, Decoded]  # its manifest; empty if there is none


def read(place: str | Path) -> list[Run]:
    """Return the results in a folder that ``hrprob run``, ``reproduce`` or ``sweep`` wrote, or in a file."""
    path = Path(place)
    try:
        if (path / RESULTS).is_dir():
            return _read_sweep(path)
        file = path / "results.nc" if path.is_dir() else path
        there = file.is_file()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput("DIR", "must be a folder that can be read", str(place), reason) from None
    if not there:
        remedy = "name a folder that `hrprob run` wrote, or its results.nc"
        raise InvalidInput("DIR", "must hold a results.nc", str(place), remedy)
    facts = read_manifest(file.parent) if file.name == "results.nc" else {}
    check_file(file.parent, file.name, facts)
    tree = read_netcdf(file, "DIR", "must hold a results.nc of hrprob")
    nodes = {node.path.strip("/"): node.to_dataset() for node in tree.subtree}
    label = path.stem if path.is_file() else path.resolve().name
    runs = [
        Run(f"{label}/{name}" if name else label, data, facts)
        for name, data in nodes.items()
        if data.data_vars or len(nodes) == 1
    ]
    if not runs:
        raise InvalidInput("DIR", "must hold regrets", str(place), "play it again")
    for run in runs:
        check_result(run.data, str(place))
    return runs


def _read_sweep(path: Path) -> list[Run]:
    """Return the points of a sweep, each as a run."""
    label, facts = path.resolve().name, read_manifest(path)
    data, points = read_results(path, facts), read_points(path)
    runs = [
        Run(f"{label}: {point.label}", result_at(data, points, number), facts)
        for number, point in enumerate(points)
    ]
    for run in runs:
        check_result(run.data, str(path))
    return runs


def pool(runs: Sequence[Run]) -> dict[str, xarray.Dataset]:
    """Return one dataset per problem, with the policies of all results that played it.

    Raises
    ------
    InvalidInput
        If results of one problem met different users, or one of several problems has a single policy.
    """
    by_problem: dict[str, list[Run]] = {}
    for run in runs:
        by_problem.setdefault(str(run.data.attrs["problem"]), []).append(run)
    pooled = {group[0].name: _merged(group) for group in by_problem.values()}
    alone = [name for name, data in pooled.items() if data.sizes["policy"] < 2]
    if alone and len(pooled) > 1:
        other = next(name for name in pooled if name != alone[0])
        remedy = f"{alone[0]!r} and {other!r} have different problems, so no two policies met the same users"
        raise InvalidInput("DIR", "must have policies that met the same users", alone[0], remedy)
    return pooled


def _merged(group: list[Run]) -> xarray.Dataset:
    first = group[0]
    for run in group[1:]:
        _check_same_users(first, run)
    trials = set.intersection(*(set(run.data.trial.values.tolist()) for run in group))
    users = np.array(sorted(set.intersection(*(set(run.data.user.values.tolist()) for run in group))))
    parts: list[xarray.Dataset] = []
    owners: dict[str, Run] = {}
    for run in group:
        data = run.data.sel(trial=sorted(trials), user=users)
        names = [_unique_name(str(name), run, owners, data) for name in data.policy.values]
        new = [index for index, name in enumerate(names) if name is not None]
        for name in names:
            if name is not None:
                owners[name] = run
        if new:
            chosen = data.isel(policy=new)
            parts.append(chosen.assign_coords(policy=[names[index] for index in new]))
    merged = xarray.concat(
        parts, "policy", data_vars="minimal", coords="minimal", compat="override", join="exact"
    )
    described = {
        name: json.loads(run.data.attrs["policies"])[_original_name(name, run)]
        for name, run in owners.items()
    }
    merged.attrs = dict(first.data.attrs) | {"policies": json.dumps(described, ensure_ascii=False)}
    return merged


def _original_name(name: str, run: Run) -> str:
    return name.removesuffix(f" ({run.name})")


def _check_same_users(one: Run, other: Run) -> None:
    for size in ("seed", "users"):
        a, b = one.data.attrs[size], other.data.attrs[size]
        if a != b:
            why = f"{one.name!r} has {size} {a}, {other.name!r} has {b}: their users are not the same"
            raise InvalidInput("DIR", "must have met the same users to be paired", other.name, why)
    versions = [run.facts.get("versions", {}).get("hrprob") for run in (one, other)]
    if None not in versions and versions[0] != versions[1]:
        why = f"{one.name!r} is of hrprob {versions[0]}, {other.name!r} of {versions[1]}: draws may differ"
        raise InvalidInput("DIR", "must have met the same users to be paired", other.name, why)


def _unique_name(name: str, run: Run, owners: dict[str, Run], data: xarray.Dataset) -> str | None:
    """Return a policy's name among those of all results, or None if the same run of it is there already."""
    if name not in owners:
        return name
    before = owners[name].data
    same_settings = json.loads(before.attrs["policies"]).get(name) == json.loads(data.attrs["policies"]).get(
        name
    )
    if same_settings and np.array_equal(
        before.sel(policy=name, trial=data.trial, user=data.user).regret, data.sel(policy=name).regret
    ):
        return None
    return f"{name} ({run.name})"
