"""A run in numbers and words: ``summary.json``, the table that is printed, and notes that belong to it."""

from __future__ import annotations

import json
import math
from typing import Any, TypedDict

import numpy as np
import xarray

from hrprob.io.json_files import finite_or_none
from hrprob.io.result_table import ResultTable
from hrprob.problem import Problem
from hrprob.simulation.results import summary_users

__all__ = ["MeanAndError", "PolicySummary", "run_notes", "summary", "summary_table"]

# An outcome of probability below 1e-308 counts as impossible.
_NOT_FINITE = (
    "not finite: some user's level is below all outcomes of some action (or as good as), "
    "and the lifetime infinite"
)


class MeanAndError(TypedDict):
    """A mean over trials and its standard error; None where it is not finite or there is one trial only."""

    mean: float | None
    se: float | None


class PolicySummary(TypedDict):
    """One policy in ``summary.json``."""

    regret: dict[str, MeanAndError]  # by user
    lifetime: MeanAndError
    seconds: float | None


def summary(dataset: xarray.Dataset) -> dict[str, PolicySummary]:
    """Return regret along the users, mean lifetime and computing time of every policy, as plain data.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.

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
    return {str(name): _policy_summary(dataset.sel(policy=name), users) for name in dataset.policy.values}


def summary_table(entries: dict[str, PolicySummary], users: int) -> ResultTable:
    """Return the table of a run: regret at the last user, mean lifetime and seconds of every policy."""
    rows = [
        [
            name,
            _with_error(entry["regret"][str(users)], 1),
            _with_error(entry["lifetime"], 3),
            f"{entry['seconds']:.1f}",
        ]
        for name, entry in entries.items()
    ]
    return ResultTable(["policy", f"regret at {users}", "mean lifetime", "seconds"], rows)


def run_notes(dataset: xarray.Dataset, problem: Problem) -> list[str]:
    """Return what a reader of the table must know: why means are not finite, which policies hold wrong beliefs, and whether arrivals repeat.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.
    problem : Problem
        The problem that was played.
    """
    users = int(dataset.attrs["users"])
    notes = [_NOT_FINITE] if _has_infinite_mean(summary(dataset), users) else []
    truth = json.loads(dataset.attrs["problem"])
    for name, beliefs in json.loads(dataset.attrs["misspecified"]).items():
        for part, belief in beliefs.items():
            wrong, right = _difference_in_words(belief, truth[part])
            notes.append(f"{name} assumes {part} = {wrong}: the problem has {right}")
    for part in (problem.contexts, problem.satisfaction):
        repeats = part.begins_again(users) if hasattr(part, "begins_again") else None
        if repeats is not None:
            notes.append(repeats)
    return notes


def _policy_summary(dataset: xarray.Dataset, users: np.ndarray) -> PolicySummary:
    regret = dataset.regret.sel(user=users).values
    return {
        "regret": {str(user): _mean_and_error(regret[:, column]) for column, user in enumerate(users)},
        "lifetime": _mean_and_error(dataset.mean_lifetime.values),
        "seconds": finite_or_none(dataset.seconds),
    }


def _mean_and_error(samples: np.ndarray) -> MeanAndError:
    with np.errstate(invalid="ignore"):
        error = samples.std(ddof=1) / math.sqrt(samples.size) if samples.size > 1 else math.nan
    return {"mean": finite_or_none(samples.mean()), "se": finite_or_none(error)}


def _with_error(entry: MeanAndError, digits: int) -> str:
    mean, error = entry["mean"], entry["se"]
    if mean is None:
        return "not finite"
    return f"{mean:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def _has_infinite_mean(entries: dict[str, PolicySummary], users: int) -> bool:
    """Say whether a mean in the table is not finite, which only infinite lifetimes can cause."""
    return any(
        mean is None
        for entry in entries.values()
        for mean in (entry["regret"][str(users)]["mean"], entry["lifetime"]["mean"])
    )


def _difference_in_words(belief: Any, truth: Any) -> tuple[str, str]:
    """Return what a policy assumes of a part of the problem, and the truth: their kinds, or where these agree the fields that differ.

    Examples
    --------
    >>> _difference_in_words({"kind": "student-t", "df": 9.0}, {"kind": "normal"})
    ('student-t', 'normal')
    >>> _difference_in_words({"kind": "student-t", "df": 9.0}, {"kind": "student-t", "df": 4.0})
    ('student-t (df = 9.0)', 'student-t (df = 4.0)')
    """
    if not (isinstance(belief, dict) and isinstance(truth, dict)):
        return _shortened(belief), _shortened(truth)
    belief, truth = _inner_distribution(belief), _inner_distribution(truth)
    kinds = str(belief.get("kind")), str(truth.get("kind"))
    if kinds[0] != kinds[1]:
        return kinds
    names = [name for name in {**belief, **truth} if belief.get(name) != truth.get(name)]
    pairs = [_difference_in_words(belief.get(name), truth.get(name)) for name in names]
    wrong, right = (
        ", ".join(f"{name} = {pair[side]}" for name, pair in zip(names, pairs, strict=True))
        for side in (0, 1)
    )
    return f"{kinds[0]} ({wrong})", f"{kinds[1]} ({right})"


def _inner_distribution(part: dict[str, Any]) -> dict[str, Any]:
    """Return the distribution inside a noise of kind "distribution", whose kind says nothing; else the part itself.

    Examples
    --------
    >>> _inner_distribution({"kind": "distribution", "distribution": {"kind": "Laplace", "loc": 0.0}})
    {'kind': 'Laplace distribution', 'loc': 0.0}
    """
    inner = part.get("distribution")
    return inner | {"kind": f"{inner['kind']} distribution"} if isinstance(inner, dict) else part


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
