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

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray

from hrprob import plot
from hrprob.io.config import Experiment
from hrprob.io.json_files import write_json
from hrprob.io.manifest import run_manifest, write_manifest
from hrprob.io.staging import staged
from hrprob.io.summary import summary
from hrprob.simulation.engine import simulate

__all__ = ["run_experiment", "write_results"]


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    *,
    keep: str | int = "auto",
    command: list[str] | None = None,
    started: tuple[float, float] | None = None,
    progress: bool = False,
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
    progress : bool
        Show a progress bar.

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
    with staged(out) as folder:
        dataset = simulate(
            experiment.problem,
            experiment.policies,
            users=experiment.users,
            trials=experiment.trials,
            seed=experiment.seed,
            keep=keep,
            progress=progress,
        )
        facts = run_manifest(
            experiment,
            dataset,
            keep=keep,
            command=command or [],
            wall_seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )
        write_results(folder, dataset, facts)
    return dataset


def write_results(folder: Path, dataset: xarray.Dataset, facts: Mapping[str, Any]) -> None:
    """Write the files of a run into an empty folder.

    Parameters
    ----------
    folder : Path
        The folder, as :func:`~hrprob.io.staging.staged` gives it.
    dataset : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.
    facts : mapping
        The result of :func:`~hrprob.io.manifest.run_manifest`.
    """
    packed = {"zlib": True, "complevel": 1, "shuffle": True}
    encoding = dict.fromkeys(("regret", "lifetime", "action", "optimal", "best"), packed)
    dataset.to_netcdf(folder / "results.nc", engine="h5netcdf", encoding=encoding)
    write_json(folder / "summary.json", summary(dataset))
    plot.save(plot.plot_regret(dataset), folder, "regret")
    plot.save(plot.plot_lifetime(dataset), folder, "lifetime")
    write_manifest(folder, facts)
