"""A full disk is an error, not the end of the process."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray

from hrprob._core.errors import InvalidInput
from hrprob.io.netcdf import CHECKSUM, read_netcdf, write_netcdf
from tests.cli.example import ROOT

# A limit on the size of files fails as a full disk does, while HDF5 closes the file.
FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
import xarray
from hrprob.io.netcdf import write_netcdf
numbers = xarray.Dataset({"x": ("n", np.random.default_rng(0).normal(size=100_000))})
data = xarray.DataTree.from_dict({"a": numbers, "b": numbers})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    write_netcdf(data, Path(sys.argv[1]))
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no limit on the size of files")
def test_a_full_disk_is_reported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "x.nc")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "File too large" in done.stdout


@pytest.mark.parametrize("content", [b"", b"CDF\x01", b"\x89HDF\r\n\x1a\n" + bytes(500)])
def test_what_is_no_netcdf_is_refused(tmp_path, content):
    (tmp_path / "x.nc").write_bytes(content)
    with pytest.raises(InvalidInput, match="`path` must be a netCDF file that can be read"):
        read_netcdf(tmp_path / "x.nc")


def whole_tree():
    """Every sort of value, axis and attribute that hrprob writes."""
    rng = np.random.default_rng(0)
    numbers = xarray.Dataset(
        {
            "single": (("x", "y"), rng.normal(size=(3, 4)).astype(np.float32)),
            "double": ("x", [np.nan, -np.inf, -0.0]),
            "whole": ("y", np.arange(4, dtype=np.int16)),
            "small": ("y", np.arange(4, dtype=np.uint8)),
            "yes": ("x", [True, False, True]),
            "name": ("x", ["a", "ü", ""]),
            "one": ((), 3.5),
            "none": (("x", "z"), np.zeros((3, 0))),
        },
        coords={"y": [1, 3, 5, 7], "policy": ("x", np.array(["one", "two", "three"], dtype=object))},
        attrs={"seed": 3, "words": "é\n", "list": [1.0, 2.0], "alone": [1], "truth": np.float32(0.1)},
    )
    numbers["double"].attrs = {"unit": "rounds"}
    inner = xarray.Dataset({"more": ("y", [0.0, 1.0, 2.0, 3.0])}, attrs={"thinning": 2})
    return xarray.DataTree.from_dict({"/": numbers, "/a/b": inner, "/empty": xarray.Dataset()})


def test_what_is_written_is_read_back_without_its_checksum(tmp_path):
    tree = whole_tree()
    packed = {"zlib": True, "complevel": 1, "shuffle": True}
    write_netcdf(tree, tmp_path / "x.nc", {"/": {"single": packed}})
    back = read_netcdf(tmp_path / "x.nc")
    xarray.testing.assert_equal(back, tree)
    assert CHECKSUM not in {*back.attrs, *tree.attrs}
    # What was read can be written, and so can a part of it.
    write_netcdf(back, tmp_path / "y.nc")
    write_netcdf(back["a/b"].to_dataset(), tmp_path / "z.nc")
    xarray.testing.assert_equal(read_netcdf(tmp_path / "y.nc"), tree)
    assert read_netcdf(tmp_path / "z.nc").sizes == {"y": 4}


def put(name, place, value):
    def change(file):
        file[name][place] = value

    return change


def rename(old, new):
    return lambda file: file.move(old, new)


def describe(name, attribute, value):
    def change(file):
        file[name].attrs[attribute] = value

    return change


CHANGES = {
    "the last bit of a number": put("single", (1, 1), np.nextafter(np.float32(0.36), np.float32(1))),
    "the sign of zero": put("double", 2, 0.0),
    "a text": put("name", 0, "b"),
    "an axis": put("y", 0, 2),
    "a number of another type": put("small", 3, 7),
    "in a group": put("a/b/more", 3, 4.0),
    "a name": rename("small", "little"),
    "a group's name": rename("a/b", "a/c"),
    "an attribute": describe("/", "seed", 4),
    "an attribute of a variable": describe("double", "unit", "users"),
    "the checksum": describe("/", CHECKSUM, "0" * 64),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_noticed(tmp_path, change):
    write_netcdf(whole_tree(), tmp_path / "x.nc")
    with h5py.File(tmp_path / "x.nc", "a") as file:
        change(file)
    with pytest.raises(InvalidInput, match="differs from the checksum in its attribute `sha256`"):
        read_netcdf(tmp_path / "x.nc")


def test_a_file_of_somebody_elses_needs_no_checksum(tmp_path):
    whole_tree().to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    xarray.testing.assert_equal(read_netcdf(tmp_path / "x.nc"), whole_tree())
