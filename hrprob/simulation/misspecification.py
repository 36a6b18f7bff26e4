"""What policies of a run assume about the problem that is not so, as data."""

from __future__ import annotations

import json
from collections.abc import Mapping

import jax
import numpy as np

from hrprob._core.records import describe
from hrprob._core.types import Decoded
from hrprob.policies.base import Policy
from hrprob.problem import Problem

__all__ = ["as_json", "misspecified"]


def misspecified(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, dict[str, Decoded]]:
    """Return the policies that assume a part of the problem to be other than it is, and what they assume.

    Examples
    --------
    >>> import hrprob
    >>> wrong = hrprob.Greedy(noise={"kind": "student-t", "df": 5.0})
    >>> misspecified(hrprob.Problem(), {"right": hrprob.Greedy(), "wrong": wrong})
    {'wrong': {'noise': {'kind': 'student-t', 'df': 5.0}}}
    """
    beliefs: dict[str, dict[str, Decoded]] = {}
    for name, policy in policies.items():
        for part, belief in policy.assumptions(problem).items():
            truth = getattr(problem, part)
            if belief is truth:
                continue
            # As JSON: distributions are equal only if they are the same object.
            believed, true = (json.loads(as_json(describe(value))) for value in (belief, truth))
            if believed != true:
                beliefs.setdefault(name, {})[part] = believed
    return beliefs


def as_json(value: object) -> str:
    """Return data as JSON: arrays as lists, values that it does not know by kind and numbers."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    leaves = jax.tree.leaves(value)
    if any(leaf is value for leaf in leaves):
        return str(value)
    return {"kind": type(value).__name__, "values": leaves}
