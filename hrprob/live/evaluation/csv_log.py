"""Logs from files: a CSV with one line per round, or an agent's log of decisions.

======================  ==============================================================================
column of the CSV       content
======================  ==============================================================================
``user``                a label of the user; the rounds of a stay stand in their order
``action``              the number of the action that was served, from 0
``propensity``          the probability with which it was chosen, given the rounds before; 1 where an action was kept
``r``                   the outcome
``beta``                the user's level; left out where levels are hidden
``left``                1 if the user left after the round, else 0; may be left out where ``beta`` is given
``x1.0``, ``x2.0``, …   the context of action 0; ``x1.1``, ``x2.1``, … that of action 1, and so on; empty where an action was
                        not offered. The lines of one stay have the same
======================  ==============================================================================

A stay whose last round did not make the user leave is censored there.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

import numpy as np

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.memory import check_memory
from hrprob._core.tables import NOTHING, read_number
from hrprob._core.types import Decoded
from hrprob.fitting.csv_files import read_file
from hrprob.live.decision_log import read_log, well_formed
from hrprob.live.evaluation.logged import LoggedStays

__all__ = ["as_log"]

_SHAPE, _SIZES = ("actions", "dimension"), "it is the size of the arrays of contexts"
_CONTEXT = re.compile(r"x([1-9][0-9]*)\.([0-9]+)")


class _Rounds:
    """Rounds as they are read, gathered by stay."""

    def __init__(self) -> None:
        self.stays: dict[Hashable, dict[str, Decoded]] = {}

    def open(self, stay: Hashable, contexts: np.ndarray, beta: float) -> None:
        self.stays[stay] = {"contexts": contexts, "beta": beta, "rounds": [], "left": False}

    def add(self, stay: Hashable, action: int, propensity: float, outcome: float, left: bool) -> None:
        self.stays[stay]["rounds"].append((action, propensity, outcome))
        self.stays[stay]["left"] = left

    def log(self) -> LoggedStays:
        # A user of whom no outcome is known says nothing, and counts as never served.
        stays = [stay for stay in self.stays.values() if stay["rounds"]]
        rounds = np.array([row for stay in stays for row in stay["rounds"]], float).reshape(-1, 3)
        return LoggedStays(
            contexts=np.array([stay["contexts"] for stay in stays]),
            beta=np.array([stay["beta"] for stay in stays], float),
            lengths=np.array([len(stay["rounds"]) for stay in stays], int),
            action=rounds[:, 0].astype(int),
            propensity=rounds[:, 1],
            outcome=rounds[:, 2],
            left=np.array([stay["left"] for stay in stays], bool),
        )


def as_log(log: object) -> LoggedStays:
    """Return a log from a :class:`LoggedStays`, or from the path of a CSV file or of an agent's log (.jsonl)."""
    if isinstance(log, LoggedStays):
        return log
    if not isinstance(log, str | Path):
        remedy = "the path of a CSV file or of an agent's log, or a LoggedStays"
        raise InvalidInput("log", "must be a log of rounds", type(log).__name__, remedy)
    path = Path(log)
    if path.suffix != ".jsonl":
        return _from_csv(path)
    with well_formed("log", path):
        return _from_decisions(path)


def _from_decisions(path: Path) -> LoggedStays:
    rounds, start, number, stays = _Rounds(), {}, 0, {}
    for event in read_log(path):
        if event["event"] == "start":
            start = {name: check_count(name, event["agent"][name], remedy=_SIZES) for name in _SHAPE}
        elif event["event"] == "select":
            number += 1
            # Each stay's, those of all stays, and their squares.
            size = 3 * 8 * number * start["actions"] * start["dimension"]
            check_memory("actions", start["actions"], size, "take a part of the log")
            contexts = np.full([start[name] for name in _SHAPE], math.nan)
            contexts[[_action(one, start) for one in event["actions"]]] = event["contexts"]
            beta = math.nan if event["beta"] is None else float(event["beta"])
            rounds.open(number, contexts, beta)
            stays[event["user"]] = (number, event["decision"])
        elif event["event"] == "update":
            for (user, outcome, _), following in zip(event["outcomes"], event["decisions"], strict=True):
                stay, decision = stays[user]
                action = _action(decision["action"], start)
                rounds.add(stay, action, decision["probability"], outcome, following is None)
                stays[user] = (stay, following)
    return rounds.log()


