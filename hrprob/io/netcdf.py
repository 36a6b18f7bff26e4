"""netCDF files: written whole, with a checksum of what they hold, read with one kind of error."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded

if TYPE_CHECKING:
    import xarray

__all__ = ["CHECKSUM", "read_netcdf", "write_netcdf"]

CHECKSUM = "sha256"
"""The attribute of a file's root that has the checksum of all else."""


def write_netcdf(
    data: xarray.Dataset | xarray.DataTree, path: Path, encoding: Mapping[str, Decoded] | None = None
) -> None:
    """Write a dataset or a tree to a new file, with a checksum of its numbers, texts and names.

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
    import xarray

    tree = data if isinstance(data, xarray.DataTree) else xarray.DataTree(data)
    marked = data.copy(deep=False)
    marked.attrs[CHECKSUM] = _checksum_of(tree)
    content = marked.to_netcdf(engine="h5netcdf", encoding=encoding)
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_netcdf(
    path: Path, field: str = "path", must: str = "must be a netCDF file that can be read"
) -> xarray.DataTree:
    """Return all that a file holds, loaded, if it is what :func:`write_netcdf` wrote, or has no checksum.

    Parameters
    ----------
    path : Path
        The file.
    field, must : str
        The argument that named it and what it must be, for the error.

    Raises
    ------
    InvalidInput
        If it cannot be read, whatever the reason, or differs from its checksum.
    """
    import xarray

    try:
        _let_half_made_files_close()
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            content = tree.load()
    except Exception as error:
        # HDF5 and what reads it raise errors of every kind on a damaged file.
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput(field, must, str(path), reason) from None
    expected = content.attrs.pop(CHECKSUM, None)
    if expected is not None and expected != _checksum_of(content):
        reason = f"it differs from the checksum in its attribute `{CHECKSUM}`: it is damaged, or was changed without removing that"
        raise InvalidInput(field, must, str(path), reason)
    return content


def _checksum_of(tree: xarray.DataTree) -> str:
    """Return a SHA-256 of all that a file has to give back: names, axes, attributes and values, however they are stored."""
    found = hashlib.sha256()
    for node in sorted(tree.subtree, key=lambda one: one.path):
        data = node.to_dataset(inherit=False)
        found.update(_as_json([node.path, _attributes(data.attrs)]))
        for name in sorted(data.variables, key=str):
            variable = data.variables[name]
            values = np.asarray(variable.values)
            texts = values.dtype.kind not in "biuf"
            kind = "text" if texts else values.dtype.newbyteorder("<").str
            found.update(_as_json([name, variable.dims, kind, values.shape, _attributes(variable.attrs)]))
            found.update(
                _as_json(values.tolist()) if texts else np.ascontiguousarray(values, dtype=kind).data
            )
    return found.hexdigest()


def _attributes(attributes: Mapping[Hashable, Decoded]) -> list[tuple[str, Decoded]]:
    """Return attributes in an order of their own; netCDF has no list of one number."""
    return sorted(
        (str(name), np.ravel(value).tolist()) for name, value in attributes.items() if name != CHECKSUM
    )


def _as_json(value: Decoded) -> bytes:
    # Of a damaged file anything may come.
    return json.dumps(value, default=repr).encode(errors="surrogatepass")


def _let_half_made_files_close() -> None:
    """Keep h5netcdf quiet on a file that it cannot open: it closes the half-made object, which lacks this attribute."""
    import h5netcdf

    if not hasattr(h5netcdf.File, "_writable"):
        h5netcdf.File._writable = False
