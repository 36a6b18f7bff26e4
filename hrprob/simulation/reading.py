"""What a result says of its policies: which are oracles, and which assume what is not so.

Nothing here needs JAX: figures of a result are drawn by a process that never computes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray

__all__ = ["beliefs_in_words", "oracles_of", "short_beliefs", "with_oracles"]


def oracles_of(result: xarray.Dataset) -> tuple[str, ...]:
    """Return the oracles of a result: they know the truth and learn nothing, so they are not compared with others.

    Examples
    --------
    >>> import xarray
    >>> described = '{"best": {"kind": "oracle"}, "greedy": {"kind": "greedy"}}'
    >>> oracles_of(xarray.Dataset(coords={"policy": ["best", "greedy"]}, attrs={"policies": described}))
    ('best',)
    >>> oracles_of(with_oracles(xarray.Dataset(coords={"policy": ["best"]}, attrs={"policies": described})))
    ('best',)
    """
    names = [str(name) for name in result.policy.values]
    # An attribute that was read from a file is never a tuple.
    if isinstance(told := result.attrs.get("oracles"), tuple):
        return told
    # A kind that is not imported here counts as a policy that learns.
    from hrprob.policies.base import POLICIES, Policy

    described, kinds = json.loads(result.attrs.get("policies", "{}")), POLICIES.kinds()
    return tuple(
        name for name in names if name in described and kinds.get(described[name]["kind"], Policy).is_oracle
    )


def with_oracles(result: xarray.Dataset) -> xarray.Dataset:
    """Return a result that tells its oracles to a process in which their kinds may not be imported."""
    return result.assign_attrs(oracles=oracles_of(result))


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
