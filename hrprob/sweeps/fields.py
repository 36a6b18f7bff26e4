"""Fields of a configuration by their names, and the experiment at a point of a sweep.

A field is named as in a configuration and in error messages: ``problem.link.offset``, ``run.seed``,
``policy.NAME.growth`` with the policy's name, ``problem.theta[1]`` for the first entry of a list.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence

from hrprob._core.errors import InvalidInput
from hrprob._core.tables import nearest
from hrprob._core.types import Decoded
from hrprob.io.config import Experiment, from_data, resolved
from hrprob.sweeps.design import Design

__all__ = ["at_point", "experiments_at", "policy_of", "set_field"]

_TABLES = ("problem", "run", "policy")
_STEP = re.compile(r"([^.\[\]]+)((?:\[\d{1,6}\])*)")


def experiments_at(experiment: Experiment, design: Design) -> list[Experiment]:
    """Return the experiment at every point of a design; a point that cannot be played is refused by name.

    Examples
    --------
    >>> import hrprob
    >>> from hrprob.sweeps.design import make_design
    >>> base = Experiment(hrprob.Problem(), {"a": hrprob.LinUCB()}, users=50, trials=2)
    >>> [one.policies["a"].alpha for one in experiments_at(base, make_design({"policy.a.alpha": [1.0, 2.0]}))]
    [1.0, 2.0]
    """
    base = resolved(experiment)
    _check_apart(design.fields, list(experiment.policies))
    found = []
    for number, values in enumerate(design.points):
        data = copy.deepcopy(base)
        for field, value in zip(design.fields, values, strict=True):
            set_field(data, field, value)
        try:
            found.append(from_data(data, design.folder))
        except InvalidInput as error:
            raise at_point(error, design, number) from None
    return found


def at_point(error: InvalidInput, design: Design, number: int) -> InvalidInput:
    """Return the same error with the point of the sweep named in it."""
    remedy = f"{error.remedy}; at the point {design.label(number)} of the sweep"
    return InvalidInput(error.field, error.must, error.got, remedy)


def policy_of(field: str, names: Sequence[str]) -> str | None:
    """Return the policy whose field this is; None for a field of the problem or the run.

    Examples
    --------
    >>> policy_of("policy.v0.5.growth", ["v0", "v0.5"])
    'v0.5'
    """
    table, _, rest = field.partition(".")
    if table != "policy":
        return None
    for name in sorted(names, key=len, reverse=True):
        if rest.startswith(f"{name}."):
            return name
    remedy = nearest(rest.partition(".")[0], list(names)) or f"the policies are {', '.join(names)}"
    must = "must name a policy and one of its fields"
    raise InvalidInput(f"sweep.{field}", must, field, f"policy.NAME.FIELD; {remedy}")


def set_field(data: dict[str, Decoded], field: str, value: object) -> None:
    """Set a field of a configuration, which is plain data with every default filled in.

    Examples
    --------
    >>> data = {"problem": {"theta": [0.6, 0.3]}, "run": {}, "policy": []}
    >>> set_field(data, "problem.theta[2]", 0.5)
    >>> data["problem"]
    {'theta': [0.6, 0.5]}
    """
    _check_sweepable(field)
    names = [table["name"] for table in data["policy"]]
    part, name, *steps = _path(field, names)
    table = data[part] if name is None else data[part][names.index(name)]
    for step in steps[:-1]:
        table = _inside(table, step, field)
    _inside(table, steps[-1], field, setting=True)
    table[steps[-1]] = value


def _path(field: str, names: Sequence[str]) -> tuple[Decoded, ...]:
    """Return the table, the policy or None, and the steps that lead to a field: fields with one path are one field."""
    name = policy_of(field, names)
    table, _, rest = field.partition(".")
    return table, name, *_steps(field, rest if name is None else field.removeprefix(f"policy.{name}."))


def _check_apart(fields: Sequence[str], names: Sequence[str]) -> None:
    """Raise if two fields are one, or one lies inside another: the values of one would be played, and those of both shown."""
    known: dict[tuple[Decoded, ...], str] = {}
    for field in fields:
        _check_sweepable(field)
        path = _path(field, names)
        if path in known:
            remedy = f"{known[path]} is the same field; leave one of them out"
            raise InvalidInput(f"sweep.{field}", "must be swept once", field, remedy)
        known[path] = field
    for path, field in known.items():
        outer = next((known[path[:depth]] for depth in range(3, len(path)) if path[:depth] in known), None)
        if outer is not None:
            remedy = f"{outer} has it and is swept too; give the whole part in every value, or sweep its fields only"
            raise InvalidInput(f"sweep.{field}", "must not lie inside another swept field", field, remedy)


def _check_sweepable(field: str) -> None:
    where = f"sweep.{field}"
    if field.partition(".")[0] not in _TABLES:
        remedy = "a field begins with problem., run. or policy.NAME."
        raise InvalidInput(where, "must be a field of the configuration", field, remedy)
    if field == "run.trials":
        remedy = "every point has as many trials; write it in [run]"
        raise InvalidInput(where, "must not be swept", field, remedy)
    if "/" in field or not field.isprintable():
        remedy = "it becomes the name of an axis and of a file; rename the policy"
        raise InvalidInput(where, "must not contain / or control characters", field, remedy)
    if field.startswith("policy.") and field.endswith((".name", ".kind")):
        remedy = "write a policy of its own for each, [[policy]]"
        raise InvalidInput(where, "must not be swept", field, remedy)


def _steps(field: str, rest: str) -> list[str | int]:
    """Return the keys and the places in lists, counted from 0, that lead to a field."""
    steps: list[str | int] = []
    for part in rest.split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            remedy = "for example problem.link.offset, or problem.theta[1]"
            raise InvalidInput(f"sweep.{field}", "must be a field of the configuration", field, remedy)
        steps += [found[1], *(int(place) - 1 for place in re.findall(r"\d+", found[2]))]
    return steps


def _inside(part: Decoded, step: str | int, field: str, setting: bool = False) -> Decoded:
    if isinstance(step, int):
        if not isinstance(part, list) or not 0 <= step < len(part):
            length = f"a list of {len(part)}" if isinstance(part, list) else "no list"
            remedy = f"it is {length}; entries are counted from 1"
            raise InvalidInput(f"sweep.{field}", "must be an entry of a list", step + 1, remedy)
        return part[step]
    if not isinstance(part, dict) or (not setting and step not in part):
        keys = list(part) if isinstance(part, dict) else []
        remedy = nearest(step, keys) or (
            f"the keys here are {', '.join(keys)}" if keys else "it has no parts"
        )
        raise InvalidInput(f"sweep.{field}", "must be a field of the configuration", step, remedy)
    return part.get(step)
