"""``hrprob suite``: play the problems of the suite, compare the policies on each, and rank them over all."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob.comparison.command import Compared, write_into
from hrprob.comparison.paired import compare
from hrprob.comparison.suite import rank
from hrprob.io import config, run_cache
from hrprob.io.config import Experiment

__all__ = ["play_suite", "problems"]


def problems() -> dict[str, Experiment]:
    """Return the problems of the suite by name, with the policies that play them.

    ``policies.toml`` says who plays all of them; a problem's own file may add who plays it alone.

    Examples
    --------
    >>> len(problems()) >= 12
    True
    """
    with resources.as_file(resources.files("hrprob.experiments")) as package:
        folder = Path(package, "suite")
        read = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.toml")}
        everybody = read.pop("policies")["policy"]
        for data in read.values():
            data["policy"] = everybody + data.get("policy", [])
        return {name: config.from_data(read[name], folder) for name in sorted(read)}


def play_suite(
    out: str | Path,
    *,
    only: Sequence[str] | None = None,
    users: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Compared:
    """Play the suite and write tables, figures and report into ``out``.

    Parameters
    ----------
    out : str or Path
        Folder for everything. Finished problems found there are taken over.
    only : sequence of str, optional
        Only these problems.
    users, trials, seed : int, optional
        In place of what the files of the suite say.
    say : callable
        Told what is being done, a line at a time.
    progress : bool
        Show a progress bar.
    """
    started = time.perf_counter()
    known = problems()
    for name in only or ():
        if name not in known:
            raise InvalidInput("--only", f"must be one of {', '.join(known)}", name, "it names a problem")
    changes = {"users": users, "trials": trials, "seed": seed}
    given = {name: value for name, value in changes.items() if value is not None}
    wanted = {name: known[name].replace(**given) for name in only or known}
    folder = run_cache.prepared(out, "suite", known)
    data = {
        name: run_cache.play(name, experiment, folder, say, progress) for name, experiment in wanted.items()
    }
    say("comparing and drawing")
    found = {name: compare(run) for name, run in data.items()}
    compared = Compared(found, data, rank(found) if len(found) > 1 else [], {})
    facts = {"job": "suite", "problems": {name: config.resolved(part) for name, part in wanted.items()}}
    write_into(folder, compared, facts, time.perf_counter() - started)
    return compared
