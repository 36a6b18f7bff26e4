"""A posterior as a tree for ArviZ, and as a netCDF file and back.

=====================  ============================================================
group                  contents
=====================  ============================================================
posterior              theta, phi (chain, draw, feature), further sites of the model
sample_stats           lp, log_ratio, and the statistics of ``nuts``, by ArviZ's names
log_likelihood         r (chain, draw, round)
log_prior              theta, phi (chain, draw), further sites: log prior densities, for power scaling
posterior_predictive   r (chain, draw, round): one new outcome of every round
prior                  draws of the same sites from the prior
prior_predictive       r (chain, draw, round) given those
observed_data          r (round)
constant_data          x (round, feature), user and beta (round) where there are any
=====================  ============================================================

Engine, model, prior and setting are attributes of the root, as JSON; so are ``scale`` and ``centre`` where contexts were
divided and centred (``x``, θ and φ are those of the divided contexts), and ``intercept`` where the first entry of ``x`` is 1.

Groups with one entry per draw and round may be large. With many rounds they have
every k-th draw of each chain only: their coordinate ``draw`` has the indices of those draws in ``posterior``
(or ``prior``), their attribute ``thinning`` is k. ``log_likelihood``, the input of model comparison, is thinned
last. Where it is thinned, ``arviz_stats.loo(tree, reff=1.0)`` treats the draws that are left as independent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.files import whole_file
from hrprob._core.random_numbers import Purpose, key_of
from hrprob._core.records import describe
from hrprob._core.types import Array, Decoded
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.foreign_draws import ForeignDraws
from hrprob.estimation.posterior.inference import DIMS
from hrprob.estimation.posterior.target import Target
from hrprob.fitting import predictive
from hrprob.fitting.table import Table
from hrprob.io.netcdf import read_netcdf, write_netcdf
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem import Affine, Bounds
from hrprob.problem.links import LINKS

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["load", "save", "thinning", "to_datatree"]

P = TypeVar("P")

MOST_ENTRIES = {
    "log_likelihood": 20_000_000,
    "posterior_predictive": 5_000_000,
    "prior_predictive": 5_000_000,
}
"""Entries that a group may have before it is thinned."""

PRIOR_DRAWS = 1000
_COLUMNS = {"r": ["round"], "x": ["round", "feature"], "user": ["round"], "beta": ["round"]}
_PACKED = {"zlib": True, "complevel": 1, "shuffle": True}


def to_datatree(posterior: Posterior, pointwise: bool | str = "auto", prior: bool = True) -> xarray.DataTree:
    """Return the tree that :meth:`Posterior.to_datatree` documents."""
    from arviz_base import from_dict

    table = posterior.table
    if not isinstance(pointwise, bool) and pointwise != "auto":
        remedy = "auto thins the draws where there are too many entries"
        raise InvalidInput("pointwise", 'must be true, false or "auto"', pointwise, remedy)
    before: Mapping[str, Array] | None = None
    if prior:
        draws = min(PRIOR_DRAWS, posterior.theta[..., 0].size)
        key = key_of(posterior.seed, Purpose.PRIOR)
        drawn = predictive.prior(posterior.target, table.x, key, draws, posterior.columns)
        before = {name: value[None] for name, value in drawn.items()}
    groups: dict[str, Mapping[str, Array]] = {
        "posterior": {"theta": posterior.theta, "phi": posterior.phi} | dict(posterior.sites),
        "sample_stats": {"log_ratio": posterior.log_ratio} | dict(posterior.statistics),
        **({} if before is None else {"prior": before}),
    }
    if prior:
        density = predictive.log_prior(posterior.target, table.x, posterior.flat(), posterior.columns)
        shape = posterior.theta.shape[:2]
        groups["log_prior"] = {name: value.reshape(shape) for name, value in density.items()}
    steps = thinning(posterior) if pointwise == "auto" else dict.fromkeys(MOST_ENTRIES, 1)
    if pointwise:
        groups |= _pointwise(posterior, before, steps)
    coords: dict[str, list[str] | np.ndarray] = {
        "feature": list(table.features),
        "round": np.arange(1, len(table) + 1),
    }
    by_draw = {name: groups.pop(name) for name in ("log_prior",) if name in groups}
    tree = from_dict(groups, dims=DIMS | {"r": ["round"]}, coords=coords)
    # Densities have the names of the sites, but not their axes.
    tree.update(from_dict(by_draw).children if by_draw else {})
    # In a tree of its own first: a site of the model may have the name of a column.
    dims = _COLUMNS | {name: ["round"] for name in table.further}
    tree.update(from_dict(_columns(table), dims=dims, coords=coords).children)
    for name in MOST_ENTRIES.keys() & groups.keys():
        kept = tree[name].to_dataset()
        tree[name].dataset = kept.assign_coords(draw=kept.draw * steps[name]).assign_attrs(
            thinning=steps[name]
        )
    tree.attrs.update(_facts(posterior))
    return tree


def _columns(table: Table) -> dict[str, dict[str, np.ndarray]]:
    """Return the groups of the data."""
    given = {name: getattr(table, name) for name in _COLUMNS if getattr(table, name) is not None}
    return {"observed_data": {"r": given.pop("r")}, "constant_data": {**given, **table.further}}


def thinning(posterior: Posterior) -> dict[str, int]:
    """Return k for each group with one entry per draw and round, which has every k-th draw."""
    chains, draws, _ = posterior.theta.shape
    rounds = len(posterior.table)
    sizes = dict.fromkeys(MOST_ENTRIES, (chains, draws))
    sizes["prior_predictive"] = (1, min(PRIOR_DRAWS, chains * draws))
    return {
        name: -(-draws // max(MOST_ENTRIES[name] // (chains * rounds), 1))
        for name, (chains, draws) in sizes.items()
    }


def _pointwise(
    posterior: Posterior, before: Mapping[str, Array] | None, steps: dict[str, int]
) -> dict[str, dict[str, np.ndarray]]:
    """Return the groups with one entry per draw and round, thinned by these steps.

    ``before`` are draws from the prior, where these are included.
    """
    x, target = posterior.table.x, posterior.target
    after = {"theta": posterior.theta, "phi": posterior.phi} | dict(posterior.sites)

    def new_outcomes(purpose: Purpose) -> Callable[..., np.ndarray]:
        key = key_of(posterior.seed, purpose)
        return lambda flat: predictive.outcomes(target, x, flat, key, posterior.columns)

    def group(
        name: str, values: Mapping[str, Array], of_draws: Callable[..., np.ndarray]
    ) -> dict[str, np.ndarray]:
        some = {site: value[:, :: steps[name]] for site, value in values.items()}
        shape = some["theta"].shape[:2]
        flat = {site: value.reshape(-1, *value.shape[2:]) for site, value in some.items()}
        return {"r": of_draws(flat).reshape(*shape, len(x))}

    groups = {
        "log_likelihood": group(
            "log_likelihood",
            after,
            lambda flat: _of_rounds(posterior, flat),
        ),
        "posterior_predictive": group("posterior_predictive", after, new_outcomes(Purpose.REPLICATES)),
    }
    if before is not None:
        groups["prior_predictive"] = group("prior_predictive", before, new_outcomes(Purpose.PRIOR_OUTCOMES))
    return groups


def _of_rounds(posterior: Posterior, flat: Mapping[str, Array]) -> np.ndarray:
    """Return the log likelihood of each round (draws, rounds); given the user's other rounds, where they depend."""
    table, target = posterior.table, posterior.target
    if hasattr(target.model, "given_others"):
        return predictive.given_others(target, table.x, table.r, flat, posterior.columns)[0]
    return predictive.log_likelihood(target, table.x, table.r, flat, posterior.columns)


