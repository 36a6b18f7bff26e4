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

A part of the problem is a table with its ``kind`` and the fields of that kind, or the
kind alone (``noise = "normal"``). A value that cannot be used raises
:class:`~hrprob._core.errors.InvalidInput`, which names the field as it stands in the file:
``problem.contexts.actions``, ``policy "HR-UCB (K=5)".growth``; if the name of a policy
itself is wrong, the field has its number, ``policy[2].name``.
"""

from __future__ import annotations

import dataclasses
import errno
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.files import read_bytes
from hrprob._core.random_numbers import LARGEST_SEED, check_run
from hrprob._core.records import describe
from hrprob._core.tables import (
    NOTHING,
    check_keys,
    check_numbers,
    given,
    inside,
    names_of,
    table_of,
    within,
)
from hrprob._core.types import AsWritten, Decoded
from hrprob.policies.base import POLICIES, Policy
from hrprob.problem import Bounds, Problem
from hrprob.problem.parts import PARTS

__all__ = ["Experiment", "from_data", "read", "read_data", "resolved"]


MOST_BYTES = 10_000_000
"""Largest configuration that is read."""

MOST_DEPTH = 32
"""Most tables and lists within each other."""

# Dots of a key that are read, to be refused by MOST_DEPTH.
_MOST_DOTS = 300
# A text in quotes, to the end of the line if it does not end before; and what no key without quotes has.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"?|\'[^\']*+\'?|#.*')
_BETWEEN_KEYS = re.compile(r"[,=\[\]{}]")


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A problem, the policies that play it, and the size of the run.

    Parameters
    ----------
    problem : Problem
        The problem.
    policies : dict of str to Policy
        The policies by name.
    users, trials, seed : int
        T, the number of independent trials, and the seed of all random numbers.

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

    def replace(self, **changes: AsWritten) -> Experiment:
        """Return a copy with some fields changed; the new values are checked."""
        return dataclasses.replace(self, **changes)


def read(path: str | Path) -> Experiment:
    """Return the experiment that a TOML file describes.

    Parameters
    ----------
    path : str or Path
        The file. Paths inside it are relative to its folder.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or a value in it cannot be used.

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
    return from_data(read_data(path), Path(path).parent)


def read_data(path: str | Path) -> dict[str, Decoded]:
    """Return the tables of a TOML file as dictionaries, or raise if it cannot be read."""
    path = Path(path)
    try:
        # Some editors begin a file with a byte-order mark.
        text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        _check_keys(text)
        # As Python reads text: TOML knows no carriage return alone.
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    except InvalidInput:
        raise
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            must, size = f"must have at most {MOST_BYTES} bytes", path.stat().st_size or "more"
            remedy = "numbers in such a number belong into a CSV file that the configuration names"
            raise InvalidInput("FILE", must, size, remedy) from None
        must = "must be a file that can be read" if isinstance(error, OSError) else "must be a TOML file"
        raise InvalidInput("FILE", must, str(path), _reason(error)) from None


def from_data(data: Mapping[str, Decoded], folder: str | Path = ".") -> Experiment:
    """Return the experiment that plain data describe, with the structure of a configuration file.

    Parameters
    ----------
    data : mapping
        Tables as dictionaries. A field that is None counts as not given.
    folder : str or Path
        The folder that relative paths start from.

    Examples
    --------
    >>> data = {"problem": {"theta": [0.6], "phi": [0.5]}, "policy": [{"kind": "greedy", "rigde": 2}]}
    >>> from_data(data)
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `policy "greedy".rigde` must be a known key, got 2: did you mean `ridge`?
    """
    _check_depth(data)
    if "sweep" in data:
        remedy = "`hrprob sweep` plays a configuration at many points; leave the table out to play it once"
        raise InvalidInput("sweep", "must not be there", data["sweep"], remedy)
    check_keys("", data, ("problem", "run", "policy"))
    problem = _problem(table_of("problem", data, "add a table [problem] with theta and phi"), Path(folder))
    policies = _policies(data.get("policy"), Path(folder))
    run = table_of("run", {"run": {}} | dict(data), "write it as [run]")
    check_keys("run", run, ("users", "trials", "seed"))
    _check_scalars("run", run)
    return within("run", lambda: Experiment(problem, policies, **given(run)))


