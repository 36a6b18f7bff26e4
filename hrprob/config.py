"""From a configuration file to an experiment, and back to plain data.

A file has one table ``[problem]``, an optional table ``[run]`` and at least one
``[[policy]]``::

    [problem]
    theta = [0.6, 0.5, 0.5, 0.3]
    phi = [0.5, 0.2, 0.8, 0.9]
    contexts = { kind = "sphere", actions = 20 }

    [run]
    users = 30000

    [[policy]]
    kind = "hr-ucb"
    name = "HR-UCB (K=5)"
    growth = 5

A part of the problem is a table with its ``kind`` and that kind's own fields, or the
kind alone (``noise = "normal"``). Whatever cannot be used raises
:class:`~hrprob.errors.InvalidInput` with the field as it stands in the file:
``problem.contexts.actions``, ``policy "HR-UCB (K=5)".growth``; a policy whose name is
what is wrong goes by its place, ``policy[2].name``.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hrprob import noise
from hrprob.errors import InvalidInput, check_choice, check_number
from hrprob.policies import registry
from hrprob.policies.base import Policy
from hrprob.problem import (
    Affine,
    Ball,
    Bounds,
    ContextFunction,
    ContextSequence,
    Drifting,
    EmpiricalLevels,
    Finite,
    Fixed,
    Hidden,
    Infinite,
    LevelFunction,
    LevelSequence,
    Lifetime,
    MeanVariance,
    NormalLevels,
    Problem,
    Redrawn,
    Reward,
    Sphere,
    Threshold,
    Uniform,
    Withholding,
)
from hrprob.record import describe
from hrprob.source import LARGEST_SEED, check_run

__all__ = ["Experiment", "from_data", "read", "resolved"]

T = TypeVar("T")

KINDS: dict[str, dict[str, type[Any]]] = {
    "link": {"affine": Affine},
    "noise": noise.KINDS,
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

# Fields that hold numbers, or the path of a file with them.
_TABLES = {Finite: "sets", ContextSequence: "users", EmpiricalLevels: "levels", LevelSequence: "levels"}


class _Nothing:
    """What was got where a required field is missing."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A problem, the policies that play it, and how often.

    Parameters
    ----------
    problem : Problem
        What is played.
    policies : dict of str to Policy
        Who plays, by name.
    users, trials, seed : int
        T, the number of independent trials, and the seed of everything random.

    Examples
    --------
    >>> import hrprob
    >>> experiment = Experiment(hrprob.Problem(), {"greedy": hrprob.Greedy()}, users=100)
    >>> experiment.replace(trials=5).trials
    5
    """

    problem: Problem
    policies: dict[str, Policy]
    users: int = 30000
    trials: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_run(self.users, self.trials, self.seed)

    def replace(self, **changes: Any) -> Experiment:
        """Return the same experiment with some fields changed, checked anew."""
        return dataclasses.replace(self, **changes)


def read(path: str | Path) -> Experiment:
    """Return the experiment that a TOML file describes.

    Parameters
    ----------
    path : str or Path
        The file. Paths inside it are relative to the folder it stands in.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or anything in it cannot be used.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "small.toml")
    >>> _ = file.write_text('''
    ... [problem]
    ... theta = [0.6, 0.3]
    ... phi = [0.5, 0.9]
    ... [[policy]]
    ... kind = "greedy"
    ... ''')
    >>> experiment = read(file)
    >>> list(experiment.policies), experiment.users
    (['greedy'], 30000)
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        must = "must be a file that can be read" if isinstance(error, OSError) else "must be a TOML file"
        raise InvalidInput("FILE", must, str(path), _reason(error)) from None
    return from_data(data, path.parent)