def save(posterior: Posterior, path: str | Path, pointwise: bool | str = "auto") -> None:
    """Write the tree as netCDF, atomically."""
    tree = to_datatree(posterior, pointwise)
    encoding = {
        group.path: {str(name): _PACKED for name, values in group.data_vars.items() if values.ndim}
        for group in tree.subtree
    }
    for group, variables in encoding.items():
        for name in list(variables):
            if tree[group][name].dtype.kind in "OUT":
                del variables[name]
    place, must = Path(path), "must be a file that can be written"
    if place.is_dir():
        remedy = "it is a folder; name a file in it, for example posterior.nc"
        raise InvalidInput("path", must, str(path), remedy)
    if not os.access(place.parent, os.W_OK):
        raise InvalidInput("path", must, str(path), f"{place.parent} is no folder that can be written")
    with whole_file(place) as temporary:
        write_netcdf(tree, temporary, encoding)


def load(path: str | Path, make: Callable[..., P]) -> P:
    """Return what :func:`save` wrote, ``make`` being the class of posteriors."""
    must = "must be a file that `Posterior.save` wrote"
    tree = read_netcdf(Path(path), "path", must)
    missing = {"posterior", "sample_stats", "observed_data", "constant_data"} - set(tree.children)
    if missing or tree.attrs.get("program") != "hrprob":
        raise InvalidInput("path", must, str(path), f"it has {sorted(tree.children)}")
    try:
        return _from_tree(tree, make)
    except InvalidInput:
        raise
    except Exception as error:
        # Whatever is missing or has another form than `save` gave it.
        raise InvalidInput("path", must, str(path), f"{type(error).__name__}: {error}") from None


