"""The families of parts that a problem has, by the name of their field in a configuration."""

from __future__ import annotations

from hrprob._core.registry import Registry
from hrprob.noise import NOISES
from hrprob.problem.contexts import CONTEXTS
from hrprob.problem.drift import DRIFTS
from hrprob.problem.levels import LEVELS
from hrprob.problem.links import LINKS
from hrprob.problem.objectives import OBJECTIVES

__all__ = ["PARTS"]

PARTS: dict[str, Registry[object]] = {
    "link": LINKS,
    "noise": NOISES,
    "objective": OBJECTIVES,
    "contexts": CONTEXTS,
    "satisfaction": LEVELS,
    "drift": DRIFTS,
}
