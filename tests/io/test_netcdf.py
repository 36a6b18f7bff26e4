"""A full disk is an error, not the end of the process."""

import os
import subprocess
import sys

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.io.netcdf import read_netcdf
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
