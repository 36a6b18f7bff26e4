"""The result folder of a run."""

import numpy as np
import xarray

from hrprob.io.run import write_results


def test_all_files_are_there_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "lifetime.png",
        "lifetime.svg",
        "manifest.json",
        "regret.png",
        "regret.svg",
        "results.nc",
        "summary.json",
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["result"]
    # As any folder made under this umask, not as a private temporary one.
    beside = folder.parent / "beside"
    beside.mkdir()
    assert folder.stat().st_mode == beside.stat().st_mode
    beside.rmdir()


def test_the_dataset_comes_back_as_it_was(folder, dataset):
    with xarray.open_dataset(folder / "results.nc") as stored:
        assert len(stored.attrs.pop("sha256")) == 64
        xarray.testing.assert_identical(stored.load(), dataset)
        assert stored.regret.dtype == np.float64
        assert list(stored.policy.values) == ["Zufall (±)", "oracle"]
        assert stored.regret.encoding["zlib"]


def test_a_large_configuration_fits_into_the_file(tmp_path, dataset, facts):
    # HDF5 keeps at most 64 KiB of an attribute beside its object; context sets are longer than that.
    long = dataset.assign_attrs(problem="x" * 200_000)
    write_results(tmp_path, long, facts)
    with xarray.open_dataset(tmp_path / "results.nc") as stored:
        assert stored.attrs["problem"] == long.attrs["problem"]


def test_the_same_result_gives_the_same_files(folder, tmp_path, dataset, facts):
    write_results(tmp_path, dataset, facts)
    for name in ("summary.json", "manifest.json", "regret.png", "regret.svg", "lifetime.png", "lifetime.svg"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
