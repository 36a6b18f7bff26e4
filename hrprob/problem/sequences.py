"""Contexts and levels that are given user after user: where each user stands, and where they came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import WARMUP_USERS
from hrprob.problem.files import check_digest

__all__ = ["described_sequence", "origin", "position", "repeated"]

# Longer sequences are described by their shape: a manifest is to be read.
_MOST_DESCRIBED = 1000


def position(users: jax.Array, length: int) -> jax.Array:
    """Return where in a sequence each user stands; warm-up users stand there too, from its beginning."""
    first = jnp.uint32(WARMUP_USERS)
    number = jnp.where(users >= first, users - first, users - jnp.uint32(1))
    return (number % jnp.uint32(length)).astype(jnp.int32)


def origin(data: Any, sha256: Any) -> tuple[str | None, str | None]:
    """Return the path and the digest of a file; of numbers, nothing."""
    if isinstance(data, str | Path):
        return str(data), check_digest(data, sha256)
    if sha256 is not None:
        raise InvalidInput("sha256", "must go with a file", sha256, "numbers have no digest; leave it out")
    return None, None


def repeated(field: str, array: np.ndarray, path: str | None, users: int) -> str | None:
    """Return a note if a sequence is shorter than the number of users, or None."""
    count = array.shape[0]
    if count >= users:
        return None
    return f"{count} user{'' if count == 1 else 's'} in {path or field}, repeated"


def described_sequence(field: str, array: np.ndarray, path: str | None, sha256: str | None) -> dict[str, Any]:
    """Return a sequence as plain data: its file, its numbers, or its shape where they are many."""
    if path is not None:
        return {field: path, "sha256": sha256}
    if array.size <= _MOST_DESCRIBED:
        return {field: array.tolist()}
    return {field: f"{' x '.join(map(str, array.shape))} numbers"}
