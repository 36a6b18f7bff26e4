"""Making the calls of a log again, and comparing every answer with the one that was given."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from hrprob._core.errors import InvalidInput
from hrprob._core.types import Decoded
from hrprob.live.decision_log import FORMAT, VERSION, plain, read_log, well_formed
from hrprob.live.serving import Serving
from hrprob.live.settings import AgentSettings

__all__ = ["make_calls", "settings_of", "start_of"]

# Which field of an event has the answer.
_ANSWERS = {"select": "decision", "update": "decisions", "expire": "users"}


def start_of(agent: dict[str, object], events: int) -> dict[str, object]:
    """Return the first line of a log."""
    versions = {name: importlib.metadata.version(name) for name in ("hrprob", "jax")}
    return {"event": "start", "log": FORMAT, "version": VERSION, **versions, "agent": agent, "events": events}


def settings_of(path: str | Path, start: dict[str, Decoded] | None) -> AgentSettings:
    """Return the settings that a whole log begins with."""
    if start is None:
        raise InvalidInput("log", "must have a first line", str(path), "an agent writes it when it is made")
    with well_formed("log", path):
        if start["events"]:
            remedy = "it goes on from a saved agent; give both to `Agent.load`"
            raise InvalidInput("log", "must begin with an agent's first call", str(path), remedy)
        return AgentSettings.from_described(start["agent"])


def make_calls(agent: Serving, path: Path, repeat: Callable[[dict[str, Decoded]], object]) -> None:
    """Make the calls of a log that an agent has not made yet; ``repeat`` makes one and returns its answer."""
    with well_formed("log", path):
        events = read_log(path)
        start = next(events)
        if start["agent"] != plain(agent.settings.described()):
            remedy = "its settings differ; every agent has a log of its own"
            raise InvalidInput("log", "must be that of this agent", str(path), remedy)
        known = agent.events - start["events"]
        if known < 0 or len(list(islice(events, known))) < known:
            remedy = f"the agent has made {agent.events} calls, and the log does not have all of them"
            raise InvalidInput("log", "must have all calls since the agent was saved", str(path), remedy)
        for event in events:
            answer, given = plain(repeat(event)), event.get(_ANSWERS.get(event["event"], ""))
            if answer != given:
                must = f"must repeat to the same answers, as call {agent.events} does not"
                versions = f"hrprob {start['hrprob']} and jax {start['jax']}"
                raise InvalidInput(
                    "log", must, str(path), f"it was written with {versions}, or changed since"
                )