def _action(value: object, start: Mapping[str, int]) -> int:
    return check_count("action", value, low=0, high=start["actions"] - 1, remedy="actions are counted from 0")


def _from_csv(path: Path) -> LoggedStays:
    try:
        text = read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("log", "must be a CSV file", str(path), "it is no text in UTF-8") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    names = [name.strip() for name in reader.fieldnames or []]
    for name in ("user", "action", "propensity", "r"):
        if name not in names:
            remedy = (
                f"its columns are {', '.join(names) or 'none'}; see the documentation of `hrprob evaluate`"
            )
            raise InvalidInput("log", f"must have a column {name}", str(path), remedy)
    if "beta" not in names and "left" not in names:
        remedy = "add `beta`, or whether the user left after the round as `left`"
        raise InvalidInput("log", "must say who left", str(path), remedy)
    shape = _shape(names, path)
    rounds = _Rounds()
    try:
        for line in reader:
            cells = {
                str(name).strip(): (cell or "").strip() for name, cell in line.items() if name is not None
            }
            _add_line(rounds, cells, shape, f"line {reader.line_num} of {path}")
    except csv.Error as error:
        raise InvalidInput(
            "log", "must be a CSV file", str(path), f"line {reader.line_num}: {error}"
        ) from None
    return rounds.log()


def _shape(names: Iterable[str], path: Path) -> tuple[int, int]:
    found = [match for match in map(_CONTEXT.fullmatch, names) if match]
    features, actions = ({int(match[group]) for match in found} for group in (1, 2))
    if not found or len(found) != max(features) * (max(actions) + 1):
        remedy = "x1.0 is feature 1 of action 0; each action has a column for every feature"
        got = NOTHING if not found else f"{len(found)} columns"
        raise InvalidInput("log", "must have the contexts of all actions", got, f"{path}: {remedy}")
    return max(actions) + 1, max(features)


def _add_line(rounds: _Rounds, cells: dict[str, str], shape: tuple[int, int], where: str) -> None:
    stay, action = cells["user"], _number(cells, "action", where)
    if action != int(action) or not 0 <= action < shape[0]:
        raise InvalidInput("column action", f"must be from 0 to {shape[0] - 1}", cells["action"], where)
    if stay not in rounds.stays:
        contexts = [
            [_number(cells, f"x{j + 1}.{a}", where, empty=math.nan) for j in range(shape[1])]
            for a in range(shape[0])
        ]
        rounds.open(stay, np.array(contexts), _number(cells, "beta", where, empty=math.nan))
    outcome, beta = _number(cells, "r", where), rounds.stays[stay]["beta"]
    if rounds.stays[stay]["left"]:
        raise InvalidInput("column user", "must have no rounds after the user left", stay, where)
    left = _number(cells, "left", where) != 0 if cells.get("left") else outcome < beta
    if math.isnan(beta) and not cells.get("left"):
        raise InvalidInput("column left", "must be given where the level is not", "nothing", where)
    rounds.add(stay, int(action), _number(cells, "propensity", where), outcome, left)


def _number(cells: dict[str, str], name: str, where: str, empty: float | None = None) -> float:
    text = cells.get(name, "")
    if not text and empty is not None:
        return empty
    try:
        number = read_number(text)
    except ValueError:
        number = math.nan
    if math.isnan(number) or (math.isinf(number) and name != "beta"):
        raise InvalidInput(f"column {name}", "must be a number", text, where)
    return number
