"""Play the problems of the suite, compare the policies on each, and rank them over all."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob.comparison.paired import compare
from hrprob.comparison.report import ComparisonReport, make_report, write_report
from hrprob.io import config, run_cache
from hrprob.io.config import Experiment

__all__ = ["play_suite", "problems"]


def problems() -> dict[str, Experiment]:
    """Return the problems of the suite by name, with the policies that play them.

    ``policies.toml`` has the policies that play all problems; the file of a problem may add policies that
    play this one only.

    Examples
    --------
    >>> len(problems()) >= 12
    True
    """
    with resources.as_file(resources.files("hrprob.experiments")) as package:
        folder = Path(package, "suite")
        tables = {
            file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.toml")
        }
        shared = tables.pop("policies")["policy"]
        for table in tables.values():
            table["policy"] = shared + table.get("policy", [])
        return {name: config.from_data(tables[name], folder) for name in sorted(tables)}


def play_suite(
    out: str | Path,
    *,
    only: Sequence[str] | None = None,
    users: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> ComparisonReport:
    """Play the suite and write tables, figures and page into ``out``.

    Parameters
    ----------
    out : str or Path
        Folder for all results. Problems that an earlier call finished there are not played again.
    only : sequence of str, optional
        Only these problems.
    users, trials, seed : int, optional
        Instead of what the files of the suite say.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.
    """
    started = time.perf_counter()
    known = problems()
    for name in only or ():
        if name not in known:
            raise InvalidInput("only", f"must be one of {', '.join(known)}", name, "it names a problem")
    changes = {"users": users, "trials": trials, "seed": seed}
    given = {name: value for name, value in changes.items() if value is not None}
    experiments = {name: known[name].replace(**given) for name in only or known}
    folder = run_cache.prepare_folder(out, "suite", known)
    data = {
        name: run_cache.load_or_play(name, experiment, folder, say, progress)
        for name, experiment in experiments.items()
    }
    say("comparing and drawing")
    report = make_report({name: compare(run) for name, run in data.items()}, data)
    facts = {"job": "suite", "problems": {name: config.resolved(part) for name, part in experiments.items()}}
    write_report(folder, report, facts, time.perf_counter() - started)
    return report
