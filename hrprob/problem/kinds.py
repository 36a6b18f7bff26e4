"""The kinds of each part of a problem, and how one is made of what somebody wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hrprob.errors import InvalidInput
from hrprob.noise import Mixture, Normal, StudentT, TruncatedNormal
from hrprob.problem.contexts import Ball, Finite, Sphere
from hrprob.problem.hidden import Hidden, Redrawn
from hrprob.problem.link import Affine
from hrprob.problem.objective import Lifetime, MeanVariance, Reward, Threshold
from hrprob.problem.satisfaction import EmpiricalLevels, Fixed, Infinite, NormalLevels, Uniform
from hrprob.problem.sequences import (
    ContextFunction,
    ContextSequence,
    Drifting,
    LevelFunction,
    LevelSequence,
    Withholding,
)
from hrprob.tables import (
    NOTHING,
    check_keys,
    check_kind,
    check_numbers,
    given,
    names_of,
    required_of,
    table_of,
    within,
)

__all__ = ["KINDS", "MARKS", "make_part"]

KINDS: dict[str, dict[str, type[Any]]] = {
    "link": {"affine": Affine},
    "noise": {
        "normal": Normal,
        "truncated-normal": TruncatedNormal,
        "mixture": Mixture,
        "student-t": StudentT,
    },
    "objective": {
        "lifetime": Lifetime,
        "reward": Reward,
        "mean-variance": MeanVariance,
        "threshold": Threshold,
    },
    "contexts": {
        "sphere": Sphere,
        "ball": Ball,
        "finite": Finite,
        "sequence": ContextSequence,
        "function": ContextFunction,
        "drifting": Drifting,
        "withholding": Withholding,
    },
    "satisfaction": {
        "uniform": Uniform,
        "normal": NormalLevels,
        "empirical": EmpiricalLevels,
        "fixed": Fixed,
        "infinite": Infinite,
        "sequence": LevelSequence,
        "function": LevelFunction,
        "hidden": Hidden,
        "redrawn": Redrawn,
    },
}
"""The kinds of each part of a problem; a new kind is one entry here."""

MARKS = {
    "link": "check_bound",
    "noise": "inverse_chance",
    "objective": "earning",
    "contexts": "place",
    "satisfaction": "leaving_chance",
    "bounds": "phi",
}
"""Something that every such part has, by which it is told from other things."""

# Fields that hold numbers, or the path of a file with them.
_TABLES = {Finite: "sets", ContextSequence: "users", EmpiricalLevels: "levels", LevelSequence: "levels"}


def make_part(field: str, part: str, written: Any, folder: Path = Path()) -> Any:
    """Return the link, the noise, ... that was written: a table with a kind, or a kind alone.

    Parameters
    ----------
    field : str
        What it is called where it was written.
    part : str
        What it is: "link", "noise", "objective", "contexts" or "satisfaction".
    written : str, table or part
        Something that is no plain data must be such a part already, and is returned.
    folder : Path
        Where relative paths begin.

    Examples
    --------
    >>> make_part("noise", "noise", {"kind": "student-t", "df": 6.0})
    StudentT(df=6.0)
    """
    kinds = KINDS[part]
    if not isinstance(written, str | Mapping | int | float | list):
        if isinstance(written, type) or not hasattr(written, MARKS[part]):
            remedy = f'a kind such as "{next(iter(kinds))}", or a table with its kind'
            raise InvalidInput(field, f"must be a kind of {part}", written, remedy)
        return written
    name = field.rpartition(".")[2]
    example = f'write {name} = {{ kind = "{next(iter(kinds))}", ... }}'
    table = {"kind": written} if isinstance(written, str) else table_of(field, {name: written}, example)
    kind = check_kind(field, table, kinds, example)
    check_keys(field, table, ("kind", *names_of(kinds[kind])))
    fields = {name: value for name, value in given(table).items() if name != "kind"}
    for required in required_of(kinds[kind]):
        if required not in fields:
            raise InvalidInput(f"{field}.{required}", "must be given", NOTHING, f"{kind!r} needs it")
    numbers = _TABLES.get(kinds[kind])
    if numbers is not None and numbers in fields:
        fields[numbers] = _numbers(f"{field}.{numbers}", fields[numbers], folder)
    if kinds[kind] in (Hidden, Redrawn) and "of" in fields:
        fields["of"] = make_part(f"{field}.of", part, fields["of"], folder)
    return within(field, lambda: kinds[kind](**fields))


def _numbers(field: str, written: Any, folder: Path) -> Any:
    """Return numbers as they were written, or the path of the file that has them."""
    if isinstance(written, str):
        if not (written and written.isprintable()):
            remedy = "it has a character no path needs" if written else "name a CSV file, or give the numbers"
            raise InvalidInput(field, "must be the path of a file", written, remedy)
        return folder / written
    check_numbers(field, written)
    return written