def from_data(data: Mapping[str, Any], folder: str | Path = ".") -> Experiment:
    """Return the experiment that plain data describe, laid out as in a configuration file.

    Parameters
    ----------
    data : mapping
        Tables as dictionaries. A field that is None counts as not given.
    folder : str or Path
        Where relative paths begin.

    Examples
    --------
    >>> data = {"problem": {"theta": [0.6], "phi": [0.5]}, "policy": [{"kind": "greedy", "rigde": 2}]}
    >>> from_data(data)
    Traceback (most recent call last):
    ...
    hrprob.errors.InvalidInput: `policy "greedy".rigde` must be a known key, got 2: did you mean `ridge`?
    """
    _check_keys("", data, ("problem", "run", "policy"))
    problem = _problem(_table("problem", data, "add a table [problem] with theta and phi"), Path(folder))
    policies = _policies(data.get("policy"))
    run = _table("run", {"run": {}} | dict(data), "write it as [run]")
    _check_keys("run", run, ("users", "trials", "seed"))
    _check_scalars("run", run)
    return _within("run", lambda: Experiment(problem, policies, **_given(run)))


def resolved(experiment: Experiment) -> dict[str, Any]:
    """Return an experiment as plain data, every default filled in.

    What is returned can be written as JSON, and :func:`from_data` makes the same experiment of it.

    Examples
    --------
    >>> import hrprob
    >>> data = resolved(Experiment(hrprob.Problem(), {"a": hrprob.LinUCB()}))
    >>> data["policy"][0]["kind"], data["policy"][0]["alpha"], data["problem"]["link"]
    ('linucb', 1.0, {'kind': 'affine', 'slope': 1.0, 'offset': 2.0})
    """
    problem = describe(experiment.problem)
    for part, kinds in KINDS.items():
        cls = type(getattr(experiment.problem, part))
        # A kind that somebody made without adding it here goes by its class.
        kind = next((name for name, known in kinds.items() if known is cls), cls.__qualname__)
        problem[part] = {"kind": kind} | problem[part]
    return {
        "problem": problem,
        "run": {"users": experiment.users, "trials": experiment.trials, "seed": experiment.seed},
        "policy": [
            {"kind": policy.kind, "name": name} | describe(policy)
            for name, policy in experiment.policies.items()
        ],
    }


def _problem(table: Mapping[str, Any], folder: Path) -> Problem:
    _check_keys("problem", table, ("theta", "phi", *KINDS, "bounds"))
    _check_scalars("problem", table)
    fields = _given(table)
    for name in ("theta", "phi"):
        if name not in fields:
            raise InvalidInput(f"problem.{name}", "must be given", _NOTHING, f"add {name} = [...]: the truth")
        _check_numbers(f"problem.{name}", fields[name])
    for part in KINDS:
        if part in fields:
            fields[part] = _part(f"problem.{part}", part, fields[part], folder)
    if "bounds" in fields:
        bounds = _table("problem.bounds", {"bounds": fields["bounds"]}, "write { theta = 1.0, phi = 2.0 }")
        _check_keys("problem.bounds", bounds, _names_of(Bounds))
        fields["bounds"] = _within("problem.bounds", lambda: Bounds(**_given(bounds)))
    return _within("problem", lambda: Problem(**fields))


def _part(field: str, part: str, written: Any, folder: Path) -> Any:
    """Return the link, the noise, ... that was written: a table with a kind, or a kind alone."""
    kinds = KINDS[part]
    name = field.rpartition(".")[2]
    example = f'write {name} = {{ kind = "{next(iter(kinds))}", ... }}'
    table = {"kind": written} if isinstance(written, str) else _table(field, {name: written}, example)
    kind = _kind(field, table, kinds, example)
    _check_keys(field, table, ("kind", *_names_of(kinds[kind])))
    fields = {name: value for name, value in _given(table).items() if name != "kind"}
    for required in _required_of(kinds[kind]):
        if required not in fields:
            raise InvalidInput(f"{field}.{required}", "must be given", _NOTHING, f"{kind!r} needs it")
    numbers = _TABLES.get(kinds[kind])
    if numbers is not None and numbers in fields:
        fields[numbers] = _numbers(f"{field}.{numbers}", fields[numbers], folder)
    if kinds[kind] in (Hidden, Redrawn) and "of" in fields:
        fields["of"] = _part(f"{field}.of", part, fields["of"], folder)
    return _within(field, lambda: kinds[kind](**fields))


def _numbers(field: str, written: Any, folder: Path) -> Any:
    """Return numbers as they were written, or the path of the file that has them."""
    if isinstance(written, str):
        if not written.isprintable():
            remedy = "it has a character no path needs"
            raise InvalidInput(field, "must be the path of a file", written, remedy)
        return folder / written
    _check_numbers(field, written)
    return written


