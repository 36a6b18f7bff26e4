"""``engine = "auto"``: the cheapest engine whose own error estimate is within the limits, else ``nuts``.

==============================================================  ==========================================
rule                                                            engine
==============================================================  ==========================================
the program has unknowns beyond θ and φ, uses columns of the    ``nuts``: the others see θ and φ alone
table, or its likelihood is not known to be that of its program
more than 32 features                                           ``nuts``: the refined draws of the others
                                                                come from groups of 250 particles
outcomes with an edge (``truncated-normal``), in ``diagnose``,  ``nuts``
which examines engines as policies use them, not refined
else                                                            ``laplace``, refined where its importance
                                                                weights ask for it
its draws raise a concern (R-hat, error estimate)               ``nuts`` after all
==============================================================  ==========================================

Which engine was taken, and why, is a sentence of the posterior's ``chosen``, which every summary prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.sites import agrees, extra_sites
from hrprob.estimation.posterior.target import Target
from hrprob.models import rounds

__all__ = ["AUTO", "CHEAP", "REFERENCE", "Choice", "choose_engine", "is_auto"]

AUTO, CHEAP, REFERENCE = "auto", "laplace", "nuts"
_MOST_FEATURES = 32


class Choice(NamedTuple):
    """An engine by its kind, and why it was chosen."""

    engine: str
    why: str


def is_auto(engine: object) -> bool:
    """Return whether an engine is to be chosen by the rules.

    Examples
    --------
    >>> is_auto("auto"), is_auto({"kind": "auto"}), is_auto("smc")
    (True, True, False)
    """
    return engine == AUTO or (isinstance(engine, Mapping) and dict(engine) == {"kind": AUTO})


def choose_engine(target: Target, refined: bool = True) -> Choice:
    """Return the engine to begin with, by model and dimension; ``refined`` is whether its draws will be.

    Diagnoses fit many data sets as a policy does, without refining draws.

    Examples
    --------
    >>> from hrprob.models import Setting, make_model, make_prior
    >>> choose_engine(Target(make_model("student-t"), make_prior("uniform"), Setting(4))).engine
    'laplace'
    >>> choose_engine(Target(make_model("gaussian"), make_prior("uniform"), Setting(40))).why
    'auto chose nuts: 40 features are more than the 32 that laplace is refined for'
    """
    d = target.setting.dimension
    sites: list[str] = []
    if not target.model.columns:
        with double_precision():
            sites = [name for name, _ in extra_sites(target, rounds([[0.0] * d], [0.0]))]
    if target.model.columns:
        why = f"the model uses columns of the table ({', '.join(target.model.columns)})"
    elif sites:
        why = f"the model has unknowns beyond θ and φ ({', '.join(sites)})"
    elif not agrees(target.model):
        why = "the model's program and its likelihood are not known to agree"
    elif d > _MOST_FEATURES:
        why = f"{d} features are more than the {_MOST_FEATURES} that {CHEAP} is refined for"
    elif target.model.has_edge and not refined:
        why = f"{target.model.kind} outcomes have an edge that a normal approximation does not follow"
    elif refined:
        return Choice(CHEAP, f"auto chose {CHEAP}: its own error estimate is within the limits")
    else:
        return Choice(CHEAP, f"auto chose {CHEAP}: the model has θ and φ alone, and no edge")
    return Choice(REFERENCE, f"auto chose {REFERENCE}: {why}")