def resolved(experiment: Experiment) -> dict[str, Decoded]:
    """Return an experiment as plain data, with every default filled in.

    The data can be written as JSON, and :func:`from_data` makes the same experiment from them.

    Examples
    --------
    >>> import hrprob
    >>> data = resolved(Experiment(hrprob.Problem(), {"a": hrprob.LinUCB()}))
    >>> data["policy"][0]["kind"], data["policy"][0]["alpha"], data["problem"]["link"]
    ('linucb', 1.0, {'kind': 'affine', 'slope': 1.0, 'offset': 2.0})
    """
    problem = describe(experiment.problem)
    for part in PARTS:
        made = getattr(experiment.problem, part)
        if made is None:
            continue
        # A part whose class is not registered is named by the class.
        problem[part] = {"kind": getattr(made, "kind", type(made).__qualname__)} | problem[part]
    return {
        "problem": problem,
        "run": {"users": experiment.users, "trials": experiment.trials, "seed": experiment.seed},
        "policy": [
            {"kind": policy.kind, "name": name} | describe(policy)
            for name, policy in experiment.policies.items()
        ],
    }


def _problem(table: Mapping[str, Decoded], folder: Path) -> Problem:
    check_keys("problem", table, ("theta", "phi", *PARTS, "bounds"))
    _check_scalars("problem", table)
    fields = given(table)
    for name in ("theta", "phi"):
        if name not in fields:
            raise InvalidInput(f"problem.{name}", "must be given", NOTHING, f"add {name} = [...]: the truth")
        check_numbers(f"problem.{name}", fields[name])
    for part, registry in PARTS.items():
        if part in fields:
            fields[part] = registry.make(fields[part], field=f"problem.{part}", folder=folder)
    if "bounds" in fields:
        bounds = table_of("problem.bounds", {"bounds": fields["bounds"]}, "write { theta = 1.0, phi = 2.0 }")
        check_keys("problem.bounds", bounds, names_of(Bounds))
        fields["bounds"] = within("problem.bounds", lambda: Bounds(**given(bounds)))
    return within("problem", lambda: Problem(**fields))


def _policies(tables: Decoded, folder: Path) -> dict[str, Policy]:
    if tables is None or tables == []:
        raise InvalidInput("policy", "must name at least one policy", NOTHING, "add a table [[policy]]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput("policy", "must be an array of tables", tables, "write [[policy]], not [policy]")
    policies: dict[str, Policy] = {}
    for number, table in enumerate(tables, start=1):
        kind = POLICIES.get(table.get("kind"), f"policy[{number}].kind").kind
        name = _name(number, kind, table, policies)
        field = f'policy "{name}"'
        _check_scalars(field, table)
        parameters = {key: value for key, value in table.items() if key != "name"}
        policies[name] = POLICIES.make(parameters, field=field, folder=folder)
    return policies


def _name(number: int, kind: str, table: Mapping[str, Decoded], earlier: Iterable[str]) -> str:
    name = kind if table.get("name") is None else table["name"]
    field = f"policy[{number}].name"
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidInput(field, "must be printable text", name, "it names the policy in results and plots")
    if name in earlier:
        other = list(earlier).index(name) + 1
        raise InvalidInput(
            field, "must be unique", name, f"policy[{other}] has it too; give one a `name` of its own"
        )
    return name


def _check_keys(text: str) -> None:
    """Raise if a key has more dots than any field needs: the time to read one grows with their square."""
    for number, line in enumerate(text.split("\n"), start=1):
        # Lists of numbers have more dots than keys, but commas between them.
        if line.count(".") > _MOST_DOTS:
            parts = _BETWEEN_KEYS.split(_QUOTED.sub("q", line))
            if max(part.count(".") for part in parts) > _MOST_DOTS:
                remedy = (
                    f"line {number} has a key of more than {_MOST_DOTS} parts, and no field needs so many"
                )
                raise InvalidInput("FILE", "must not be nested so deeply", f"line {number}", remedy)


def _check_depth(data: Decoded) -> None:
    """Raise if tables and lists are nested deeper than any field needs; without recursion, which has a limit itself."""
    level = [data]
    for _ in range(MOST_DEPTH):
        parts = [part.values() if isinstance(part, Mapping) else part for part in level]
        level = [entry for part in parts for entry in part if isinstance(entry, Mapping | list)]
        if not level:
            return
    remedy = f"no field needs more than {MOST_DEPTH} levels"
    raise InvalidInput("FILE", "must not be nested so deeply", f"more than {MOST_DEPTH} levels", remedy)


def _check_scalars(field: str, value: object) -> None:
    """Raise if ``value`` contains, at any depth, a number that no field can take."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            _check_scalars(inside(field, key), entry)
    elif isinstance(value, list):
        for number, entry in enumerate(value, start=1):
            _check_scalars(f"{field}[{number}]", entry)
    elif isinstance(value, int) and abs(value) > LARGEST_SEED:
        raise InvalidInput(field, "must be a number of at most 63 bits", value, "TOML has no larger ones")
    elif isinstance(value, float):
        check_number(field, value, remedy="no field takes NaN or infinity")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
