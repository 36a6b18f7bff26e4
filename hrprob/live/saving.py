"""A saved agent: one file with everything that decides what it does next.

The file is a ZIP archive without compression, of JSON and of NumPy's own format of arrays; nothing in it is
executed when it is read.

====================  =======================================================================================
member                what it has
====================  =======================================================================================
``agent.json``        ``format`` ("hrprob agent"), ``version`` of the format, ``hrprob`` and ``jax`` (versions), ``settings`` (the
                      arguments of the agent, policy included), ``counts``, ``users`` (names of those present)
``key.npy``           the two words of the key from which the next random numbers come
``state/I.npy``       the arrays of the policy's state, in the order of its fields
``stays/NAME.npy``    one row per user who is present: ``arrival``, ``chosen``, ``numbers``, ``outcomes`` (the number
                      of outcomes, then the outcomes), and ``own-I``, the policy's open rows of that user
====================  =======================================================================================

It is written whole or not at all: a process that is killed while it saves leaves the earlier file as it was.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.files import clear_leftovers, sync, whole_file
from hrprob._core.types import Decoded
from hrprob.live.decision_log import well_formed
from hrprob.live.settings import AgentSettings
from hrprob.live.stays import Stay, User
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS

__all__ = ["Kept", "read", "write"]

FORMAT, VERSION = "hrprob agent", 1
# The numbers of a stay, in this order.
_NUMBERS = ("number", "warming", "beta", "budget", "time", "rounds", "played", "sampled", "total", "squares")
_WHOLE = ("number", "rounds", "played", "sampled")


class Kept(NamedTuple):
    """All that decides what an agent does next."""

    settings: AgentSettings
    counts: dict[str, int]
    key: np.ndarray  # (2,) uint32
    leaves: list[np.ndarray]
    stays: dict[User, Stay]


def write(path: Path, kept: Kept) -> None:
    """Write an agent to a file, whole or not at all."""
    facts = {
        "format": FORMAT,
        "version": VERSION,
        **{name: importlib.metadata.version(name) for name in ("hrprob", "jax")},
        "settings": kept.settings.described(),
        "counts": kept.counts,
        "users": list(kept.stays),
    }
    arrays = {"key": kept.key} | {f"state/{i}": leaf for i, leaf in enumerate(kept.leaves)}
    arrays |= {f"stays/{name}": array for name, array in _arrays_of(list(kept.stays.values())).items()}
    try:
        clear_leftovers(path)
        with whole_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr("agent.json", json.dumps(facts, indent=2, allow_nan=False))
            for name, array in arrays.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, np.asarray(array, order="C"), allow_pickle=False)
                archive.writestr(f"{name}.npy", content.getvalue())
        sync(path.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput("path", "must be a file that can be written", str(path), reason) from None


# What the readers of archives, JSON and arrays raise on damaged ones.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    *(KeyError, ValueError, TypeError, EOFError, RecursionError, MemoryError, SyntaxError),
)


def read(path: Path) -> Kept:
    """Return what was written to a file."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            remedy = "it is a device or a pipe, which may have no end"
            raise InvalidInput("path", "must be a saved agent", str(path), remedy)
        with zipfile.ZipFile(path) as archive:
            facts = json.loads(archive.read("agent.json"))
            _check_format(path, facts)
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            arrays = {name: _array(archive.read(f"{name}.npy")) for name in names}
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput("path", "must be a file that can be read", str(path), reason) from None
    except InvalidInput:
        raise
    except _DAMAGED as error:
        why = f"it cannot be read: {type(error).__name__}: {error}"
        raise InvalidInput("path", "must be a saved agent", str(path), why) from None
    with well_formed("path", path):
        leaves = [arrays[f"state/{i}"] for i in range(sum(name.startswith("state/") for name in names))]
        of_stays = {name.removeprefix("stays/"): arrays[name] for name in names if name.startswith("stays/")}
        stays = dict(zip(facts["users"], _stays_of(of_stays), strict=True))
        return Kept(
            AgentSettings.from_described(facts["settings"]), facts["counts"], arrays["key"], leaves, stays
        )


def _array(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _check_format(path: Path, facts: object) -> None:
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InvalidInput("path", "must be a saved agent", str(path), "`Agent.save` writes one")
    if facts.get("version") != VERSION:
        remedy = f"this hrprob reads version {VERSION}; it was saved with hrprob {facts.get('hrprob')}"
        raise InvalidInput("path", "must be of a known version", facts.get("version"), remedy)


def _arrays_of(stays: list[Stay]) -> dict[str, np.ndarray]:
    """Return users who are present as arrays, one row per user."""
    if not stays:
        return {}
    outcomes = np.zeros((len(stays), 1 + BLOCK_OF_ROUNDS))
    for row, stay in zip(outcomes, stays, strict=True):
        row[0], row[1 : 1 + len(stay.outcomes)] = len(stay.outcomes), stay.outcomes
    arrays = {
        "arrival": np.stack([stay.arrival for stay in stays]),
        "chosen": np.stack([stay.chosen for stay in stays]),
        "numbers": np.array([[getattr(stay, name) for name in _NUMBERS] for stay in stays], float),
        "outcomes": outcomes,
    }
    for place in range(len(stays[0].own)):
        arrays[f"own-{place}"] = np.stack([np.asarray(stay.own[place]) for stay in stays])
    return arrays


def _stays_of(arrays: dict[str, np.ndarray]) -> list[Stay]:
    """Return users who are present from arrays."""
    if not arrays:
        return []
    own = [arrays[f"own-{place}"] for place in range(sum(name.startswith("own-") for name in arrays))]
    stays = []
    for row in range(len(arrays["numbers"])):
        fields: dict[str, Decoded] = dict(zip(_NUMBERS, arrays["numbers"][row].tolist(), strict=True))
        fields |= {name: int(fields[name]) for name in _WHOLE} | {"warming": bool(fields["warming"])}
        kept = int(arrays["outcomes"][row, 0])
        outcomes = tuple(arrays["outcomes"][row, 1 : 1 + kept].tolist())
        mine = tuple(leaf[row] for leaf in own)
        arrival, chosen = arrays["arrival"][row], arrays["chosen"][row]
        stays.append(Stay(arrival=arrival, chosen=chosen, own=mine, outcomes=outcomes, **fields))
    return stays
