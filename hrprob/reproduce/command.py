"""``hrprob reproduce``: play every part, draw, decide, and write it all down.

Each part's run is kept in the output folder, and a later call takes it from there
(:mod:`hrprob.io.run_cache`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.io import output, run_cache
from hrprob.io.config import Experiment, resolved
from hrprob.plot import plots
from hrprob.reproduce import figures
from hrprob.reproduce.page import write_page
from hrprob.reproduce.parts import PANELS, PARTS, experiment_of, parts_of
from hrprob.reproduce.verdicts import Claim, CurvePoint, claims, compare_curves

__all__ = ["QUICK", "Reproduction", "reproduce"]

QUICK = {"users": 3000, "trials": 4}
"""What ``--quick`` plays: enough to see that all works, too little to compare."""

_SETTINGS = {"released": "released settings", "text": "as the text has it"}


class Reproduction(NamedTuple):
    """What came of a reproduction."""

    runs: dict[str, xarray.Dataset]  # by part
    curves: list[CurvePoint]
    claims: list[Claim]


def reproduce(
    out: str | Path,
    *,
    panels: Sequence[str] = PANELS,
    users: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Reproduction:
    """Play the paper's figures and write figures, verdicts and report into ``out``.

    Parameters
    ----------
    out : str or Path
        Folder for everything. Finished parts found there are taken over.
    panels : sequence of {"a", "b", "c", "d", "index"}
        Which panels.
    users, trials, seed : int, optional
        In place of 30000, 20 and 0.
    quick : bool
        Few users and trials, unless these are given.
    say : callable
        Told what is being done, a line at a time.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> import tempfile
    >>> done = reproduce(tempfile.mkdtemp(), panels=["c"], users=60, trials=2)
    >>> sorted(done.runs)
    ['released', 'text']
    """
    started = time.perf_counter()
    for panel in panels:
        if panel not in PANELS:
            raise InvalidInput("--panel", f"must be one of {', '.join(PANELS)}", panel, "it names a panel")
    changes = {"users": users, "trials": trials, "seed": seed}
    changes = {name: QUICK.get(name) if value is None and quick else value for name, value in changes.items()}
    given = {name: value for name, value in changes.items() if value is not None}
    experiments = {
        part: experiment_of(part, policies).replace(**given) for part, policies in parts_of(panels).items()
    }
    folder = run_cache.prepared(out, "reproduce", PARTS)
    if quick:
        say("QUICK: too few users and trials to compare anything; this only shows that it works.")
    runs = {
        part: run_cache.play(part, experiment, folder, say, progress)
        for part, experiment in experiments.items()
    }
    say("drawing and deciding")
    by_setting = {setting: _by_panel(runs, setting, panels) for setting in _SETTINGS}
    done = Reproduction(
        runs,
        compare_curves(by_setting["released"]),
        [claim for setting, found in by_setting.items() for claim in claims(_SETTINGS[setting], found)],
    )
    drawn = _draw(done, by_setting, experiments, folder)
    _write_summary(done, folder, quick)
    _write_results(runs, folder)
    with run_cache.whole(folder / "report.html") as path:
        write_page(path, done.curves, done.claims, drawn, folder, quick, next(iter(experiments.values())))
    _write_manifest(experiments, folder, time.perf_counter() - started, quick)
    return done


def _by_panel(
    runs: dict[str, xarray.Dataset], setting: str, panels: Sequence[str]
) -> dict[str, xarray.Dataset]:
    found: dict[str, xarray.Dataset] = {}
    for name, part in PARTS.items():
        if part.setting != setting or name not in runs:
            continue
        if name == "released-b-cmdp":
            found["b-cmdp"] = runs[name]
            continue
        found |= {panel: runs[name] for panel in part.panels if panel in panels}
    if setting == "text" and "b" in found:
        found["b-cmdp"] = found["b"]
    return found


def _draw(
    done: Reproduction,
    by_setting: dict[str, dict[str, xarray.Dataset]],
    experiments: dict[str, Experiment],
    folder: Path,
) -> list[str]:
    drawn = {"figure1": figures.figure_1()}
    for setting, title in _SETTINGS.items():
        if by_setting[setting]:
            drawn[f"figure2-{setting}"] = figures.figure_2(
                title, by_setting[setting], published=setting == "released"
            )
    if "index" in done.runs:
        drawn["index"] = figures.figure_index(
            done.runs["index"], _bounds(experiments["index"], done.runs["index"])
        )
    for name, figure in drawn.items():
        plots.save(figure, folder, name)
    return list(drawn)


def _bounds(experiment: Experiment, run: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return Theorem 3's bound along the users, for the policy with the printed ξ."""
    policy: Any = experiment.policies["paper"]
    problem = experiment.problem
    bounds = {}
    for version in ("paper", "corrected"):
        sets = ConfidenceSets(
            variance_max=policy.variance_max,
            dimension=problem.dimension,
            ridge=policy.ridge,
            slope=problem.link.slope,
            bound=problem.bounds.phi,
            version=version,
        )
        bound = sets.regret_bound(run.user.values.astype(float), policy.delta, policy.growth)
        bounds[version] = np.asarray(bound)
    return bounds


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_summary(done: Reproduction, folder: Path, quick: bool) -> None:
    data = {
        "quick": quick,
        "curves": [
            {name: _finite(value) for name, value in point._asdict().items()} for point in done.curves
        ],
        "claims": [claim._asdict() for claim in done.claims],
        "policies": {part: output.summary(run) for part, run in done.runs.items()},
    }
    run_cache.write_json(folder / "summary.json", data)


def _write_results(runs: dict[str, xarray.Dataset], folder: Path) -> None:
    with run_cache.whole(folder / "results.nc") as path:
        xarray.DataTree.from_dict(runs).to_netcdf(path, engine="h5netcdf")


def _write_manifest(experiments: dict[str, Experiment], folder: Path, seconds: float, quick: bool) -> None:
    facts = {
        "program": "hrprob",
        "job": "reproduce",
        "quick": quick,
        "configuration": {part: resolved(experiment) for part, experiment in experiments.items()},
        "seed": next(iter(experiments.values())).seed,
        "wall_seconds": seconds,
    }
    run_cache.write_json(folder / "manifest.json", facts | output.environment())
