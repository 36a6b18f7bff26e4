"""Play an experiment and write its result folder, as ``hrprob run`` does.

==================  ==============================================================
file                content
==================  ==============================================================
results.nc          the dataset, to be read with :func:`xarray.open_dataset`
summary.json        regret at users 1, 1001, 2001, ... and the last, mean lifetime
manifest.json       configuration as resolved, seed, versions, times, revision
regret.png, .svg    :func:`~hrprob.plot.plot_regret`
lifetime.png, .svg  :func:`~hrprob.plot.plot_lifetime`
==================  ==============================================================
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob._core.parallel import import_for_threads
from hrprob.io.chunks import ChunkFolder
from hrprob.io.config import Experiment, resolved
from hrprob.io.json_files import write_json
from hrprob.io.manifest import run_manifest, write_manifest
from hrprob.io.netcdf import write_netcdf
from hrprob.io.sources import sources
from hrprob.io.staging import reserved, staged_at
from hrprob.io.summary import summary
from hrprob.io.unfinished import fingerprint, unfinished
from hrprob.plot.drawing import BeginDrawing, draw_run
from hrprob.simulation.engine import simulate

if TYPE_CHECKING:
    import xarray

__all__ = ["run_experiment", "write_results"]


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    *,
    keep: str | int = "auto",
    command: list[str] | None = None,
    started: tuple[float, float] | None = None,
    resume: bool = False,
    progress: bool = False,
    modules: Sequence[str] = (),
    draw: BeginDrawing | None = None,
) -> xarray.Dataset:
    """Play an experiment and write its results into the folder ``out``, whole or not at all.

    Parameters
    ----------
    experiment : Experiment
        Problem, policies and sizes, for example from :func:`hrprob.io.config.read`.
    out : str or Path
        The folder: new, empty, or an earlier result, which is replaced.
    keep : "auto", "all" or int
        Users to keep: as many as fit, all, or each N-th.
    command : list of str, optional
        The command line, for the manifest.
    started : tuple of float, optional
        ``time.perf_counter()`` and ``time.process_time()`` from which the manifest's times count; by
        default those of this call.
    resume : bool
        Go on with the finished chunks that an interrupted call left, to the same result; refuse to if its
        configuration or versions were others. There are some if it lasted longer than
        :data:`hrprob.io.chunks.EVERY` seconds.
    progress : bool
        Show a progress bar.
    modules : sequence of str
        Modules that were imported for this run: ``resume`` is refused if their source was another.
    draw : callable, optional
        What has the figures drawn, from :func:`~hrprob.plot.drawing.drawing_process`. By default this process does.

    Returns
    -------
    xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.

    Examples
    --------
    >>> import tempfile, hrprob
    >>> experiment = Experiment(hrprob.Problem(), {"oracle": hrprob.Oracle()}, users=50, trials=2)
    >>> folder = Path(tempfile.mkdtemp(), "result")
    >>> _ = run_experiment(experiment, folder)  # slow
    >>> (folder / "results.nc").exists()
    True
    """
    wall, cpu = started or (time.perf_counter(), time.process_time())
    plan = {
        "job": "run",
        "configuration": resolved(experiment),
        "keep": keep,
        "sources": sources(experiment, modules=modules),
    }
    with (
        reserved(out, "run") as destination,
        unfinished(destination, plan, resume=resume) as finished,
        staged_at(destination, "run") as folder,
        ThreadPoolExecutor(1) as beside,
    ):
        import_for_threads()
        writers = beside.submit(_load_writers, figures=draw is None)
        dataset = simulate(
            experiment.problem,
            experiment.policies,
            users=experiment.users,
            trials=experiment.trials,
            seed=experiment.seed,
            keep=keep,
            progress=progress,
            store=ChunkFolder(finished, fingerprint(plan)),
        )
        facts = run_manifest(
            experiment,
            dataset,
            keep=keep,
            command=command or [],
            wall_seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )
        writers.result()
        write_results(folder, dataset, facts, draw)
    return dataset


def _load_writers(*, figures: bool) -> None:
    """Import what writes the results, while the programs of the run are compiled and played."""
    import xarray

    # What is imported at the first use, too: h5netcdf, for example.
    xarray.Dataset().to_netcdf(engine="h5netcdf")
    if figures:
        from hrprob.plot.saving import load_backends

        load_backends()


def write_results(
    folder: Path, dataset: xarray.Dataset, facts: Mapping[str, object], draw: BeginDrawing | None = None
) -> None:
    """Write the files of a run into an empty folder.

    Parameters
    ----------
    folder : Path
        The folder, as :func:`~hrprob.io.staging.staged` gives it.
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.
    facts : mapping
        The result of :func:`~hrprob.io.manifest.run_manifest`.
    draw : callable, optional
        What has the figures drawn while the other files are written.
    """
    packed = {"zlib": True, "complevel": 1, "shuffle": True}
    encoding = dict.fromkeys(("regret", "lifetime", "action", "optimal", "best"), packed)
    shown = dataset[["regret", "mean_lifetime"]]
    finish_drawing = functools.partial(draw_run, shown, folder) if draw is None else draw(shown, folder)
    write_netcdf(dataset, folder / "results.nc", encoding)
    write_json(folder / "summary.json", summary(dataset))
    finish_drawing()
    write_manifest(folder, facts)
