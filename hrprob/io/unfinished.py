"""Finished chunks of a run that is not finished, kept beside its destination until it is.

A run that was killed or stopped leaves the folder ``.out.unfinished`` with its plan and its finished chunks.
``--resume`` goes on from there, if it is the same plan: configuration, versions and hrprob's own code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob._core.files import source_digest, whole_file
from hrprob._core.types import Decoded
from hrprob.io.json_files import read_json, write_json
from hrprob.io.manifest import environment

__all__ = ["check_same_plan", "differences", "digest", "fingerprint", "has_chunks", "unfinished", "versions"]

_PLAN = "plan.json"
# Differences that are shown of two plans.
_MOST_SHOWN = 3


@contextlib.contextmanager
def unfinished(
    destination: Path, plan: Mapping[str, Decoded], *, resume: bool, reuse: bool = False
) -> Iterator[Path]:
    """Give the folder of finished chunks of a destination that is reserved; it is removed when the work succeeds.

    If the work fails or is stopped, the folder stays if there is a chunk in it.

    Parameters
    ----------
    destination : Path
        Where the result will be.
    plan : mapping
        What is to be done, as plain data.
    resume : bool
        Whether to go on with what an earlier process left there.
    reuse : bool
        Whether chunks know for themselves what they belong to, so that those of another plan may stay.

    Raises
    ------
    InvalidInput
        If ``resume`` finds another plan, with the differences.
    """
    folder = destination.with_name(f".{destination.name}.unfinished")
    # As it comes back from the file.
    full = json.loads(json.dumps({**plan, **versions()}, default=str))
    if folder.exists() and resume:
        _check_plan(folder, full, destination)
    elif folder.exists() and not reuse:
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    try:
        with whole_file(folder / _PLAN) as path:
            write_json(path, full)
        yield folder
    except BaseException as error:
        # Also after an input that cannot be used: what is wrong may be the scheduler, and the chunks are as good as before.
        if not has_chunks(folder):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            error.add_note("what was finished is kept: the same command with --resume goes on from there")
        raise
    shutil.rmtree(folder, ignore_errors=True)


def has_chunks(folder: Path) -> bool:
    """Say whether anything beside the plan is in a folder of :func:`unfinished`."""
    return any(path.is_file() and path.name != _PLAN for path in folder.rglob("*"))


def fingerprint(plan: object) -> str:
    """Return a text that differs for different plans, versions, or code of hrprob."""
    return digest([plan, versions()])


def digest(data: object) -> str:
    """Return a text that differs for different plain data.

    Examples
    --------
    >>> digest({"users": 10})[:8], digest({"users": 20})[:8]
    ('6a102ff4', 'a32dd7e5')
    """
    content = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def differences(one: object, other: object, field: str = "") -> list[str]:
    """Return where two tables of plain data differ, each place in words.

    Examples
    --------
    >>> differences({"run": {"users": 10, "seed": 0}}, {"run": {"users": 20, "seed": 0}})
    ['run.users is 10, was 20']
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [
            line
            for key in {**one, **other}
            for line in differences(one.get(key), other.get(key), f"{field}.{key}" if field else str(key))
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            line
            for number, (mine, theirs) in enumerate(zip(one, other, strict=True), start=1)
            for line in differences(mine, theirs, f"{field}[{number}]")
        ]
    return [] if one == other else [f"{field} is {_short(one)}, was {_short(other)}"]


def _check_plan(folder: Path, plan: Mapping[str, Decoded], destination: Path) -> None:
    try:
        earlier = read_json(folder / _PLAN)
    except (OSError, ValueError, RecursionError):
        earlier = None
    if not isinstance(earlier, dict):
        # Its process died before it had a plan, or the file is damaged: nothing there can be used.
        shutil.rmtree(folder)
        return
    check_same_plan(plan, earlier, destination)


def check_same_plan(plan: Mapping[str, Decoded], earlier: Mapping[str, Decoded], destination: Path) -> None:
    """Raise if what is to be done differs from what was begun or done before, with the differences.

    Parameters
    ----------
    plan, earlier : mapping
        Plain data; of ``earlier`` only the entries count that ``plan`` has.
    destination : Path
        The folder, for the error.
    """
    wanted = json.loads(json.dumps(plan, default=str))
    found = differences(wanted, {name: earlier.get(name) for name in wanted})
    if found:
        shown = "; ".join(found[:_MOST_SHOWN]) + ("; ..." if len(found) > _MOST_SHOWN else "")
        must = "must be of the same configuration and versions"
        remedy = f"{shown}. Repeat the earlier command, or leave --resume out to begin again"
        raise InvalidInput("resume", must, str(destination), remedy)


@functools.cache
def versions() -> dict[str, Decoded]:
    """Return what chunks depend on besides their plan: the versions of libraries, and hrprob's own code."""
    return {"versions": environment("scipy")["versions"], "code": source_digest()}


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