def _policies(tables: Any) -> dict[str, Policy]:
    if tables is None or tables == []:
        raise InvalidInput("policy", "must name at least one policy", _NOTHING, "add a table [[policy]]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput("policy", "must be an array of tables", tables, "write [[policy]], not [policy]")
    parameters = {entry["kind"]: entry["parameters"] for entry in registry.describe()}
    policies: dict[str, Policy] = {}
    for place, table in enumerate(tables, start=1):
        kind = _kind(f"policy[{place}]", table, parameters, "`hrprob policies` describes them")
        name = _name(place, kind, table, policies)
        policies[name] = _policy(f'policy "{name}"', kind, table, parameters[kind])
    return policies


def _name(place: int, kind: str, table: Mapping[str, Any], taken: Iterable[str]) -> str:
    name = kind if table.get("name") is None else table["name"]
    field = f"policy[{place}].name"
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidInput(field, "must be printable text", name, "results and plots go by it")
    if name in taken:
        other = list(taken).index(name) + 1
        raise InvalidInput(
            field, "must be its own", name, f"policy[{other}] has it too; give one a `name` of its own"
        )
    return name


def _policy(field: str, kind: str, table: Mapping[str, Any], parameters: Mapping[str, Any]) -> Policy:
    _check_keys(field, table, ("kind", "name", *parameters))
    _check_scalars(field, table)
    given = {name: value for name, value in _given(table).items() if name not in ("kind", "name")}
    for name, default in parameters.items():
        if default is dataclasses.MISSING and name not in given:
            raise InvalidInput(
                f"{field}.{name}", "must be given", _NOTHING, f"{kind!r} has no default for it"
            )
    return _within(field, lambda: registry.make(kind, given))


def _kind(field: str, table: Mapping[str, Any], kinds: Iterable[str], remedy: str) -> str:
    names = list(kinds)
    kind = _NOTHING if table.get("kind") is None else table["kind"]
    return check_choice(f"{field}.kind", kind, names, remedy=_nearest(kind, names) or remedy)


def _names_of(cls: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(cls) if field.init]


def _required_of(cls: type[Any]) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(cls)
        if field.init
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]


def _given(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


def _within(parent: str, make: Callable[[], T]) -> T:
    """Return what ``make`` makes; a complaint of it names its field inside ``parent``."""
    try:
        return make()
    except InvalidInput as error:
        raise error.within(parent) from None


def _table(field: str, tables: Mapping[str, Any], remedy: str) -> Mapping[str, Any]:
    """Return the table that ``tables`` has under the last part of ``field``."""
    table = tables.get(field.rpartition(".")[2])
    if table is None:
        raise InvalidInput(field, "must be given", _NOTHING, remedy)
    if not isinstance(table, Mapping):
        raise InvalidInput(field, "must be a table", table, remedy)
    return table


def _check_keys(field: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for key, value in table.items():
        if key not in names:
            remedy = _nearest(key, names) or f"the keys here are {', '.join(names)}"
            raise InvalidInput(_inside(field, key), "must be a known key", value, remedy)


def _nearest(name: object, names: list[str]) -> str:
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"did you mean `{near[0]}`?" if near else ""


def _inside(field: str, key: str) -> str:
    return f"{field}.{key}" if field else key


def _check_scalars(field: str, value: Any) -> None:
    """Refuse numbers that no field can take, wherever in ``value`` they stand."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            _check_scalars(_inside(field, key), entry)
    elif isinstance(value, list):
        for place, entry in enumerate(value, start=1):
            _check_scalars(f"{field}[{place}]", entry)
    elif isinstance(value, int) and abs(value) > LARGEST_SEED:
        raise InvalidInput(field, "must be a number of at most 63 bits", value, "TOML has no larger ones")
    elif isinstance(value, float):
        check_number(field, value, remedy="no field takes NaN or infinity")


def _check_numbers(field: str, value: Any) -> None:
    """Refuse entries that NumPy would turn into numbers: truth values and text."""
    if isinstance(value, list):
        for place, entry in enumerate(value, start=1):
            _check_numbers(f"{field}[{place}]", entry)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, "must be a number", value, "write numbers without quotes")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
