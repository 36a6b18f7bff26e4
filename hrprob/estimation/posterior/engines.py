"""Which engines there are, by their kinds."""

from __future__ import annotations

from typing import Any

from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.nuts import NUTS
from hrprob.estimation.posterior.smc import SMC
from hrprob.estimation.posterior.svi import SVI
from hrprob.tables import make_named

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
    return make_named("engine", engine, ENGINES)
