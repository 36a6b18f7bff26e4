"""Write a folder with the frontier of an experiment: figure, page, ``frontier.json`` and ``results.nc``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import xarray

import hrprob
from hrprob import plot
from hrprob._core.formatting import format_number, percent
from hrprob.comparison.frontier.dials import RADII, SCALES
from hrprob.comparison.frontier.play import frontier
from hrprob.comparison.frontier.summary import MARGIN, answer_of, frontier_table, points_of, verdicts_in_words
from hrprob.io.config import Experiment, resolved
from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.netcdf import write_netcdf
from hrprob.io.page import Report
from hrprob.io.staging import staged

__all__ = ["to_plain", "write_frontier"]

_CAPTION = (
    "The frontier: each marker is a policy. Above, how often intervals of nominal coverage {level} cover the coordinate of θ* (left) or φ* (right) "
    "that they cover least, with 95 % intervals, simultaneous over coordinates; in the grey band coverage is at least the level minus {margin}. "
    "Below, the median over trials of their mean width. Lines join the settings of one dial, from little exploration to much. Up and to the left is "
    "better above, down and to the left below."
)


def write_frontier(
    experiment: Experiment,
    out: str | Path,
    *,
    scales: Sequence[float] = SCALES,
    radii: Sequence[float] = RADII,
    level: float = 0.9,
    command: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> xarray.Dataset:
    """Play the policies of an experiment and those on dials, and write what inference costs into ``out``.

    Parameters
    ----------
    experiment : Experiment
        Problem, policies and sizes.
    out : path
        The folder; it is written whole or not at all.
    scales, radii : sequence of float
        The settings of the two dials.
    level : float
        Nominal coverage of the intervals.
    command : sequence of str
        What was typed, for the manifest.
    say : callable
        Called with a line whenever a policy has been played.
    """
    started = time.perf_counter()
    with staged(out, "frontier") as folder:
        result = frontier(
            experiment.problem,
            experiment.policies,
            users=experiment.users,
            trials=experiment.trials,
            seed=experiment.seed,
            level=level,
            scales=scales,
            radii=radii,
            say=say,
        )
        plot.save(plot.frontier(result), folder, "frontier")
        write_json(folder / "frontier.json", to_plain(result))
        write_netcdf(result, folder / "results.nc")
        _write_page(folder, result)
        facts = {
            "program": "hrprob",
            "job": "frontier",
            "level": level,
            "scales": list(scales),
            "radii": list(radii),
            "configuration": resolved(experiment),
            "command": list(command),
            "wall_seconds": time.perf_counter() - started,
        }
        write_manifest(folder, facts | environment())
    return result


def to_plain(result: xarray.Dataset) -> dict[str, object]:
    """Return the content of ``frontier.json``."""
    return {
        "answer": answer_of(result).to_plain(),
        "users": int(result.attrs["users"]),
        "trials": result.sizes["trial"],
        "seed": int(result.attrs["seed"]),
        "level": float(result.attrs["level"]),
        "margin": MARGIN,
        "noise": str(result.attrs["noise"]),
        "policies": {point.policy: point.to_dict() for point in points_of(result)},
        "verdicts": [{"good": good, "words": words} for good, words in verdicts_in_words(result)],
    }


def _write_page(folder: Path, result: xarray.Dataset) -> None:
    users, trials = format_number(result.attrs["users"]), format_number(result.sizes["trial"])
    lead = (
        f"{trials} trials of {users} users per policy, seed {result.attrs['seed']}. A policy that serves what looks best leaves other actions unexplored, "
        "and data that it picked itself break the assumptions of ordinary intervals. Here every policy's regret stands beside how well intervals "
        "from its own data cover the truth. Wald intervals take contexts as fixed; posterior intervals are calibrated on average over truths from the "
        "prior; anytime intervals (the likelihood-ratio set, in a closed form that is tested, not proved, to contain it) hold for all n and any design."
    )
    if result.attrs["noise"] != "normal":
        lead += f" All three take outcomes as normal, and here they are not: the noise is {result.attrs['noise']}."
    answer = answer_of(result)
    page = Report(answer.question, lead)
    page.answer(answer)
    page.heading("What does inference cost?")
    page.figure(
        folder / "frontier.png",
        _CAPTION.format(level=percent(float(result.attrs["level"])), margin=percent(MARGIN)),
    )
    page.heading("Every policy")
    page.result_table(frontier_table(result))
    page.footer(
        f"hrprob {hrprob.__version__}; every number of this page is in frontier.json, every trial in results.nc."
    )
    (folder / "report.html").write_text(page.render(), encoding="utf-8")
