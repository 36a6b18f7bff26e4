"""Play an experiment at many points of its configuration, and write the result folder, as ``hrprob sweep`` does.

=====================  ==================================================================
file                   content
=====================  ==================================================================
results.zarr           the dataset, to be read with :func:`xarray.open_zarr`
points.json            what was played at every point
summary.json           regret of all users and mean lifetime, at every point
manifest.json          configuration as resolved, design, versions, times, revision
response.png, .svg     :func:`~hrprob.plot.plot_sweep`
=====================  ==================================================================
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import xarray

from hrprob import plot
from hrprob._core.errors import InvalidInput
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.tables import table_of
from hrprob._core.types import Decoded
from hrprob.io import config
from hrprob.io.chunks import ChunkFolder
from hrprob.io.config import Experiment, resolved
from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, read_manifest, write_manifest
from hrprob.io.sources import sources
from hrprob.io.staging import reserved, staged_at
from hrprob.io.unfinished import check_same_plan, digest, fingerprint, has_chunks, unfinished
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.scheduling.opening import is_here, open_scheduler
from hrprob.simulation.binding import bind
from hrprob.simulation.checkpoints import ChunkStore
from hrprob.simulation.engine import check_problem, named
from hrprob.simulation.progress import Progress
from hrprob.simulation.schedule import Schedule
from hrprob.simulation.tasks import Scheduler
from hrprob.sweeps.design import Design, make_design, read_design
from hrprob.sweeps.fields import at_point
from hrprob.sweeps.layout import Layout, make_layout, memory_arrays, place, to_dataset
from hrprob.sweeps.points import write_points
from hrprob.sweeps.summary import sweep_summary
from hrprob.sweeps.zarr_files import SweepFiles, open_results

__all__ = ["read_sweep", "run_sweep", "sweep"]


@nearest_keywords
def sweep(
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy] | Policy,
    fields: Mapping[str, object],
    *,
    users: int = 30000,
    trials: int = 20,
    seed: int = 0,
    method: str = "grid",
    draws: int | None = None,
    draw_seed: int = 0,
    keep: str | int = "auto",
    scheduler: str | Scheduler | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> xarray.Dataset:
    """Play policies on a problem at many points of the configuration.

    All points have the same seed, so they meet the same users as far as their problems allow: differences
    between points are paired, as those between policies are.

    Parameters
    ----------
    problem : Problem
        The problem whose fields are swept.
    policies : mapping of names to policies, or policies
        Without names, a policy goes by its kind.
    fields : mapping
        By the name of a field as in a configuration (``"problem.link.offset"``, ``"policy.NAME.growth"``,
        ``"problem.theta[1]"``): a list of values, or a range as a dictionary with ``low``, ``high`` and, as far as needed,
        ``points`` (evenly spaced) or ``draws`` (random), ``scale`` ("linear" or "log") and ``whole``.
    users, trials, seed : int
        T, the number of independent trials of every point, and the seed of everything random.
    method : {"grid", "random", "latin-hypercube"}
        Every combination of values, or ``draws`` points that are drawn.
    draws, draw_seed : int
        The number of points that are drawn, and the seed of the draws.
    keep : "auto", "all" or int
        Which users the result has; see :func:`hrprob.simulate`. "auto" counts all points.
    scheduler : str, optional
        Where the points are played: by default in this process; ``"local"`` or ``"local:4"`` in processes of this
        machine, ``"tcp://host:8786"`` on a Dask cluster. The result is the same, to the bit.
    out : str or Path, optional
        A folder for the result. Finished points are on disk as soon as they are finished.
    resume : bool
        Go on with what an interrupted call with the same ``out`` left, and play damaged parts again.
    progress : bool
        Show progress on stderr.

    Returns
    -------
    xarray.Dataset
        The variables of :func:`hrprob.simulate` without ``seconds``, and ``final_regret`` over policy and trial, with an
        axis per swept field in front; where points are drawn, with the axis ``point``, along which the fields have
        their values.

    Examples
    --------
    >>> import hrprob
    >>> problem, fields = hrprob.Problem(), {"problem.satisfaction.low": [-1.0, 0.0]}
    >>> result = sweep(problem, [hrprob.Oracle(), hrprob.Random()], fields, users=50, trials=2)
    >>> result.final_regret.mean("trial").sel(policy="random").dims
    ('problem.satisfaction.low',)
    """
    check_problem(problem)
    experiment = Experiment(problem, named(policies), users, trials, seed)
    design = make_design(fields, method=method, draws=draws, seed=draw_seed)
    if out is not None:
        return run_sweep(
            experiment, design, out, keep=keep, scheduler=scheduler, resume=resume, progress=progress
        )
    if resume:
        raise InvalidInput("resume", "must have a folder to go on with", resume, "give `out`")
    layout = make_layout(experiment, design, keep)
    _check_points(layout, is_here(scheduler))
    arrays = memory_arrays(layout)
    with open_scheduler(scheduler) as opened:
        _play(layout, opened, lambda number, result: place(layout, arrays, number, result), progress)
    return to_dataset(layout, arrays)


def read_sweep(path: str | Path) -> tuple[Experiment, Design]:
    """Return the experiment and the design of a TOML file: a configuration with a table ``[sweep]``.

    Parameters
    ----------
    path : str or Path
        The file. Paths inside it are relative to its folder.
    """
    data = config.read_data(path)
    remedy = 'add a table [sweep], for example with "problem.link.offset" = [2.0, 3.0]'
    folder = Path(path).parent
    design = read_design(table_of("sweep", data, remedy), folder)
    rest = {name: table for name, table in data.items() if name != "sweep"}
    return config.from_data(rest, folder), design


def run_sweep(
    experiment: Experiment,
    design: Design,
    out: str | Path,
    *,
    keep: str | int = "auto",
    scheduler: str | Scheduler | None = None,
    modules: Sequence[str] = (),
    prepare: Callable[[], object] | None = None,
    command: list[str] | None = None,
    resume: bool = False,
    progress: bool = False,
) -> xarray.Dataset:
    """Play an experiment at the points of a design and write the results into the folder ``out``, whole or not at all.

    Parameters
    ----------
    experiment : Experiment
        What is played, but for the swept fields.
    design : Design
        The points.
    out : str or Path
        The folder: new, empty, or an earlier result, which is replaced.
    keep, scheduler, resume, progress
        As for :func:`sweep`.
    modules, prepare
        What workers import and call first; see :func:`~hrprob.scheduling.opening.open_scheduler`.
    command : list of str, optional
        The command line, for the manifest.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    layout = make_layout(experiment, design, keep)
    _check_points(layout, is_here(scheduler))
    plan = _plan(experiment, layout, keep, modules)
    mark = fingerprint(plan)
    with (
        reserved(out, "sweep") as destination,
        unfinished(destination, plan, resume=resume) as finished,
        staged_at(destination, "sweep") as folder,
    ):
        begun = has_chunks(finished)
        files = SweepFiles(finished, layout, mark)
        if resume:
            _take_over(files, destination, plan, mark, begun)
        with (
            open_scheduler(scheduler, modules=modules, prepare=prepare) as opened,
            ThreadPoolExecutor(1) as beside,
        ):
            drawing = beside.submit(_load_what_draws)
            _play_unfinished(layout, files, opened, ChunkStores(finished / "chunks", mark), progress)
            drawing.result()
        files.put_into(folder)
        with open_results(folder) as data:
            write_json(folder / "summary.json", sweep_summary(data, layout.design))
            plot.save(plot.plot_sweep(data), folder, "response")
        write_points(folder, layout)
        facts = {"program": "hrprob", "seed": experiment.seed, "command": command or [], "fingerprint": mark}
        times = {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        write_manifest(folder, plan | facts | times | environment())
    return open_results(Path(out))


def _load_what_draws() -> None:
    """Import what draws the figure, while tasks are played."""
    from hrprob.plot.saving import load_backends

    load_backends()


class ChunkStores:
    """Where the chunks of tasks that are played in this process are kept."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder, mark

    def of(self, task: int) -> ChunkStore:
        """Return the store of a task."""
        return ChunkFolder(self._folder / f"{task:06d}", self._mark)

    def discard(self, task: int) -> None:
        """Remove what is there of a task, which is finished."""
        shutil.rmtree(self._folder / f"{task:06d}", ignore_errors=True)


def _plan(
    experiment: Experiment, layout: Layout, keep: str | int, modules: Sequence[str]
) -> dict[str, Decoded]:
    """Return what decides the results, as plain data: an interrupted sweep goes on only with the same."""
    design = layout.design
    played = {
        design.label(number): digest(resolved(one))[:16] for number, one in enumerate(layout.experiments)
    }
    return {
        "job": "sweep",
        "configuration": resolved(experiment),
        "sweep": {"method": design.method, "fields": list(design.fields), "points": design.points},
        "keep": keep,
        # Files that values name may change, and what a kind fills in.
        "played": played,
        "sources": sources(layout.experiments, modules=modules),
    }


def _check_points(layout: Layout, here: bool) -> None:
    """Raise if some point cannot be played, before anything is: by a policy, or in the memory of this machine, if it is here."""
    trials = layout.ranges[0]
    with double_precision():
        for number, experiment in enumerate(layout.experiments):
            try:
                for name, policy in experiment.policies.items():
                    bind(name, policy, experiment.problem, experiment.users)
                if here:
                    warmup = max(policy.warmup for policy in experiment.policies.values())
                    Schedule(experiment.problem, users=experiment.users, trials=trials, warmup=warmup)
            except InvalidInput as error:
                raise at_point(error, layout.design, number) from None


def _take_over(
    files: SweepFiles, destination: Path, plan: Mapping[str, Decoded], mark: str, begun: bool
) -> None:
    """Use what an earlier result of the same sweep has; refuse one of another sweep, unless it was about to be replaced."""
    facts = read_manifest(destination) if destination.is_dir() else {}
    if facts and not (begun and facts.get("fingerprint") != mark):
        check_same_plan(plan, facts, destination)
        if facts.get("fingerprint") == mark:
            files.take_over(destination, facts.get("sha256", {}))


def _play_unfinished(
    layout: Layout, files: SweepFiles, scheduler: Scheduler, stores: ChunkStores, progress: bool
) -> None:
    tasks = [number for number in range(len(layout.tasks)) if not files.is_finished(number)]

    def save(number: int, result: xarray.Dataset) -> None:
        files.save(number, result)
        stores.discard(number)

    _play(layout, scheduler, save, progress, tasks, stores.of)


def _play(
    layout: Layout,
    scheduler: Scheduler,
    save: Callable[[int, xarray.Dataset], None],
    progress: bool,
    numbers: Sequence[int] | None = None,
    store: Callable[[int], ChunkStore | None] = lambda task: None,
) -> None:
    """Play the tasks of these numbers, by default all, and save each as it is finished."""
    tasks = layout.tasks
    wanted = range(len(tasks)) if numbers is None else numbers
    chosen = [tasks[number] for number in wanted]
    with Progress(progress, sum(task.size for task in chosen)) as shown:
        for place_in_list, result in scheduler.play(
            chosen, lambda users: shown.played("", users), lambda number: store(wanted[number])
        ):
            save(wanted[place_in_list], result)
