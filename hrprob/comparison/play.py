"""Play the problems of the suite, or random ones, compare the policies on each, and rank them over all."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob.comparison.held_out import TRIALS, USERS, held_out_problems
from hrprob.comparison.paired import compare
from hrprob.comparison.records import Comparison
from hrprob.comparison.report import ComparisonReport, make_report, write_report
from hrprob.io import config, run_cache
from hrprob.io.config import Experiment
from hrprob.policies import DEFAULT, HRUCB
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.scheduling.opening import open_scheduler
from hrprob.simulation.tasks import Scheduler

__all__ = ["play_suite", "problems", "random_problems", "released_hr_ucb"]


def problems(*, large: bool = False) -> dict[str, Experiment]:
    """Return the problems of the suite by name, with the policies that play them.

    ``policies.toml`` has the policies that play all problems, :func:`released_hr_ucb` is added; the file of a problem
    may add policies that play this one only.

    Parameters
    ----------
    large : bool
        Also those in the folder ``large``, which take many times as long as the others and are played by name only.

    Examples
    --------
    >>> len(problems()) >= 12, "d32" in problems(), "d32" in problems(large=True)
    (True, False, True)
    """
    with resources.as_file(resources.files("hrprob.experiments")) as package:
        folder = Path(package, "suite")
        files = [*folder.glob("*.toml"), *(folder.glob("large/*.toml") if large else ())]
        tables = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}
        shared = tables.pop("policies")["policy"]
        for table in tables.values():
            table["policy"] = shared + table.get("policy", [])
        read = {name: config.from_data(tables[name], folder) for name in sorted(tables)}
    return {name: _with_released(experiment) for name, experiment in read.items()}


def random_problems(count: int, seed: int = 0) -> dict[str, Experiment]:
    """Return problems on which no policy was chosen, with the policies that play every problem of the suite.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the draws of problems (:mod:`hrprob.comparison.held_out`) and of the runs on them.

    Examples
    --------
    >>> random_problems(2)["random-01"].policies["hr-ucb-released"].warmup
    5
    """
    folder = resources.files("hrprob.experiments") / "suite"
    shared = tomllib.loads((folder / "policies.toml").read_text(encoding="utf-8"))["policy"]
    # Policies are made once, for some problem, and do not depend on it.
    policies = config.from_data({"problem": {"theta": [0.5], "phi": [0.5]}, "policy": shared}).policies
    return {
        name: _with_released(Experiment(problem, policies, users=USERS, trials=TRIALS, seed=seed))
        for name, problem in held_out_problems(count, seed).items()
    }


def released_hr_ucb(problem: Problem) -> Policy:
    """Return HR-UCB as the authors' program has it: K = 5, five warm-up users, ξ from σ²_max = f(‖φ*‖).

    It knows the norm of φ*, which no other policy of the suite does.

    Examples
    --------
    >>> import hrprob
    >>> round(released_hr_ucb(hrprob.Problem()).bind(hrprob.Problem(), 30000).width.value, 2)
    26.03
    """
    largest = float(problem.link(float(np.linalg.norm(problem.phi))))
    return HRUCB(growth=5, radius="released", variance_max=largest, warmup=5)


def play_suite(
    out: str | Path,
    *,
    only: Sequence[str] | None = None,
    held_out: int | None = None,
    users: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    resume: bool = False,
    scheduler: str | Scheduler | None = None,
    prepare: Callable[[], object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> ComparisonReport:
    """Play the suite and write tables, figures and page into ``out``.

    Parameters
    ----------
    out : str or Path
        Folder for all results. Problems that an earlier call finished there are not played again.
    only : sequence of str, optional
        Only these problems, which may be large ones (:func:`problems`).
    held_out : int, optional
        Instead of the suite, this many problems on which no policy was chosen: :func:`random_problems`.
    users, trials, seed : int, optional
        Instead of what the files of the suite say (with ``held_out``: 5000, 20 and 0).
    resume : bool
        Go on with an unfinished call, and refuse to if it was about something else.
    scheduler, prepare
        Where the problems are played, and what workers call first; see
        :func:`~hrprob.scheduling.opening.open_scheduler`.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.
    """
    started = time.perf_counter()
    known = problems(large=only is not None) if held_out is None else random_problems(held_out, seed or 0)
    for name in only or ():
        if name not in known:
            raise InvalidInput("only", f"must be one of {', '.join(known)}", name, "it names a problem")
    changes = {"users": users, "trials": trials, "seed": seed}
    given = {name: value for name, value in changes.items() if value is not None}
    experiments = {name: known[name].replace(**given) for name in only or known}
    job = "suite" if held_out is None else "suite of random problems"
    facts: dict[str, object] = {
        "job": job,
        "problems": {name: config.resolved(part) for name, part in experiments.items()},
    }
    with run_cache.staged_with_parts(out, job, experiments, resume=resume) as folder:
        with open_scheduler(scheduler, prepare=prepare) as opened:
            # Without a scheduler parts are played one by one, and an interrupted one goes on from its chunks.
            place = None if scheduler is None else opened
            data = run_cache.load_or_play(experiments, folder, say, progress, place)
        say("comparing and drawing")
        report = make_report({name: _compare(run) for name, run in data.items()}, data)
        write_report(folder.result, report, facts, time.perf_counter() - started)
    return report


def _with_released(experiment: Experiment) -> Experiment:
    released = {"hr-ucb-released": released_hr_ucb(experiment.problem)}
    return experiment.replace(policies=experiment.policies | released)


def _compare(run: xarray.Dataset) -> Comparison:
    """Compare all policies with the default, or all pairs where it does not play."""
    return compare(run, baseline=DEFAULT.kind if DEFAULT.kind in run.policy.values else None)
