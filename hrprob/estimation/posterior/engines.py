"""Which engines there are, by their kinds."""

from __future__ import annotations

from typing import Any

from hrprob.errors import InvalidInput, check_choice
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.nuts import NUTS
from hrprob.estimation.posterior.smc import SMC
from hrprob.estimation.posterior.svi import SVI

__all__ = ["ENGINES", "make_engine"]

ENGINES: dict[str, Any] = {engine.kind: engine for engine in (NUTS, SVI, Laplace, SMC)}


def make_engine(engine: Any) -> Any:
    """Return an engine: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_engine("laplace").kind
    'laplace'
    """
    if isinstance(engine, tuple(ENGINES.values())):
        return engine
    table = dict(engine) if isinstance(engine, dict) else {"kind": engine}
    kind = check_choice("engine", table.pop("kind", None), list(ENGINES))
    try:
        return ENGINES[kind](**table)
    except TypeError:
        raise InvalidInput(
            "engine", f"must have parameters of {kind!r} only", table, "see its help"
        ) from None
    except InvalidInput as complaint:
        raise complaint.within("engine") from None
