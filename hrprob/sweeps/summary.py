"""A sweep in numbers: ``summary.json``, and the table that is printed."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import xarray

from hrprob._core.tables import to_toml
from hrprob._core.types import Decoded
from hrprob.io.result_table import ResultTable
from hrprob.io.summary import MeanAndError, mean_and_error, with_error
from hrprob.sweeps.design import Design

__all__ = ["sweep_summary", "sweep_table"]


class PolicySummary(TypedDict):
    """Mean and standard error of a policy's results at one point."""

    regret: MeanAndError
    lifetime: MeanAndError


class PointSummary(TypedDict):
    """The results at one point of a sweep."""

    values: dict[str, Decoded]
    policies: dict[str, PolicySummary]


def sweep_summary(data: xarray.Dataset, design: Design) -> list[PointSummary]:
    """Return regret of all users and mean lifetime of every policy at every point, as plain data.

    Each has its ``mean`` and ``se``, the standard error over trials, None with one trial.
    """
    names = [str(name) for name in data.policy.values]
    regret, lifetime = (
        np.asarray(data[name].values).reshape(len(design.points), len(names), -1)
        for name in ("final_regret", "mean_lifetime")
    )
    return [
        {
            "values": dict(zip(design.fields, values, strict=True)),
            "policies": {
                name: {
                    "regret": mean_and_error(regret[number, row]),
                    "lifetime": mean_and_error(lifetime[number, row]),
                }
                for row, name in enumerate(names)
            },
        }
        for number, values in enumerate(design.points)
    ]


def sweep_table(entries: list[PointSummary], unit: str = "rounds") -> ResultTable:
    """Return the table of a sweep: regret of every policy at every point."""
    names = list(entries[0]["policies"])
    rows = [
        [
            *(value if isinstance(value, str) else to_toml(value) for value in entry["values"].values()),
            *(with_error(entry["policies"][name]["regret"], 1) for name in names),
        ]
        for entry in entries
    ]
    header = [*entries[0]["values"], *names]
    return ResultTable(header, rows, f"Regret of all users in {unit}; mean over trials ± standard error.")
