"""A configuration to start from, with comments, made of the registries: it is always one that can be played."""

from __future__ import annotations

import textwrap
from pathlib import Path

from hrprob._core.descriptions import Description, describe_class
from hrprob._core.docstrings import parameters_of, plain_text
from hrprob._core.errors import InvalidInput
from hrprob._core.files import whole_file
from hrprob._core.records import describe
from hrprob._core.tables import to_toml
from hrprob.policies.base import POLICIES
from hrprob.problem import Problem
from hrprob.problem.parts import PARTS

__all__ = ["template", "write_template"]

_WIDTH = 110
# Who plays: one of each sort, and greedy, without which no comparison is fair.
_POLICIES = {"hr-ucb": "HR-UCB", "thompson": "Thompson", "greedy": "Greedy", "linucb": "LinUCB"}
_SIZES = {
    "users": (2000, "T, the number of users who arrive"),
    "trials": (20, "independent repetitions: the more, the narrower the intervals"),
    "seed": (0, "of all random numbers: the same seed gives the same users"),
}
_START = """\
# A configuration of hrprob, to be changed: lines that begin with # are comments, and those that would set a
# parameter show its default.
#
#     hrprob run {name}          plays it
#     hrprob describe            lists what may stand here
"""


def template(name: str = "experiment.toml") -> str:
    """Return the text of a configuration with every key explained.

    Parameters
    ----------
    name : str
        The name of the file, for the comment at its top.

    Examples
    --------
    >>> template().partition("[run]")[2].splitlines()[1]
    'users = 2000  # T, the number of users who arrive'
    """
    explained: set[str] = set()
    blocks = [_START.format(name=name), "[problem]\n" + "\n".join(_problem()), "[run]\n" + "\n".join(_run())]
    blocks += [
        "[[policy]]\n" + "\n".join(_policy(kind, given, explained)) for kind, given in _POLICIES.items()
    ]
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"


def write_template(path: str | Path) -> None:
    """Write :func:`template` to a file that does not exist yet."""
    place = Path(path)
    try:
        if place.exists() or place.is_symlink():
            remedy = "it exists; name another, or remove it"
            raise InvalidInput("path", "must be a new file", str(path), remedy)
        with whole_file(place) as temporary:
            # No control character may stand in a comment.
            name = place.name if place.name.isprintable() else "FILE"
            temporary.write_text(template(name), encoding="utf-8")
    except OSError as error:
        remedy = error.strerror or str(error)
        raise InvalidInput("path", "must be a file that can be written", str(path), remedy) from None


def _problem() -> list[str]:
    default, meanings = describe(Problem()), parameters_of(Problem)
    lines: list[str] = []
    for field, value in default.items():
        meaning = _math(meanings[field].meaning)
        registry = PARTS.get(field)
        if registry is not None:
            others = [kind for kind in registry if value is None or kind != value["kind"]]
            more = f" Also: {', '.join(others)} (hrprob describe {registry.family})." if others else ""
            meaning += more
        comment = _comment(meaning)
        lines += [] if lines and comment[0] in lines else comment
        lines.append(f"# {field} = ..." if value is None else f"{field} = {to_toml(value)}")
    return lines


def _run() -> list[str]:
    return [f"{field} = {value}  # {meaning}" for field, (value, meaning) in _SIZES.items()]


def _policy(kind: str, name: str, explained: set[str]) -> list[str]:
    """Return the lines of a policy; what was ``explained`` before is not explained again."""
    described: Description = describe_class(POLICIES.family, kind, POLICIES.get(kind))
    lines = _comment(described.description)
    lines += [f'kind = "{kind}"', f'name = "{name}"']
    for parameter in described.parameters:
        comment = _comment(f"{parameter.type}: {_math(parameter.meaning)}", "#   ")
        lines += [line for line in comment if "\n".join(comment) not in explained]
        explained.add("\n".join(comment))
        value = "..." if parameter.default is None else to_toml(parameter.default)
        lines.append(f"# {parameter.name} = {value}")
    return lines


def _comment(text: str, indent: str = "# ") -> list[str]:
    return textwrap.wrap(plain_text(text), _WIDTH, initial_indent=indent, subsequent_indent=indent)


def _math(text: str) -> str:
    return text.replace(r"\theta", "θ").replace(r"\phi", "φ")
