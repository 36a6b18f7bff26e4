"""Contexts and levels that are given as a sequence, one entry per user: which entry is whose, and its origin.

User t meets entry t; after the last entry the sequence begins again. Warm-up users, who come before user 1, meet
the entries from the first on too. Numbers from a file are described by the file's path and digest, so that a run
can be repeated and a changed file is noticed.
"""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import WARMUP_USERS
from hrprob.problem.files import check_digest

__all__ = ["describe_sequence", "path_and_digest", "position", "repetition_note"]

# Longer sequences are described by their shape, so that a manifest stays readable.
_MOST_DESCRIBED = 1000


def position(users: jax.Array, length: int) -> jax.Array:
    """Return the index of each user's entry in a sequence of this length.

    Examples
    --------
    >>> position(jnp.asarray([1, 2, 3, 4, WARMUP_USERS], dtype=jnp.uint32), 3).tolist()
    [0, 1, 2, 0, 0]
    """
    first = jnp.uint32(WARMUP_USERS)
    number = jnp.where(users >= first, users - first, users - jnp.uint32(1))
    return (number % jnp.uint32(length)).astype(jnp.int32)


def path_and_digest(data: object, sha256: object) -> tuple[str | None, str | None]:
    """Return the path and the SHA-256 digest if ``data`` names a file; of numbers, None and None."""
    if isinstance(data, str | Path):
        return str(data), check_digest(data, sha256)
    if sha256 is not None:
        raise InvalidInput("sha256", "must go with a file", sha256, "numbers have no digest; leave it out")
    return None, None


def repetition_note(field: str, array: np.ndarray, path: str | None, users: int) -> str | None:
    """Return a note if a sequence has fewer entries than there are users; else None."""
    count = array.shape[0]
    if count >= users:
        return None
    return f"{count} user{'' if count == 1 else 's'} in {path or field}, repeated"


def describe_sequence(
    field: str, array: np.ndarray, path: str | None, sha256: str | None
) -> dict[str, object]:
    """Return a sequence as plain data: its file, its numbers, or its shape if it is long."""
    if path is not None:
        return {field: path, "sha256": sha256}
    if array.size <= _MOST_DESCRIBED:
        return {field: array.tolist()}
    return {field: f"{' x '.join(map(str, array.shape))} numbers"}
