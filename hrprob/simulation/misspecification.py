"""What policies of a run assume about the problem that is not so, as data and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import numpy as np

from hrprob._core.records import describe
from hrprob._core.types import Decoded
from hrprob.policies.base import Policy
from hrprob.problem import Problem

if TYPE_CHECKING:
    import xarray

__all__ = ["as_json", "beliefs_in_words", "misspecified", "short_beliefs"]


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


def beliefs_in_words(result: xarray.Dataset) -> dict[str, list[str]]:
    """Return, for every policy with wrong beliefs, what it assumes and what is so.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`~hrprob.simulation.engine.simulate`.

    Examples
    --------
    >>> import xarray
    >>> result = xarray.Dataset(attrs={
    ...     "misspecified": '{"b": {"noise": {"kind": "student-t"}}}', "problem": '{"noise": {"kind": "normal"}}'})
    >>> beliefs_in_words(result)
    {'b': ['assumes noise = student-t: the problem has normal']}
    """
    return {
        name: [f"assumes {part} = {wrong}: the problem has {right}" for part, (wrong, right) in parts.items()]
        for name, parts in _differences(result).items()
    }


def short_beliefs(result: xarray.Dataset) -> dict[str, str]:
    """Return, for every policy with wrong beliefs, what it assumes, in words short enough for a legend."""
    return {
        name: "assumes " + ", ".join(f"{wrong} {part}" for part, (wrong, _) in parts.items())
        for name, parts in _differences(result).items()
    }


def _differences(result: xarray.Dataset) -> dict[str, dict[str, tuple[str, str]]]:
    """Return, by policy and part, what is assumed and what is so."""
    beliefs = json.loads(result.attrs.get("misspecified") or "{}")
    if not beliefs:
        return {}
    truth = json.loads(result.attrs["problem"])
    return {
        name: {part: _difference_in_words(belief, truth[part]) for part, belief in parts.items()}
        for name, parts in beliefs.items()
    }


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


def _difference_in_words(belief: object, truth: object) -> tuple[str, str]:
    """Return what a policy assumes of a part of the problem, and the truth: their kinds, or where these agree the fields that differ.

    Examples
    --------
    >>> _difference_in_words({"kind": "student-t", "df": 9.0}, {"kind": "normal"})
    ('student-t', 'normal')
    >>> _difference_in_words({"kind": "student-t", "df": 9.0}, {"kind": "student-t", "df": 4.0})
    ('student-t (df = 9.0)', 'student-t (df = 4.0)')
    """
    if not (isinstance(belief, dict) and isinstance(truth, dict)):
        return _shortened(belief), _shortened(truth)
    belief, truth = _inner_distribution(belief), _inner_distribution(truth)
    kinds = str(belief.get("kind")), str(truth.get("kind"))
    if kinds[0] != kinds[1]:
        return kinds
    names = [name for name in {**belief, **truth} if belief.get(name) != truth.get(name)]
    pairs = [_difference_in_words(belief.get(name), truth.get(name)) for name in names]
    wrong, right = (
        ", ".join(f"{name} = {pair[side]}" for name, pair in zip(names, pairs, strict=True))
        for side in (0, 1)
    )
    return f"{kinds[0]} ({wrong})", f"{kinds[1]} ({right})"


def _inner_distribution(part: dict[str, object]) -> dict[str, object]:
    """Return the distribution inside a noise of kind "distribution", whose kind says nothing; else the part itself.

    Examples
    --------
    >>> _inner_distribution({"kind": "distribution", "distribution": {"kind": "Laplace", "loc": 0.0}})
    {'kind': 'Laplace distribution', 'loc': 0.0}
    """
    inner = part.get("distribution")
    return inner | {"kind": f"{inner['kind']} distribution"} if isinstance(inner, dict) else part


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