def _from_tree(tree: xarray.DataTree, make: Callable[..., P]) -> P:
    draws = {str(name): values.values for name, values in tree["posterior"].data_vars.items()}
    statistics = {str(name): values.values for name, values in tree["sample_stats"].data_vars.items()}
    constant = tree["constant_data"].to_dataset()
    table = Table(
        constant["x"].values,
        tree["observed_data"]["r"].values,
        user=constant["user"].values if "user" in constant else None,
        beta=constant["beta"].values if "beta" in constant else None,
        features=constant["feature"].values,
        scale=_noted(tree, "scale"),
        centre=_noted(tree, "centre"),
        intercept=bool(_noted(tree, "intercept")),
        further={
            name: constant[name].values for name in map(str, constant.data_vars) if name not in _COLUMNS
        },
    )
    facts = {name: json.loads(tree.attrs[name]) for name in ("engine", "model", "prior", "setting")}
    return make(
        theta=draws.pop("theta"),
        phi=draws.pop("phi"),
        sites=draws,
        log_ratio=statistics.pop("log_ratio"),
        statistics=statistics,
        table=table,
        target=_target(facts),
        engine=_engine(facts["engine"]),
        seed=int(tree.attrs["seed"]),
        chosen=tuple(_noted(tree, "chosen") or ()),
    )


def _engine(facts: Decoded) -> Engine:
    """Return the engine, or what stands for it where draws were read from elsewhere."""
    return ForeignDraws() if facts.get("kind") == ForeignDraws.kind else make_engine(facts)


def _noted(tree: xarray.DataTree, name: str) -> Decoded:
    """Return an attribute of the root that not every tree has; None where it is missing."""
    return json.loads(tree.attrs[name]) if name in tree.attrs else None


def _facts(posterior: Posterior) -> dict[str, object]:
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
        "inference_library": posterior.engine.library,
        **{name: json.dumps(value) for name, value in _notes(posterior).items() if value},
    } | {name: json.dumps(describe(part)) for name, part in parts.items()}


def _notes(posterior: Posterior) -> dict[str, object]:
    """Return what is noted where it is not usual: how contexts were changed, and what was chosen from the data."""
    table = posterior.table
    return {
        "scale": None if table.scale is None else table.scale.tolist(),
        "centre": None if table.centre is None else table.centre.tolist(),
        "intercept": table.intercept,
        "chosen": list(posterior.chosen),
    }


def _target(facts: dict[str, Decoded]) -> Target:
    setting = facts["setting"]
    try:
        model, prior = make_model(facts["model"]), make_prior(facts["prior"])
        link = LINKS.make({"kind": Affine.kind} | setting["link"])
    except InvalidInput as error:
        remedy = f"import the module that registers it, then load again; {error.must}"
        raise InvalidInput(error.field, "must be known", error.got, remedy) from None
    return Target(model, prior, Setting(setting["dimension"], link, Bounds(**setting["bounds"])))
