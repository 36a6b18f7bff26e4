"""Random traffic for an agent: users come, outcomes come late and mixed up, some never.

Run as a program, it loads an agent, goes on with traffic and prints every answer; with ``serve`` it makes an agent that logs
and saves until it is killed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import hrprob

ACTIONS, DIMENSION = 4, 3
SETS = np.random.default_rng(0).uniform(-0.5, 0.5, size=(1, ACTIONS, DIMENSION))


def make_agent(policy: Any, **options: Any) -> hrprob.Agent:
    """Return an agent for the traffic."""
    given = {"users": 4000, "timeout": 50.0} | options
    return hrprob.Agent(policy, dimension=DIMENSION, actions=ACTIONS, **given)


def go_on(agent: hrprob.Agent, seed: int, decisions: int, most: int = 12) -> list[Any]:
    """Serve random traffic until this many decisions were made; return every answer as plain data.

    Of ``most`` users who may be present each is as likely to be heard of next. The traffic depends on the seed and on who is
    present, so two agents in the same state meet the same.
    """
    rng, answers = np.random.default_rng(seed), []
    fixed, same_level = agent.policy.kind in ("kl-ulcb",), 0.2
    now = 1000.0 * seed
    while len(answers) < decisions:
        now += float(rng.exponential())
        present = agent.present
        if (len(present) < most and rng.random() < 0.4) or not present:
            offered = sorted(rng.choice(ACTIONS, size=rng.integers(1, ACTIONS + 1), replace=False).tolist())
            contexts = SETS[0] if fixed else rng.uniform(-0.5, 0.5, size=(ACTIONS, DIMENSION))
            beta = same_level if fixed else float(rng.uniform(-1, 1))
            user = f"u{agent.users + 1}"
            decision = agent.select(user, contexts[offered], beta, actions=offered, time=now)
            answers.append(dataclasses.asdict(decision))
            continue
        users = [present[place] for place in rng.integers(len(present), size=rng.integers(1, 3))]
        rows = [(user, float(rng.normal())) for user in dict.fromkeys(users)]
        answers += [
            None if decision is None else dataclasses.asdict(decision)
            for decision in agent.update_many(rows, time=now)
        ]
        if rng.random() < 0.05:
            answers.append(list(agent.expire(now)))
    return answers


def serve_until_killed(folder: Path, seed: int) -> None:
    """Serve with a log, save now and then, and say of every answer how many calls the agent had made by then."""
    agent = make_agent(hrprob.EpsilonGreedy(), log=folder / "decisions.jsonl", seed=seed)
    for part in range(10**6):
        go_on(agent, seed + part, 3)
        os.write(1, f"made {agent.events}\n".encode())
        if part % 2:
            agent.save(folder / "agent.zip")
            os.write(1, f"saved {agent.events}\n".encode())


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve_until_killed(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        loaded = hrprob.Agent.load(sys.argv[1])
        print(json.dumps(go_on(loaded, int(sys.argv[2]), int(sys.argv[3]))))
