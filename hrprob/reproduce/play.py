"""Play the paper's figures, draw, decide, and write the report, as ``hrprob reproduce`` does.

The run of each part is kept in the output folder, and a later call reuses it (:mod:`hrprob.io.run_cache`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray
from matplotlib.figure import Figure

from hrprob import plot
from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import format_number
from hrprob._core.parallel import in_background
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.io import run_cache
from hrprob.io.config import Experiment, resolved
from hrprob.io.json_files import finite_or_none, write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.netcdf import write_netcdf
from hrprob.io.summary import summary
from hrprob.io.verdicts import Answer
from hrprob.policies import CMDP, HRUCB
from hrprob.problem.links.base import as_affine
from hrprob.reproduce.claims import LEAST_TRIALS, LEAST_USERS, Claim, claims
from hrprob.reproduce.cmdp_counts import count, counts_of, with_counts
from hrprob.reproduce.convergence import Errors, measure_errors, remark_2
from hrprob.reproduce.curves import CurveVerdict, compare_curves
from hrprob.reproduce.figure_1 import figure_1
from hrprob.reproduce.first_user import FirstUser, first_users
from hrprob.reproduce.page import answer_of, write_page
from hrprob.reproduce.parts import PANELS, PARTS, experiment_of, parts_of
from hrprob.reproduce.regret_figures import figure_2, figure_index
from hrprob.reproduce.validity_figure import figure_validity
from hrprob.scheduling.opening import open_scheduler
from hrprob.simulation.tasks import Scheduler

__all__ = ["QUICK", "Reproduction", "reproduce"]

QUICK = {"users": 3000, "trials": 4}
"""Sizes with ``quick``: enough to see that everything works, too small to compare."""

_SETTINGS = {"released": "released settings", "text": "as the text has it"}


class Reproduction(NamedTuple):
    """The result of a reproduction; without claims where it is too small to decide any."""

    runs: dict[str, xarray.Dataset]  # by part
    curves: list[CurveVerdict]
    claims: list[Claim]
    first_users: list[FirstUser]

    @property
    def answer(self) -> Answer:
        """Whether the paper's curves and claims hold: yes, no or cannot tell, and why."""
        return answer_of(self.curves, self.claims)

    def to_dict(self) -> dict[str, object]:
        """Return curves, verdicts, claims and the summaries of all runs, as ``summary.json`` has them."""
        return {
            "answer": self.answer.to_plain(),
            "curves": [_plain(point._asdict()) for curve in self.curves for point in curve.points],
            "curve_verdicts": [_curve(curve) for curve in self.curves if self.claims],
            "first_users": [first._asdict() for first in self.first_users],
            "claims": [claim._asdict() for claim in self.claims],
            "policies": {part: summary(run) for part, run in self.runs.items()},
        }


