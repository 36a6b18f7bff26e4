"""Policies for a problem, made once however many ask for them.

What a policy computes for its problem (cells by k-means, constants of confidence sets) may take seconds. A job whose
programs are compiled ahead needs it twice: to compile, and to play.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import NamedTuple, TypeVar, cast

import jax

from hrprob._core.errors import InvalidInput
from hrprob.policies.base import Policy
from hrprob.problem import Problem

__all__ = ["bind"]

P = TypeVar("P", bound=Policy)

# Entries that are remembered: more than the policies of any part of a job.
_MOST = 64


class _Entry(NamedTuple):
    """A bound policy, or one that some thread is binding; policy and problem are held, so that their ids stay theirs."""

    policy: Policy
    problem: Problem
    bound: Future[Policy]


_entries: OrderedDict[tuple[int, int, int, bool], _Entry] = OrderedDict()
_lock = threading.Lock()


def bind(name: str, policy: P, problem: Problem, users: int) -> P:
    """Return the policy for this problem; what it complains about names the policy.

    The same policy and problem (the same objects, which never change) give the same result, computed once.
    """
    key = id(policy), id(problem), users, bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]
    with _lock:
        known = _entries.get(key)
        entry = known or _entries.setdefault(key, _Entry(policy, problem, Future()))
        _entries.move_to_end(key)
        while len(_entries) > _MOST:
            _entries.popitem(last=False)
    if known is None:
        try:
            entry.bound.set_result(policy.bind(problem, users))
        except BaseException as error:
            with _lock:
                _entries.pop(key, None)
            entry.bound.set_exception(error)
    try:
        return cast(P, entry.bound.result())
    except InvalidInput as error:
        raise error.within(f'policy "{name}"') from None
