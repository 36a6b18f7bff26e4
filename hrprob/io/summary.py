"""A run in numbers and words: ``summary.json``, the table that is printed, and notes that belong to it."""

from __future__ import annotations

import dataclasses
import html
import math
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from hrprob._core.formatting import format_number
from hrprob._core.keywords import nearest_keywords
from hrprob.io.json_files import finite_or_none
from hrprob.io.result_table import ResultTable, frame_of
from hrprob.problem import Problem
from hrprob.simulation.reading import beliefs_in_words
from hrprob.simulation.results import summary_users

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = [
    "MeanAndError",
    "PolicySummary",
    "Summary",
    "mean_and_error",
    "run_notes",
    "summarise",
    "summary",
    "summary_table",
    "with_error",
]

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
    misspecified: NotRequired[list[str]]  # what the policy assumes that is not so, where it does


@dataclasses.dataclass(frozen=True, repr=False)
class Summary:
    """A run in numbers: it prints itself, and notebooks show it as a table.

    Made by :func:`hrprob.summarise`.

    Attributes
    ----------
    policies : dict
        The content of ``summary.json``: by policy ``regret`` by user, ``lifetime``, ``seconds``.
    users, trials : int
        The size of the run.
    unit : str
        What regret is counted in.
    notes : list of str
        What a reader of the numbers must know.
    """

    policies: dict[str, PolicySummary]
    users: int
    trials: int
    unit: str
    notes: list[str]

    def __repr__(self) -> str:
        return f"<Summary of {len(self.policies)} policies, {self.users} users, {self.trials} trials>"

    def __str__(self) -> str:
        return "\n".join([str(self.table), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return self.table._repr_html_() + notes

    @property
    def table(self) -> ResultTable:
        """Regret at the last user, mean lifetime and seconds of every policy, as texts."""
        return summary_table(self.policies, self.users, self.trials, self.unit)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per policy and user that ``summary.json`` has, with numbers.

        Examples
        --------
        >>> import hrprob
        >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
        >>> hrprob.summarise(result).to_frame()[["policy", "user", "regret"]].values.tolist()
        [['oracle', 1, 0.0], ['oracle', 50, 0.0]]
        """
        return frame_of(
            [
                {
                    "policy": name,
                    "user": int(user),
                    "regret": _or_nan(regret["mean"]),
                    "regret_se": _or_nan(regret["se"]),
                    "lifetime": _or_nan(entry["lifetime"]["mean"]),
                    "lifetime_se": _or_nan(entry["lifetime"]["se"]),
                    "seconds": _or_nan(entry["seconds"]),
                }
                for name, entry in self.policies.items()
                for user, regret in entry["regret"].items()
            ]
        )

    def to_latex(self) -> str:
        """Return the table in LaTeX, for the package booktabs, with what it shows and the notes below it."""
        return self.table.to_latex(self.notes)

    def to_markdown(self) -> str:
        """Return the table in Markdown, with what it shows and the notes below it."""
        return self.table.to_markdown(self.notes)


@nearest_keywords
def summarise(result: xarray.Dataset) -> Summary:
    """Return a result in numbers: regret, lifetime and computing time of every policy.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.simulate`, or what :func:`xarray.open_dataset` read from ``results.nc``.

    Returns
    -------
    Summary
        It prints itself as a table, is shown by notebooks, and has ``to_frame``, ``to_latex`` and ``to_markdown``.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> print(str(hrprob.summarise(result)).splitlines()[0])
    policy  regret at 50  mean lifetime  seconds
    """
    entries, users = summary(result), int(result.attrs["users"])
    notes = [_NOT_FINITE] if _has_infinite_mean(entries, users) else []
    notes += [f"{name} {words}" for name, beliefs in beliefs_in_words(result).items() for words in beliefs]
    unit = str(result.regret.attrs.get("units", "rounds"))
    return Summary(entries, users, result.sizes["trial"], unit, notes)


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
        with one trial; ``seconds``; and where a policy assumes what is not so, ``misspecified``: what, in words.

    Examples
    --------
    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), hrprob.Oracle(), users=50, trials=2)
    >>> summary(result)["oracle"]["regret"]["50"]
    {'mean': 0.0, 'se': 0.0}
    """
    users = np.intersect1d(summary_users(int(dataset.attrs["users"])), dataset.user.values)
    entries = {str(name): _policy_summary(dataset.sel(policy=name), users) for name in dataset.policy.values}
    for name, beliefs in beliefs_in_words(dataset).items():
        if name in entries:
            entries[name]["misspecified"] = beliefs
    return entries


def summary_table(
    entries: dict[str, PolicySummary], users: int, trials: int = 0, unit: str = "rounds"
) -> ResultTable:
    """Return the table of a run: regret at the last user, mean lifetime and seconds of every policy."""
    rows = [
        [
            name,
            with_error(entry["regret"][str(users)], 1),
            with_error(entry["lifetime"], 3),
            "" if entry["seconds"] is None else format_number(entry["seconds"], 1),
        ]
        for name, entry in entries.items()
    ]
    of_trials = f" of {format_number(trials)} trials" if trials else ""
    caption = f"Regret in {unit}, lifetime in rounds; mean{of_trials} ± standard error."
    header = ["policy", f"regret at {format_number(users)}", "mean lifetime", "seconds"]
    return ResultTable(header, rows, caption)


def run_notes(dataset: xarray.Dataset, problem: Problem) -> list[str]:
    """Return what a reader of the table must know: why means are not finite, which policies hold wrong beliefs, and whether arrivals repeat.

    Parameters
    ----------
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.
    problem : Problem
        The problem that was played.
    """
    users, notes = int(dataset.attrs["users"]), summarise(dataset).notes
    for part in (problem.contexts, problem.satisfaction):
        repeats = part.begins_again(users) if hasattr(part, "begins_again") else None
        if repeats is not None:
            notes.append(repeats)
    return notes


def _policy_summary(dataset: xarray.Dataset, users: np.ndarray) -> PolicySummary:
    regret = dataset.regret.sel(user=users).values
    return {
        "regret": {str(user): mean_and_error(regret[:, column]) for column, user in enumerate(users)},
        "lifetime": mean_and_error(dataset.mean_lifetime.values),
        "seconds": finite_or_none(dataset.seconds),
    }


def mean_and_error(samples: np.ndarray) -> MeanAndError:
    """Return the mean of samples and its standard error."""
    with np.errstate(invalid="ignore"):
        error = samples.std(ddof=1) / math.sqrt(samples.size) if samples.size > 1 else math.nan
    return {"mean": finite_or_none(samples.mean()), "se": finite_or_none(error)}


def with_error(entry: MeanAndError, digits: int) -> str:
    """Return a mean with its standard error as text."""
    mean, error = entry["mean"], entry["se"]
    if mean is None:
        return "not finite"
    return format_number(mean, digits) + ("" if error is None else f" ± {format_number(error, digits)}")


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _has_infinite_mean(entries: dict[str, PolicySummary], users: int) -> bool:
    """Say whether a mean in the table is not finite, which only infinite lifetimes can cause."""
    return any(
        mean is None
        for entry in entries.values()
        for mean in (entry["regret"][str(users)]["mean"], entry["lifetime"]["mean"])
    )
