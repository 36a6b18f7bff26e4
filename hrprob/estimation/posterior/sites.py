"""Latent sites of a model's program beyond θ and φ, and their places in z.

A model of one's own may have more unknowns than θ and φ: degrees of freedom, a mixing
weight. Its program samples them under names of their own. For engines that run programs
(``nuts``, ``svi``) they follow z_θ and z_φ in z, sorted by name, each in the unconstrained
coordinates that NumPyro has for its support.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax
import numpy as np
from numpyro import handlers
from numpyro.distributions.transforms import biject_to
from numpyro.infer.util import constrain_fn, potential_energy

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import is_traced
from hrprob._core.types import PyTree
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.engines import ENGINES
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data, Gaussian, Model, Rounds, pad
from hrprob.observations import D

__all__ = [
    "Sites",
    "agrees",
    "at_least_a_row",
    "check_names",
    "check_program",
    "extra_sites",
    "log_density",
    "padded",
    "runs_alone",
    "size",
    "split",
    "values",
]

P = ParamSpec("P")
R = TypeVar("R")

Sites = tuple[tuple[str, tuple[int, ...]], ...]
"""Names of the sites beyond θ and φ, in order, with their shapes in unconstrained coordinates."""


# The methods that make up a program and a likelihood, besides `outcome`, which both use.
_METHODS = ("program", "observe", "observed", "conditioned", "row_log_likelihood", "log_likelihood")

# Names of the axes of draws in a tree for ArviZ.
_AXES = ("chain", "draw", "feature", "round")

_RUNNING = threading.RLock()

_MANY_ROWS = 1024


def runs_alone(function: Callable[P, R]) -> Callable[P, R]:
    """Let one thread at a time run programs: NumPyro's stack of handlers is global to the process.

    Within a compiled function the lock is held while it is traced, not while it runs.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with _RUNNING:
            return function(*args, **kwargs)

    return wrapped


def extra_sites(target: Target, data: Data) -> Sites:
    """Return the latent sites of the target's program beyond θ and φ.

    Examples
    --------
    >>> from hrprob.models import Setting, make_model, make_prior, rounds
    >>> target = Target(make_model("gaussian"), make_prior("uniform"), Setting(1))
    >>> extra_sites(target, rounds([[1.0]], [0.5]))
    ()
    """
    shapes = jax.eval_shape(lambda: _latent(target, data))
    missing = {"theta", "phi"} - set(shapes)
    if missing:
        must = "must sample `theta` and `phi`"
        remedy = "call hrprob.models.priors.sample in its program; a function for from_numpyro gets them if it names `mean` or `variance`"
        raise InvalidInput("model", must, sorted(shapes), remedy)
    return tuple((name, shapes[name].shape) for name in sorted(shapes) if name not in ("theta", "phi"))


def at_least_a_row(data: D) -> D:
    """Return the data, or one empty row where there is none: NumPyro has no plate of size 0."""
    return data if data.x.shape[0] else pad(data, 1)


def padded(target: Target, data: Data) -> tuple[Data, Sites]:
    """Return the data padded to a power of two, or above 1024 rows to a sixteenth of one, and the sites beyond θ and φ.

    Where a site has one value per row nothing is padded: an empty row would get a value too.
    """
    data = at_least_a_row(data)
    sites, wide = extra_sites(target, data), pad(data, _padded_rows(data.x.shape[0]))
    return (wide if not sites or extra_sites(target, wide) == sites else data), sites


