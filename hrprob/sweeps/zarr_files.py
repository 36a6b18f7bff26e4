"""The arrays of a sweep on disk, in Zarr's format: a file per task and variable, each with a checksum.

A task counts as finished when the checksums of its files are on disk (``finished/000000.json``), which is after the files
themselves. A file that differs from its checksum is damaged, and its task is played again.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping
from pathlib import Path

import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.files import whole_file
from hrprob._core.types import Decoded
from hrprob.io.exchange import link_or_copy
from hrprob.io.json_files import read_json, write_json
from hrprob.io.manifest import checksum
from hrprob.sweeps.layout import VARIABLES, Layout, Writable, place
from hrprob.sweeps.points import POINTS

__all__ = ["RESULTS", "SweepFiles", "open_results", "read_results"]

RESULTS = "results.zarr"
"""Name of the folder with the arrays."""


class SweepFiles:
    """The arrays of a sweep on disk, and which tasks of it are finished.

    Parameters
    ----------
    folder : Path
        Where they are kept until all is finished.
    layout : Layout
        What they hold.
    mark : str
        A fingerprint of the sweep: tasks of another one do not count.
    """

    def __init__(self, folder: Path, layout: Layout, mark: str) -> None:
        self._folder, self._layout, self._mark = folder, layout, mark
        self.results = folder / RESULTS
        self._finished = folder / "finished"

    def is_finished(self, task: int) -> bool:
        """Say whether a task is finished and its files are as they were written."""
        try:
            content = read_json(self._mark_of(task))
            if content["mark"] != self._mark:
                return False
            return all(
                checksum(self.results / name) == content["sha256"][name] for name in self._files_of(task)
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False

    def save(self, task: int, result: xarray.Dataset) -> None:
        """Write the result of a task, then the checksums that make it count."""
        self._mark_of(task).unlink(missing_ok=True)
        place(self._layout, self._arrays, task, result)
        self._count(task)

    def take_over(self, earlier: Path, sha256: Mapping[str, str]) -> None:
        """Take the files of tasks from an earlier result of the same sweep, as far as they are undamaged.

        Parameters
        ----------
        earlier : Path
            The folder of that result.
        sha256 : mapping
            The checksums of its files, from its manifest.
        """
        for task in range(len(self._layout.tasks)):
            if self.is_finished(task):
                continue
            names = self._files_of(task)
            try:
                sound = all(
                    checksum(earlier / RESULTS / name) == sha256.get(f"{RESULTS}/{name}") for name in names
                )
            except OSError:
                sound = False
            if sound:
                for name in names:
                    target = self.results / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.unlink(missing_ok=True)
                    link_or_copy(earlier / RESULTS / name, target)
                self._count(task)

    def put_into(self, folder: Path) -> None:
        """Let a result folder have the arrays too; those here stay until that folder is in place."""
        assert self._arrays
        for leftover in self.results.rglob("*.partial"):
            # A process that was killed while it wrote left it.
            leftover.unlink()
        link_or_copy(self.results, folder / RESULTS)

    @functools.cached_property
    def _arrays(self) -> Mapping[str, Writable]:
        """The arrays, to be written. Axes and descriptions are small files, which are made anew, apart, and put in place."""
        # Imported here: who reads no sweep need not wait for it.
        import zarr
        from zarr.codecs import ZstdCodec

        layout, skeleton = self._layout, self._folder / "skeleton"
        shutil.rmtree(skeleton, ignore_errors=True)
        axes = xarray.Dataset(coords=layout.coordinates(), attrs=layout.attributes())
        axes.to_zarr(skeleton, zarr_format=3, consolidated=False)
        group = zarr.open_group(skeleton, mode="r+")
        for name, variable in VARIABLES.items():
            group.create_array(
                name,
                shape=layout.sizes(variable),
                chunks=layout.chunks(variable),
                dtype=variable.dtype,
                fill_value=variable.fill,
                # Zstandard's own checksum lets every reader of the format notice damage.
                compressors=[ZstdCodec(level=1, checksum=True)],
                dimension_names=[*layout.point_axes, *variable.axes],
                attributes={**layout.attributes_of(name)},
            )
        for file in sorted(path for path in skeleton.rglob("*") if path.is_file()):
            target = self.results / file.relative_to(skeleton)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
        shutil.rmtree(skeleton)
        # Written even if it is all zeros, so that every task has all its files.
        return {
            name: zarr.open_array(self.results / name, mode="r+", config={"write_empty_chunks": True})
            for name in VARIABLES
        }

    def _count(self, task: int) -> None:
        sums = {name: checksum(self.results / name) for name in self._files_of(task)}
        self._finished.mkdir(exist_ok=True)
        with whole_file(self._mark_of(task)) as path:
            write_json(path, {"mark": self._mark, "sha256": sums})

    def _mark_of(self, task: int) -> Path:
        return self._finished / f"{task:06d}.json"

    def _files_of(self, task: int) -> list[str]:
        return [
            "/".join([name, "c", *map(str, self._layout.chunk_of(task, variable))])
            for name, variable in VARIABLES.items()
        ]


def open_results(folder: Path) -> xarray.Dataset:
    """Return the arrays of a sweep; they are read from disk when they are used."""
    return xarray.open_zarr(folder / RESULTS, consolidated=False, chunks=None)[list(VARIABLES)]


def read_results(folder: Path, facts: Mapping[str, Decoded]) -> xarray.Dataset:
    """Return the arrays of a sweep in memory, if every file is the one that was written with the manifest ``facts``.

    Raises
    ------
    InvalidInput
        If a file is damaged or missing.
    """
    must = "must hold a sweep as it was written"
    sums = {
        name: text for name, text in facts.get("sha256", {}).items() if name.startswith((RESULTS, POINTS))
    }
    for name, expected in sums.items():
        if not (folder / name).is_file() or checksum(folder / name) != expected:
            remedy = f"{name} is missing or damaged; the same `hrprob sweep` with --resume makes it again"
            raise InvalidInput("DIR", must, str(folder), remedy)
    try:
        return open_results(folder).load()
    except Exception as error:
        # Zarr and what reads it raise errors of every kind on damaged files.
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput("DIR", must, str(folder), reason) from None
