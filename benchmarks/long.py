"""Runs of up to a million users in processes of their own: seconds beyond start-up, and peak memory."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.measure import in_process

__all__ = ["run"]

_USERS = (100_000, 1_000_000)
_POLICIES = {"HR-UCB": "HRUCB()", "Thompson, `laplace`": 'Thompson(engine="laplace")'}
# More than LONG_RUN of hrprob.policies.bayes: shorter runs of `laplace` have another program.
_FEW = 40_000
# Enough for start-up to be a small part of what is measured.
_TRIALS, _REPEATS = 20, 2


def run() -> dict[str, Any]:
    """Measure, and return what the table needs."""
    return {"trials": _TRIALS, "policies": {name: _long(policy) for name, policy in _POLICIES.items()}}


def _long(policy: str) -> dict[str, Any]:
    """Return, for two numbers of users, CPU seconds beyond start-up and the peak memory of processes that keep what a run keeps."""
    costs = {users: _least(policy, users) for users in (_FEW, *_USERS)}
    longest = _USERS[-1]
    # A few users take time too: as much as any others, it is assumed. Early users of `laplace` take more, so that a little is
    # counted as start-up that is not.
    each = (costs[longest][0] - costs[_FEW][0]) / (longest - _FEW)
    start_up = costs[_FEW][0] - each * _FEW
    return {
        str(users): {"cpu": costs[users][0] - start_up, "memory": costs[users][1], "start-up": start_up}
        for users in _USERS
    }


def _least(policy: str, users: int) -> tuple[float, float]:
    """Return the least CPU seconds and the largest peak memory of a few processes whose programs are in the cache."""
    # The first of them fills it.
    found = [in_process(_long_code(policy, users)) for _ in range(1 + _REPEATS)][1:]
    least, peak = min(cost.cpu for _, cost in found), max(float(printed) for printed, _ in found)
    print(f"{policy}, {users} users: {least:.3g} CPU s, {peak:.0f} MB", file=sys.stderr, flush=True)
    return least, peak


def _long_code(policy: str, users: int) -> str:
    return (
        "from benchmarks.measure import own_peak, prepare; prepare(); import hrprob;"
        f"hrprob.simulate(hrprob.Problem(), hrprob.{policy}, users={users}, trials={_TRIALS});"
        "print(own_peak())"
    )