def _padded_rows(rows: int) -> int:
    """Return how many rows data are padded to: in long data, up to half of a power of two would be empty rows.

    Examples
    --------
    >>> [_padded_rows(rows) for rows in (5, 1000, 1024, 2139, 4096)]
    [8, 1024, 1024, 2304, 4096]
    """
    power = 1 << max(rows - 1, 0).bit_length()
    unit = power if power <= _MANY_ROWS else power // 16
    return -(-rows // unit) * unit


def size(target: Target, sites: Sites) -> int:
    """Return the length of z with these sites."""
    return target.size + sum(math.prod(shape) for _, shape in sites)


def split(target: Target, sites: Sites, z: jax.Array) -> dict[str, jax.Array]:
    """Return the parts of z (..., size) by the names of their sites."""
    d = target.setting.dimension
    parts, place = {"theta": z[..., :d], "phi": z[..., d : 2 * d]}, 2 * d
    for name, shape in sites:
        end = place + math.prod(shape)
        parts[name] = z[..., place:end].reshape(z.shape[:-1] + shape)
        place = end
    return parts


@runs_alone
def log_density(target: Target, sites: Sites, z: jax.Array, data: Data) -> jax.Array:
    """Return ln p(z) of the program up to a constant, for one z (size,)."""
    parts = split(target, sites, z)
    return -potential_energy(target.model.conditioned, (data, target.setting, target.prior), {}, parts)


@runs_alone
def values(target: Target, sites: Sites, z: jax.Array, data: Data) -> dict[str, jax.Array]:
    """Return the values of the sites beyond θ and φ at z (chains, draws, size)."""
    if not sites:
        return {}
    parts = split(target, sites, z)
    arguments = (data, target.setting, target.prior)
    constrained = constrain_fn(target.model.conditioned, arguments, {}, parts, batch_ndims=z.ndim - 1)
    return {name: constrained[name] for name, _ in sites}


def agrees(model: Model) -> bool:
    """Say whether program and likelihood are both hrprob's own, so that they are known to agree.

    Examples
    --------
    >>> from hrprob.models import make_model
    >>> agrees(make_model("gaussian")), agrees(make_model("student-t"))
    (True, True)
    """
    own = type(model)
    return any(all(getattr(own, name) is getattr(by, name) for name in _METHODS) for by in (Model, Gaussian))


def check_names(target: Target, data: Rounds) -> None:
    """Raise unless the program observes `r` and no site has the name of an axis: a tree for ArviZ needs both."""
    axes = [name for name, _ in extra_sites(target, data) if name in _AXES]
    if axes:
        remedy = f"the axes of draws are called {', '.join(_AXES)}"
        raise InvalidInput("model", "must have sites of other names", ", ".join(axes), remedy)
    observed = jax.eval_shape(
        lambda: {name: site["value"] for name, site in _sites(target, data, observed=True).items()}
    )
    if "r" not in observed:
        must, remedy = (
            "must observe `r`",
            "sample outcomes under that name in its program, as `observed` has them",
        )
        raise InvalidInput("model", must, sorted(observed), remedy)


def check_program(engine: Engine, target: Target, data: Data) -> None:
    """Raise unless program and likelihood agree, for an engine that uses the likelihood alone."""
    sites = extra_sites(target, data)
    if sites:
        names = ", ".join(name for name, _ in sites)
        remedy = f"the model has more unknowns than θ and φ: {names}; take {_running()}"
        raise InvalidInput("engine", "must be one that runs programs", engine.kind, remedy)
    if agrees(target.model) or is_traced(target, data):
        return
    few = jax.tree.map(lambda leaf: leaf[:8], data)
    points = jax.random.normal(jax.random.key(0), (3, target.size))
    one = np.asarray([log_density(target, sites, z, few) for z in points])
    other = np.asarray([target.log_density(z, few) for z in points])
    # Large densities differ in their last digits.
    if not np.ptp(one - other) < 1e-6 + 1e-9 * np.max(np.abs(one)):
        remedy = f"{engine.kind} sees `row_log_likelihood` alone; override it too, or take {_running()}"
        must = "must have a program and a likelihood that agree"
        raise InvalidInput("model", must, target.model.kind, remedy)


def _running() -> str:
    """Return the engines that run programs, for a message."""
    return " or ".join(kind for kind, engine in ENGINES.kinds().items() if engine.runs_programs)


def _latent(target: Target, data: Data) -> dict[str, jax.Array]:
    """Return the latent sites of one run of the program, unconstrained."""
    latent = {}
    for name, site in _sites(target, data, observed=False).items():
        if site["fn"].support.is_discrete:
            remedy = "sum it out, as models/mixture.py does: no engine here samples whole numbers"
            raise InvalidInput("model", "must have continuous latent sites only", name, remedy)
        latent[name] = biject_to(site["fn"].support).inv(site["value"])
    return latent


@runs_alone
def _sites(target: Target, data: Data, *, observed: bool) -> dict[str, PyTree]:
    """Return the sites of one run of the program that are observed, or those that are not."""
    seeded = handlers.seed(target.model.conditioned, jax.random.key(0))
    trace = handlers.trace(seeded).get_trace(data, target.setting, target.prior)
    return {
        name: site
        for name, site in trace.items()
        if site["type"] == "sample" and site["is_observed"] == observed
    }
