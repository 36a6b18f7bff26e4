"""A posterior as a tree for ArviZ, and as a netCDF file and back.

=====================  ============================================================
group                  what it has
=====================  ============================================================
posterior              theta, phi (chain, draw, feature), further sites of the model
sample_stats           lp, log_ratio, and how ``nuts`` fared, by ArviZ's names
log_likelihood         r (chain, draw, round)
posterior_predictive   r (chain, draw, round): one new outcome of every round
prior                  draws of the same sites before anything is seen
prior_predictive       r (chain, draw, round) under those
observed_data          r (round)
constant_data          x (round, feature), user and beta (round) where there are any
=====================  ============================================================

Engine, model, prior and setting are attributes of the root, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray

import hrprob
from hrprob.errors import InvalidInput
from hrprob.estimation.posterior.base import DIMS, features
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting import predictive
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem import Affine, Bounds
from hrprob.record import describe

__all__ = ["load", "save", "to_datatree"]

MOST_ENTRIES = 5_000_000
PRIOR_DRAWS = 1000
_PACKED = {"zlib": True, "complevel": 1, "shuffle": True}


def to_datatree(posterior: Posterior, pointwise: bool | str = "auto") -> xarray.DataTree:
    """Return the tree that :meth:`Posterior.to_datatree` documents."""
    from arviz_base import from_dict

    table, target = posterior.table, posterior.target
    chains, draws, d = posterior.theta.shape
    if not isinstance(pointwise, bool) and pointwise != "auto":
        raise InvalidInput(
            "pointwise", 'must be true, false or "auto"', pointwise, "auto takes them where they are few"
        )
    whole = chains * draws * len(table) <= MOST_ENTRIES if pointwise == "auto" else bool(pointwise)
    by_new, by_prior = jax.random.split(jax.random.fold_in(jax.random.key(posterior.seed), 1))
    # Sites do not depend on the rounds, so one context is enough where outcomes are not wanted.
    before, imagined = predictive.prior(
        target, table.x if whole else table.x[:1], by_prior, min(PRIOR_DRAWS, chains * draws)
    )
    groups: dict[str, dict[str, Any]] = {
        "posterior": {"theta": posterior.theta, "phi": posterior.phi} | dict(posterior.sites),
        "sample_stats": {"log_ratio": posterior.log_ratio} | dict(posterior.statistics),
        "prior": {name: value[None] for name, value in before.items()},
        "observed_data": {"r": table.r},
        "constant_data": {"x": table.x}
        | {name: getattr(table, name) for name in ("user", "beta") if getattr(table, name) is not None},
    }
    if whole:
        flat, shape = posterior.flat(), (chains, draws, len(table))
        groups["log_likelihood"] = {
            "r": predictive.log_likelihood(target, table.x, table.r, flat).reshape(shape)
        }
        groups["posterior_predictive"] = {
            "r": predictive.outcomes(target, table.x, flat, by_new).reshape(shape)
        }
        groups["prior_predictive"] = {"r": imagined[None]}
    dims = DIMS | {"x": ["round", "feature"]} | {name: ["round"] for name in ("r", "user", "beta")}
    coords: dict[str, Any] = {**features(d), "round": np.arange(1, len(table) + 1)}
    tree = from_dict(groups, dims=dims, coords=coords)
    tree.attrs.update(_facts(posterior))
    return tree


def save(posterior: Posterior, path: str | Path, pointwise: bool | str = "auto") -> None:
    """Write the tree as netCDF, whole or not at all."""
    tree = to_datatree(posterior, pointwise)
    encoding = {
        group.path: {str(name): _PACKED for name, values in group.data_vars.items() if values.ndim}
        for group in tree.subtree
    }
    for group, variables in encoding.items():
        for name in list(variables):
            if tree[group][name].dtype.kind in "OUT":
                del variables[name]
    with _whole_file(path) as place:
        tree.to_netcdf(place, engine="h5netcdf", encoding=encoding)


def load(path: str | Path) -> Posterior:
    """Return the posterior that :func:`save` wrote."""
    try:
        with xarray.open_datatree(path, engine="h5netcdf") as opened:
            tree = opened.load()
    except (OSError, ValueError) as error:
        must = "must be a file that `Posterior.save` wrote"
        raise InvalidInput("path", must, str(path), str(error)) from None
    missing = {"posterior", "sample_stats", "observed_data", "constant_data"} - set(tree.children)
    if missing or tree.attrs.get("program") != "hrprob":
        must, got = "must be a file that `Posterior.save` wrote", sorted(tree.children)
        raise InvalidInput("path", must, str(path), f"it has {got}")
    draws = {str(name): values.values for name, values in tree["posterior"].data_vars.items()}
    statistics = {str(name): values.values for name, values in tree["sample_stats"].data_vars.items()}
    constant = tree["constant_data"]
    table = Table(
        constant["x"].values,
        tree["observed_data"]["r"].values,
        *(constant[name].values if name in constant.data_vars else None for name in ("user", "beta")),
    )
    facts = {name: json.loads(tree.attrs[name]) for name in ("engine", "model", "prior", "setting")}
    return Posterior(
        theta=draws.pop("theta"),
        phi=draws.pop("phi"),
        sites=draws,
        log_ratio=statistics.pop("log_ratio"),
        statistics=statistics,
        table=table,
        target=_target(facts),
        engine=make_engine(facts["engine"]),
        seed=int(tree.attrs["seed"]),
    )


def _facts(posterior: Posterior) -> dict[str, Any]:
    parts = {
        "engine": posterior.engine,
        "model": posterior.target.model,
        "prior": posterior.target.prior,
        "setting": posterior.setting,
    }
    return {
        "program": "hrprob",
        "hrprob_version": hrprob.__version__,
        "seed": posterior.seed,
        "inference_library": "numpyro" if posterior.engine.kind in ("nuts", "svi") else "hrprob",
    } | {name: json.dumps(describe(part)) for name, part in parts.items()}


def _target(facts: dict[str, Any]) -> Target:
    setting = facts["setting"]
    try:
        model, prior = make_model(facts["model"]), make_prior(facts["prior"])
    except InvalidInput as error:
        remedy = f"import the module that registers it, then load again; {error.must}"
        raise InvalidInput(error.field, "must be known", error.got, remedy) from None
    link, bounds = Affine(**setting["link"]), Bounds(**setting["bounds"])
    return Target(model, prior, Setting(setting["dimension"], link, bounds))


@contextlib.contextmanager
def _whole_file(path: str | Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write to, which takes its place when all went well."""
    place = Path(path)
    aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with open(aside, "xb"):
            pass
    except OSError as error:
        remedy = error.strerror or str(error)
        raise InvalidInput("path", "must be a file that can be written", str(path), remedy) from None
    try:
        yield aside
        os.replace(aside, place)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
