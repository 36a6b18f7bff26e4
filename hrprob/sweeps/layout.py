"""The arrays of a sweep: its axes, its variables, and the place of every task in them.

A grid has an axis per swept field. Draws have one axis ``point``, along which every field has its values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import xarray

from hrprob._core.tables import to_toml
from hrprob._core.types import Decoded
from hrprob.io.config import Experiment
from hrprob.simulation.results import kept_users
from hrprob.simulation.tasks import Task, trial_ranges
from hrprob.sweeps.design import Design
from hrprob.sweeps.fields import experiments_at

__all__ = [
    "VARIABLES",
    "Layout",
    "Variable",
    "Writable",
    "make_layout",
    "memory_arrays",
    "place",
    "to_dataset",
]


class Variable(NamedTuple):
    """A variable of a sweep, over the swept fields and these axes."""

    axes: tuple[str, ...]
    dtype: str
    fill: float  # where nobody came: users beyond T, if that is swept
    long_name: str


_ALL = ("policy", "trial", "user")
VARIABLES = {
    "regret": Variable(_ALL, "float64", np.nan, "cumulative pseudo regret"),
    "lifetime": Variable(_ALL, "float64", np.nan, "realised lifetime"),
    "action": Variable(_ALL, "int32", -1, "action of the first round, from 0"),
    "optimal": Variable(_ALL, "int8", 0, "1 where no action was better at first"),
    "best": Variable(_ALL[1:], "float64", np.nan, "the oracle's expected value"),
    "mean_best": Variable(_ALL[1:2], "float64", np.nan, "mean of the oracle's expected value over all users"),
    "mean_lifetime": Variable(_ALL[:2], "float64", np.nan, "mean realised lifetime over all users"),
    "final_regret": Variable(_ALL[:2], "float64", np.nan, "cumulative pseudo regret of all users"),
}
"""What a sweep has of every point."""


class Writable(Protocol):
    """An array that can be written in parts: of NumPy, or on disk."""

    def __setitem__(self, index: tuple[int | slice, ...], values: np.ndarray) -> None: ...


class Layout(NamedTuple):
    """Which arrays a sweep has, and where its tasks go."""

    design: Design
    experiments: list[Experiment]  # at every point
    names: list[str]  # of the policies
    users: np.ndarray  # those that are kept
    ranges: list[range]  # the trials of the tasks of a point

    @property
    def point_axes(self) -> tuple[str, ...]:
        """The axes along which the points lie."""
        return ("point",) if self.design.axes is None else self.design.fields

    @property
    def tasks(self) -> list[Task]:
        """All tasks: those of the first point, then those of the second, ..."""
        return [
            Task(one.problem, one.policies, one.users, trials, one.seed, self.users, len(self.ranges[0]))
            for one in self.experiments
            for trials in self.ranges
        ]

    def sizes(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of a variable."""
        return (*self.design.shape, *(self._lengths[axis] for axis in variable.axes))

    def chunks(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of the part of a variable that one task fills."""
        lengths = self._lengths | {"trial": len(self.ranges[0])}
        return (*(1 for _ in self.design.shape), *(lengths[axis] for axis in variable.axes))

    def chunk_of(self, task: int, variable: Variable) -> tuple[int, ...]:
        """Return the number of that part along every axis."""
        point, part = divmod(task, len(self.ranges))
        places = (int(place) for place in np.unravel_index(point, self.design.shape))
        return (*places, *(part if axis == "trial" else 0 for axis in variable.axes))

    def coordinates(self) -> dict[str, object]:
        """Return the coordinates, as xarray takes them."""
        trials = np.arange(self.ranges[0].start, self.ranges[-1].stop)
        # Texts as objects, which Zarr has a stable form for.
        found: dict[str, object] = {
            "policy": np.array(self.names, dtype=object),
            "trial": trials,
            "user": self.users,
        }
        if self.design.axes is not None:
            return found | {
                field: _coordinate(axis)
                for field, axis in zip(self.design.fields, self.design.axes, strict=True)
            }
        columns = zip(*self.design.points, strict=True)
        return (
            found
            | {"point": np.arange(len(self.design.points))}
            | {
                field: ("point", _coordinate(list(column)))
                for field, column in zip(self.design.fields, columns, strict=True)
            }
        )

    def attributes(self) -> dict[str, object]:
        """Return what the dataset says of itself."""
        return {"fields": json.dumps(self.design.fields, ensure_ascii=False), "method": self.design.method}

    def attributes_of(self, name: str) -> dict[str, str]:
        """Return what a variable says of itself."""
        units = {"lifetime": "rounds", "mean_lifetime": "rounds"}
        if name in ("regret", "final_regret"):
            kinds = dict.fromkeys(one.problem.objective.unit for one in self.experiments)
            units[name] = ", ".join(kinds)
        return {"long_name": VARIABLES[name].long_name} | ({"units": units[name]} if name in units else {})

    @property
    def _lengths(self) -> dict[str, int]:
        trials = self.ranges[-1].stop - self.ranges[0].start
        return {"policy": len(self.names), "trial": trials, "user": len(self.users)}


def make_layout(experiment: Experiment, design: Design, keep: str | int) -> Layout:
    """Return the layout of a sweep over an experiment, and with it the experiment at every point."""
    experiments = experiments_at(experiment, design)
    rows = len(experiment.policies) * experiment.trials
    longest = max(one.users for one in experiments)
    users = kept_users(longest, keep, rows * (len(experiments) if keep == "auto" else 1))
    for size in {one.users for one in experiments}:
        users = np.union1d(users, kept_users(size, users, rows))
    return Layout(design, experiments, list(experiment.policies), users, trial_ranges(experiment.trials))


def place(layout: Layout, arrays: Mapping[str, Writable], number: int, result: xarray.Dataset) -> None:
    """Write the result of a task into the arrays."""
    point, part = divmod(number, len(layout.ranges))
    trials, first = layout.ranges[part], layout.ranges[0].start
    where = tuple(int(index) for index in np.unravel_index(point, layout.design.shape))
    spans = {
        "policy": slice(None),
        "trial": slice(trials.start - first, trials.stop - first),
        # Users are kept from the first on; beyond the point's own T nobody came.
        "user": slice(0, result.sizes["user"]),
    }
    content = {name: result[name].values for name in VARIABLES if name in result}
    content["final_regret"] = result.regret.values[..., -1]
    for name, variable in VARIABLES.items():
        arrays[name][(*where, *(spans[axis] for axis in variable.axes))] = content[name]


def memory_arrays(layout: Layout) -> dict[str, np.ndarray]:
    """Return empty arrays in memory."""
    return {
        name: np.full(layout.sizes(variable), variable.fill, dtype=variable.dtype)
        for name, variable in VARIABLES.items()
    }


def to_dataset(layout: Layout, arrays: Mapping[str, np.ndarray]) -> xarray.Dataset:
    """Return arrays in memory as a dataset."""
    variables = {
        name: ((*layout.point_axes, *VARIABLES[name].axes), array, layout.attributes_of(name))
        for name, array in arrays.items()
    }
    return xarray.Dataset(variables, layout.coordinates(), layout.attributes())


def _coordinate(values: list[Decoded]) -> np.ndarray:
    """Return numbers as they are; if there are other values among them, all as texts."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values)
    texts = [value if isinstance(value, str) else to_toml(value) for value in values]
    return np.array(texts, dtype=object)
