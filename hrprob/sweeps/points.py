"""What was played at every point: written beside the arrays, so that readers need not build the experiments again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded
from hrprob.io.json_files import read_json, write_json
from hrprob.simulation.results import described
from hrprob.sweeps.fields import policy_of
from hrprob.sweeps.layout import Layout

__all__ = ["POINTS", "Point", "read_points", "result_at", "write_points"]

POINTS = "points.json"
"""Name of the file."""


class Point(NamedTuple):
    """A point of a sweep."""

    label: str  # in words
    values: dict[str, Decoded]  # by field
    users: int
    seed: int
    problem: str  # as JSON, as all results describe themselves
    policies: str
    misspecified: str


def write_points(folder: Path, layout: Layout) -> None:
    """Write what is played at every point; texts that several share are written once."""
    texts: dict[str, int] = {}
    entries = []
    for number, experiment in enumerate(layout.experiments):
        words = described(experiment.problem, experiment.policies)
        entries.append(
            {
                "label": layout.design.label(number),
                "values": dict(zip(layout.design.fields, layout.design.points[number], strict=True)),
                "users": experiment.users,
                "seed": experiment.seed,
            }
            | {name: texts.setdefault(text, len(texts)) for name, text in words.items()}
        )
    write_json(folder / POINTS, {"texts": list(texts), "points": entries})


def read_points(folder: Path) -> list[Point]:
    """Return the points of a sweep from its folder."""
    try:
        content = read_json(folder / POINTS)
        texts = content["texts"]
        return [
            Point(
                str(entry["label"]),
                dict(entry["values"]),
                int(entry["users"]),
                int(entry["seed"]),
                *(str(texts[entry[name]]) for name in ("problem", "policies", "misspecified")),
            )
            for entry in content["points"]
        ]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput("DIR", f"must have a {POINTS} that can be read", str(folder), reason) from None


def result_at(data: xarray.Dataset, points: Sequence[Point], number: int) -> xarray.Dataset:
    """Return one point of a sweep as the result of a run.

    A policy whose own field is swept has its value in its name, so that results at several points can be merged.
    """
    point = points[number]
    fields = json.loads(data.attrs["fields"])
    shape = tuple(data.sizes[axis] for axis in data.regret.dims[:-3])
    where = dict(zip(data.regret.dims[:-3], np.unravel_index(number, shape), strict=True))
    part = data.isel(where).drop_vars([*fields, "point"], errors="ignore").load()
    part = part.sel(user=part.user[part.user <= point.users]).drop_vars("final_regret")
    names = [str(name) for name in part.policy.values]
    swept = {name: [field for field in fields if policy_of(field, names) == name] for name in names}
    renamed = {name: _named(name, swept[name], point) for name in names}
    policies = {renamed[name]: entry for name, entry in json.loads(point.policies).items()}
    beliefs = {renamed[name]: entry for name, entry in json.loads(point.misspecified).items()}
    # A sweep has no times: they are not the same on every machine, and its bits are.
    part = part.assign_coords(policy=list(renamed.values())).assign(
        seconds=("policy", np.full(len(names), np.nan))
    )
    part.attrs = {
        "seed": point.seed,
        "users": point.users,
        "problem": point.problem,
        "policies": json.dumps(policies, ensure_ascii=False),
        "misspecified": json.dumps(beliefs, ensure_ascii=False),
    }
    return part


def _named(name: str, fields: list[str], point: Point) -> str:
    values = [f"{field.removeprefix(f'policy.{name}.')} = {point.values[field]}" for field in fields]
    return f"{name} ({', '.join(values)})" if values else name
