"""netCDF files: written whole, read with one kind of error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded

if TYPE_CHECKING:
    import xarray

__all__ = ["read_netcdf", "write_netcdf"]


def write_netcdf(
    data: xarray.Dataset | xarray.DataTree, path: Path, encoding: Mapping[str, Decoded] | None = None
) -> None:
    """Write a dataset or a tree to a new file.

    HDF5 ends the process if a disk is full while it closes a file. So the file is made in memory, and
    written in one piece.

    Raises
    ------
    OSError
        If the disk is full, for example.

    Examples
    --------
    >>> import tempfile, xarray
    >>> path = Path(tempfile.mkdtemp(), "numbers.nc")
    >>> write_netcdf(xarray.Dataset({"a": ("x", [1.0, 2.0])}), path)
    >>> read_netcdf(path)["a"].values.tolist()
    [1.0, 2.0]
    """
    content = data.to_netcdf(engine="h5netcdf", encoding=encoding)
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_netcdf(
    path: Path, field: str = "path", must: str = "must be a netCDF file that can be read"
) -> xarray.DataTree:
    """Return all that a file holds, loaded.

    Parameters
    ----------
    path : Path
        The file.
    field, must : str
        The argument that named it and what it must be, for the error.

    Raises
    ------
    InvalidInput
        If it cannot be read, whatever the reason.
    """
    import xarray

    try:
        _let_half_made_files_close()
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            return tree.load()
    except Exception as error:
        # HDF5 and what reads it raise errors of every kind on a damaged file.
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput(field, must, str(path), reason) from None


def _let_half_made_files_close() -> None:
    """Keep h5netcdf quiet on a file that it cannot open: it closes the half-made object, which lacks this attribute."""
    import h5netcdf

    if not hasattr(h5netcdf.File, "_writable"):
        h5netcdf.File._writable = False
