"""Runs of up to a million users in processes of their own: seconds beyond start-up, and peak memory."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.measure import in_process

__all__ = ["run"]

_USERS = (100_000, 1_000_000)
_POLICIES = {"HR-UCB": "HRUCB()", "Thompson, `laplace`": 'Thompson(engine="laplace")'}
_LONGEST_CHUNK = 4096


def run() -> dict[str, Any]:
    """Measure, and return what the table needs."""
    return {"policies": {name: _long(policy) for name, policy in _POLICIES.items()}}


def _long(policy: str) -> dict[str, Any]:
    """Return, for two numbers of users, CPU seconds beyond start-up and the peak memory of processes that keep what a run keeps."""
    costs = {}
    for users in (_USERS[0], _LONGEST_CHUNK, *_USERS):
        # The first of them fills the cache of programs.
        costs[users] = in_process(_long_code(policy, users))
        print(f"{policy}, {users} users: {costs[users][1].cpu:.3g} CPU s", file=sys.stderr, flush=True)
    start_up = costs[_LONGEST_CHUNK][1].cpu
    return {
        str(users): {"cpu": costs[users][1].cpu - start_up, "memory": float(costs[users][0])}
        for users in _USERS
    }


def _long_code(policy: str, users: int, trials: int = 4) -> str:
    return (
        "from benchmarks.measure import own_peak, prepare; prepare(); import hrprob;"
        f"hrprob.simulate(hrprob.Problem(), hrprob.{policy}, users={users}, trials={trials});"
        "print(own_peak())"
    )
