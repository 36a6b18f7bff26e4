"""All families of kinds, and what each kind says of itself.

A family (policies, noises, engines, ...) is looked up by its name and imported then, with what its kinds need.
"""

from __future__ import annotations

import importlib

from hrprob._core.descriptions import Description, Parameter
from hrprob._core.errors import check_choice
from hrprob._core.registry import Registry

__all__ = ["FAMILIES", "Description", "Parameter", "describe", "family"]

FAMILIES = {
    "policies": ("hrprob.policies.base", "POLICIES", "[[policy]]"),
    "contexts": ("hrprob.problem.contexts", "CONTEXTS", "problem.contexts"),
    "levels": ("hrprob.problem.levels", "LEVELS", "problem.satisfaction"),
    "noises": ("hrprob.noise", "NOISES", "problem.noise"),
    "drifts": ("hrprob.problem.drift", "DRIFTS", "problem.drift"),
    "objectives": ("hrprob.problem.objectives", "OBJECTIVES", "problem.objective"),
    "links": ("hrprob.problem.links", "LINKS", "problem.link"),
    "engines": ("hrprob.estimation.posterior.engines", "ENGINES", "policy.engine"),
    "models": ("hrprob.models", "MODELS", "policy.model"),
    "priors": ("hrprob.models.priors", "PRIORS", "policy.prior"),
    "radii": ("hrprob.policies.radii.base", "RADII", "policy.radius"),
    "predictives": (
        "hrprob.estimation.likelihood_ratio.predictives",
        "PREDICTIVES",
        "hrprob.LikelihoodRatioSet",
    ),
    "checks": ("hrprob.fitting.checks.base", "CHECKS", "hrprob check"),
    "diagnostics": ("hrprob.diagnostics.base", "DIAGNOSTICS", "hrprob diagnose"),
}
"""Module and name of every family's registry, and where a configuration names a kind of it."""


def family(name: str) -> Registry[object]:
    """Return the registry of a family.

    Examples
    --------
    >>> list(family("links"))
    ['affine', 'log', 'softplus']
    """
    check_choice("name", name, tuple(FAMILIES))
    module, attribute, _ = FAMILIES[name]
    registry: Registry[object] = getattr(importlib.import_module(module), attribute)
    return registry


def describe(name: str, kind: str | None = None) -> list[Description]:
    """Return what the kinds of a family, or one of them, say of themselves.

    Parameters
    ----------
    name : str
        The family: "policies", "noises", ...; see :data:`FAMILIES`.
    kind : str, optional
        One kind; by default all.

    Returns
    -------
    list of Description
        Summary, parameters (name, type, default, meaning) and references of each.

    Examples
    --------
    >>> describe("noises", "normal")[0].description
    'The standard normal distribution.'
    >>> [parameter.name for parameter in describe("policies", "linucb")[0].parameters][:2]
    ['alpha', 'ridge']
    """
    return family(name).describe(kind)