def reproduce(
    out: str | Path,
    *,
    panels: Sequence[str] = PANELS,
    users: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    resume: bool = False,
    scheduler: str | Scheduler | None = None,
    prepare: Callable[[], object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Reproduction:
    """Play the paper's figures and write figures, verdicts and report into ``out``.

    Parameters
    ----------
    out : str or Path
        Folder for all results. Parts that an earlier call finished there are not played again.
    panels : sequence of {"a", "b", "c", "d", "index"}
        The panels to play.
    users, trials, seed : int, optional
        Instead of 30000, 20 and 0.
    quick : bool
        Few users and trials, if these are not given.
    resume : bool
        Go on with an unfinished call, and refuse to if it was about something else.
    scheduler, prepare
        Where the parts are played, and what workers call first; see
        :func:`~hrprob.scheduling.opening.open_scheduler`.
    say : callable
        Called with one line of text about what is being done.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> import tempfile
    >>> reproduction = reproduce(tempfile.mkdtemp(), panels=["c"], users=60, trials=2)  # study
    >>> sorted(reproduction.runs)
    ['released', 'text']
    """
    started = time.perf_counter()
    experiments = _experiments(panels, {"users": users, "trials": trials, "seed": seed}, quick)
    with run_cache.staged_with_parts(out, "reproduce", experiments, resume=resume) as folder:
        if quick:
            say("QUICK: too few users and trials to compare anything; this only shows that it works.")
        with in_background() as submit:
            apart = Apart(
                submit(_first_users, experiments),
                submit(_errors, experiments),
            )
            with open_scheduler(scheduler, prepare=prepare) as opened:
                place = None if scheduler is None else opened
                counted = (
                    {"text": partial(_with_counts, experiments["text"])} if _counts_cmdps(experiments) else {}
                )
                runs = run_cache.load_or_play(experiments, folder, say, progress, place, counted)
            say("drawing and deciding")
            by_setting = {setting: _by_panel(runs, setting, panels) for setting in _SETTINGS}
            with plot.save_in_background() as save:
                drawn = _draw(by_setting, runs, experiments)
                for name, figure in drawn.items():
                    save(figure, folder.result, name)
                reproduction = _decide(runs, by_setting, experiments, apart, say)
        _write(folder.result, reproduction, list(drawn), experiments, quick, started)
    return reproduction


class Apart(NamedTuple):
    """What is measured apart from the runs, and beside them; nothing where a reproduction is too small to decide."""

    first_users: Future[list[FirstUser]]
    errors: Future[Errors | None]


def _decide(
    runs: dict[str, xarray.Dataset],
    by_setting: dict[str, dict[str, xarray.Dataset]],
    experiments: dict[str, Experiment],
    apart: Apart,
    say: Callable[[str], None],
) -> Reproduction:
    decided = _large_enough(experiments)
    if not decided:
        say(f"no verdicts: they take {format_number(LEAST_USERS)} users and {LEAST_TRIALS} trials at least")
    return Reproduction(
        runs,
        compare_curves(by_setting["released"]),
        _claims(by_setting, experiments, apart) if decided else [],
        apart.first_users.result(),
    )


def _experiments(panels: Sequence[str], sizes: dict[str, int | None], quick: bool) -> dict[str, Experiment]:
    """Return the experiments of the parts that these panels need, with the sizes that were asked for."""
    for panel in panels:
        if panel not in PANELS:
            raise InvalidInput("panels", f"must be among {', '.join(PANELS)}", panel, "each names a panel")
    wanted = {name: QUICK.get(name) if value is None and quick else value for name, value in sizes.items()}
    given = {name: value for name, value in wanted.items() if value is not None}
    return {
        part: experiment_of(part, policies).replace(**given) for part, policies in parts_of(panels).items()
    }


def _large_enough(experiments: dict[str, Experiment]) -> bool:
    first = next(iter(experiments.values()))
    return first.users >= LEAST_USERS and first.trials >= LEAST_TRIALS


def _claims(
    by_setting: dict[str, dict[str, xarray.Dataset]], experiments: dict[str, Experiment], apart: Apart
) -> list[Claim]:
    """Return all claims, decided in every setting that was played."""
    decided: list[Claim] = []
    for setting, found in by_setting.items():
        counted = setting == "text" and "b" in found and _counts_cmdps(experiments)
        counts = counts_of(found["b"]) if counted else {}
        decided += claims(_SETTINGS[setting], found, counts)
    return [*decided, remark_2(next(iter(experiments.values())).problem, apart.errors.result())]


def _first_users(experiments: dict[str, Experiment]) -> list[FirstUser]:
    """Return how probable the published values at user 1 are."""
    if "released" not in experiments or not _large_enough(experiments):
        return []
    return first_users(experiments["released"])


def _counts_cmdps(experiments: dict[str, Experiment]) -> bool:
    """Return whether a claim rests on how often the CMDPs of the text knew their actions."""
    return (
        "text" in experiments
        and _large_enough(experiments)
        and any(isinstance(policy, CMDP) for policy in experiments["text"].policies.values())
    )


def _with_counts(experiment: Experiment, run: xarray.Dataset) -> xarray.Dataset:
    """Return what is stored of a run with all users, with the counts of its CMDPs."""
    policies = {name: policy for name, policy in experiment.policies.items() if isinstance(policy, CMDP)}
    return with_counts(run_cache.thinned(run), count(experiment.problem, policies, run))


def _errors(experiments: dict[str, Experiment]) -> Errors | None:
    """Return the errors of both estimators, for Remark 2."""
    if not _large_enough(experiments):
        return None
    return measure_errors(next(iter(experiments.values())).problem)


def _by_panel(
    runs: dict[str, xarray.Dataset], setting: str, panels: Sequence[str]
) -> dict[str, xarray.Dataset]:
    """Return the runs of a setting under the names by which figures and verdicts look for them."""
    by_panel = {
        name: runs[part_name]
        for part_name, part in PARTS.items()
        if part.setting == setting and part_name in runs
        for name in part.names(panels)
    }
    if setting == "text" and "b" in by_panel:
        by_panel["b-cmdp"] = by_panel["b"]
    return by_panel


def _draw(
    by_setting: dict[str, dict[str, xarray.Dataset]],
    runs: dict[str, xarray.Dataset],
    experiments: dict[str, Experiment],
) -> dict[str, Figure]:
    drawn = {"figure1": figure_1()}
    for setting, title in _SETTINGS.items():
        if by_setting[setting]:
            published = setting == "released"
            drawn[f"figure2-{setting}"] = figure_2(title, by_setting[setting], published=published)
    if "index" in runs:
        drawn["index"] = figure_index(runs["index"], _bounds(experiments["index"], runs["index"]))
        drawn["validity"] = figure_validity(runs["index"])
    return drawn


def _bounds(experiment: Experiment, run: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return Theorem 3's bound at every user of the run, for the policy with ξ as printed."""
    policy = experiment.policies["paper"]
    assert isinstance(policy, HRUCB)
    problem = experiment.problem
    bounds = {}
    for version in ("paper", "corrected"):
        sets = ConfidenceSets(
            variance_max=float(policy.variance_max or problem.link(problem.bounds.phi)),
            dimension=problem.dimension,
            ridge=policy.ridge,
            slope=as_affine(problem.link).slope,
            bound=problem.bounds.phi,
            version=version,
        )
        bound = sets.regret_bound(run.user.values.astype(float), policy.delta, policy.growth)
        bounds[version] = np.asarray(bound)
    return bounds


def _write(
    folder: Path,
    reproduction: Reproduction,
    drawn: list[str],
    experiments: dict[str, Experiment],
    quick: bool,
    started: float,
) -> None:
    """Write summary, results, page and manifest into a folder that has the figures."""
    first = next(iter(experiments.values()))
    write_json(folder / "summary.json", {"quick": quick} | reproduction.to_dict())
    write_netcdf(xarray.DataTree.from_dict(reproduction.runs), folder / "results.nc")
    write_page(
        folder / "report.html",
        reproduction.curves,
        reproduction.claims,
        reproduction.first_users,
        drawn,
        folder,
        quick,
        first,
    )
    facts = {
        "program": "hrprob",
        "job": "reproduce",
        "quick": quick,
        "configuration": {part: resolved(experiment) for part, experiment in experiments.items()},
        "seed": first.seed,
        "wall_seconds": time.perf_counter() - started,
    }
    write_manifest(folder, facts | environment())


def _curve(curve: CurveVerdict) -> dict[str, object]:
    return {
        "panels": curve.panels,
        "policy": curve.policy,
        "verdict": curve.verdict,
        "user": curve.last.user,
        "published": curve.last.published,
        "mean": curve.last.mean,
        "se": finite_or_none(curve.last.se),
        "difference": _plain(curve.difference._asdict()),
    }


def _plain(numbers: dict[str, object]) -> dict[str, object]:
    """Return numbers with None for those that JSON cannot hold."""
    return {
        name: finite_or_none(value) if isinstance(value, float) else value for name, value in numbers.items()
    }
