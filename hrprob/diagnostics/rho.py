r"""The printed confidence sets held against what data sets and the posterior say.

===================================  ============================================================
symbol                               name
===================================  ============================================================
‖φ̂_n − φ*‖ in V_n                    the error of the GLSE, in each replication
ρ_n(δ/n²), α⁽¹⁾_n(δ)                 ``radius``: of the set for φ*, for θ*
(1 − δ) quantile of the error        ``quantile``: pointwise in n
the same of its maximum up to n      ``quantile_simultaneous``
(1 − δ) quantile of max error/ρ      ``factor``: c_n, by which ρ may shrink and cover all of 1 … n
(1 − δ) quantile of ‖φ − φ̂_n‖        ``posterior_radius``: φ drawn from the posterior
===================================  ============================================================

Quantiles over replications are those for which a new replication is inside with probability 1 − δ
(Weibull's: linear ones, with few replications, are too small); their errors are by bootstrap.

The lemmas behind ρ_n take the contexts as independent of the noise. So there are three
designs side by side: **fixed**, one round each of contexts picked at random; those that
**hr-ucb** picks; those that **thompson** picks. n counts rounds in the sample set; where stays
have several, errors are looked at when users leave, for the first time at n rounds or more.

How much of ρ_n/quantile is owed to what (:func:`owed`) is a product of five factors, taken
off in this order: the union over n (δ/n² for δ), σ²_max where σ_max belongs (and L² for L),
the product α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾) that pays for not knowing θ*, what is left of the bound above
what data sets show simultaneously, and simultaneity itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray
from jax import lax

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.parallel import side_by_side
from hrprob._core.precision import double_precision, float64
from hrprob._core.records import with_fields
from hrprob.estimation import glse
from hrprob.estimation.confidence import VERSIONS, ConfidenceSets
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import Setting, Stays, make_model, make_prior, pad
from hrprob.numerics.factors import log_determinant, one_at_a_time
from hrprob.numerics.products import contract, quadratic_form
from hrprob.policies import HRUCB, Random, Thompson
from hrprob.policies.base import Policy
from hrprob.problem import Ball, Drifting, InfiniteLevels, Problem, Sphere, Withholding
from hrprob.simulation.data_sets import DataSets, Truths, gather_blocks

__all__ = ["PARAMETERS", "Design", "TooFewRounds", "compare_sets", "designs", "owed", "sample_sizes"]

_inverse = one_at_a_time(jnp.linalg.inv)

PARAMETERS = ("phi", "theta")
_DRAWS = 400
# Rows of users that the posterior is given room for: two sizes, for each is a program of its own.
_SMALL = 4096
_RESAMPLES = 200
# Share of the replications that must reach a size for it to be looked at.
_REACHED = 0.9
# Contexts that are drawn action by action, so that one is as good as any: of others, one is picked at random.
_DRAWN = (Sphere, Ball, Drifting, Withholding)


class TooFewRounds(InvalidInput):
    """A design whose data sets never hold the least number of rounds that sets are looked at for."""


class Design(NamedTuple):
    """How contexts are picked."""

    problem: Problem
    policy: Policy
    users: int


class _Errors(NamedTuple):
    """Along the users, with the data sets on the last axis."""

    n: jax.Array  # (users, sets)
    theta: jax.Array  # (users, sets) ‖θ̂ − θ*‖ in V
    phi: jax.Array  # (users, sets)


class _Posterior(NamedTuple):
    """What the posterior says at one n of one data set; for φ, then for θ."""

    radius: jax.Array  # (2,)
    mass: jax.Array  # (2, versions) inside the printed sets
    covers: jax.Array  # (2,) whether the set of that radius holds the truth
    log_volume: jax.Array  # (2, versions) of the printed set over that of the posterior's own ellipsoid
    ellipsoid: jax.Array  # (2,) whether the posterior's own ellipsoid holds the truth


def sample_sizes(most: int) -> np.ndarray:
    """Return numbers of rounds from 10 on, two a decade.

    Examples
    --------
    >>> sample_sizes(1000).tolist(), sample_sizes(316).tolist()
    ([10, 32, 100, 316, 1000], [10, 32, 100, 316])
    """
    check_count("most", most, low=10, remedy="sets are looked at from 10 rounds on")
    sizes = np.round(10 ** np.arange(1.0, math.log10(most) + 0.5, 0.5)).astype(int)
    return sizes[sizes <= most]


def designs(
    problem: Problem,
    most: int,
    users: int = 30_000,
    hr_ucb: Policy | None = None,
    thompson: Policy | None = None,
) -> dict[str, Design]:
    """Return the three designs.

    Parameters
    ----------
    problem : Problem
        What is played.
    most, users : int
        Rounds of the fixed design, and users at most of those that depend on lifetimes.
    hr_ucb, thompson : Policy, optional
        In place of HR-UCB with the released ξ and Thompson sampling with ``laplace``.
    """
    return {
        # Where nobody stays for a second round, contexts do not depend on the noise.
        "fixed": Design(_with_one_action(problem).replace(satisfaction=InfiniteLevels()), Random(), most),
        "hr-ucb": Design(problem, hr_ucb or HRUCB(), users),
        "thompson": Design(problem, thompson or Thompson(), users),
    }


def _with_one_action(problem: Problem) -> Problem:
    """Return the problem with one context a user, where its contexts can be drawn for one action alone."""
    if not isinstance(problem.contexts, _DRAWN):
        return problem
    return problem.replace(contexts=with_fields(problem.contexts, actions=1))


@float64
def compare_sets(
    design: Design,
    *,
    delta: float = 0.1,
    ridge: float = 1.0,
    most: int = 100_000,
    replications: int = 100,
    fits: int = 32,
    seed: int = 0,
    variance_max: float | None = None,
    prior: Any = "uniform",
    report: Callable[[int], None] = lambda users: None,
) -> xarray.Dataset:
    """Return the printed sets, the errors over replications and the posterior, along n.

    Parameters
    ----------
    design : Design
        How contexts are picked.
    delta, ridge : float
        δ and λ.
    most : int
        Largest n; sizes that fewer than nine tenths of the replications reach are left out, and at least
        one must be left.
    replications, fits : int
        Data sets, and those of them that a posterior is fitted to.
    seed : int
        Seed of everything random.
    variance_max : float, optional
        σ²_max; f at the bound of φ unless given.
    prior : str or prior
        Of the posterior, which is that of normal outcomes, by ``laplace``: longer data sets than single
        outcomes are kept of know no others.
    report : callable
        Told how many users have been served, now and then.

    Returns
    -------
    xarray.Dataset
        Over parameter (phi, theta) and n, some over version (paper, corrected) too: ``radius``,
        ``quantile``, ``quantile_simultaneous``, ``factor``, ``coverage`` and
        ``coverage_simultaneous`` of the printed sets, ``posterior_radius``, its
        ``posterior_coverage``, that of the posterior's own ellipsoid, ``ellipsoid_coverage``,
        ``posterior_mass`` inside the printed sets, ``log_volume_ratio``; with a standard error as
        ``quantile_se`` and so on, for the first three and the posterior's radius. Over replication
        too: ``error``, and ``largest_error`` and ``largest_share`` (of the radius) at any size up to n.
        Over n: ``reached``, the number of replications that have so many rounds.
    """
    check_number(
        "delta", delta, low=0, high=1, open_low=True, open_high=True, remedy="the probability to miss"
    )
    check_count("replications", replications, low=2, remedy="quantiles are over replications")
    check_count("fits", fits, remedy="the printed sets are held against posteriors too")
    problem, believed = design.problem, make_prior(prior)
    wanted = sample_sizes(most)
    sets = printed_sets(problem, ridge, variance_max)
    radii = _radii_at(sets, wanted, delta)
    truths = Truths(*(np.tile(truth, (replications, 1)) for truth in (problem.theta, problem.phi)))
    blocks = gather_blocks(
        problem,
        design.policy,
        truths,
        users=design.users,
        seed=seed,
        cap=math.inf,
        enough=most,
        report=report,
    )
    errors: list[dict[str, np.ndarray]] = []
    looks: list[_Posterior] = []
    for block in blocks:
        errors.append(_errors_at(block, problem, sets, delta, ridge, wanted))
        left = fits - sum(int(look.radius.shape[0]) for look in looks)
        if left > 0:
            target = Target(make_model("gaussian"), believed, Setting.of(problem))
            looks.append(_posteriors_at(block, target, radii, delta, ridge, wanted, left, seed))
    found = {name: np.concatenate([block[name] for block in errors]) for name in errors[0]}
    _check_reached(found["phi error"], design, wanted)
    seen: _Posterior = jax.tree.map(lambda *leaves: np.concatenate(leaves), *looks)
    whose = f"laplace, gaussian outcomes, {believed.kind} prior"
    return _dataset(found, seen, sets, radii, delta, wanted).assign_attrs(ridge=float(ridge), posterior=whose)


def _reached(errors: np.ndarray) -> np.ndarray:
    """Return which sizes enough of the replications reach, given errors (sets, sizes) that are NaN elsewhere."""
    return np.mean(np.isfinite(errors), axis=0) >= _REACHED


def _check_reached(errors: np.ndarray, design: Design, wanted: np.ndarray) -> None:
    if not _reached(errors).any():
        raise TooFewRounds(
            "users",
            f"must be enough for {_REACHED:.0%} of the replications to have {wanted[0]} rounds in the sample set",
            design.users,
            f"{np.mean(np.isfinite(errors[:, 0])):.0%} have under {design.policy.kind!r}; raise it, or let the "
            "policy keep more rounds",
        )


def printed_sets(problem: Problem, ridge: float, variance_max: float | None) -> dict[str, ConfidenceSets]:
    """Return the confidence sets of both versions."""
    largest = float(problem.link(problem.bounds.phi)) if variance_max is None else variance_max
    return {
        version: ConfidenceSets(
            variance_max=largest,
            dimension=problem.dimension,
            ridge=ridge,
            slope=problem.link.slope,
            bound=problem.bounds.phi,
            bound_theta=problem.bounds.theta,
            version=version,
        )
        for version in VERSIONS
    }


def radius_of(sets: ConfidenceSets, parameter: str, n: Any, delta: Any) -> Any:
    """Return the radius of the set for θ* or φ* that serves for every n at once."""
    return (sets.rho_simultaneous if parameter == "phi" else sets.alpha1)(n, delta)


@jax.jit
def _radii(sets: dict[str, ConfidenceSets], n: Any, delta: Any) -> dict[str, dict[str, jax.Array]]:
    """Return all radii, by version and parameter, in one program."""
    return {
        version: {parameter: radius_of(one, parameter, n, delta) for parameter in PARAMETERS}
        for version, one in sets.items()
    }


def _radii_at(sets: Mapping[str, ConfidenceSets], n: np.ndarray, delta: float) -> np.ndarray:
    """Return the radii (sizes, parameters, versions) at some sizes."""
    radii = _radii(dict(sets), n, delta)
    return np.stack([np.stack([radii[version][p] for version in sets], axis=-1) for p in PARAMETERS], axis=1)


def _errors_at(
    block: DataSets,
    problem: Problem,
    sets: Mapping[str, ConfidenceSets],
    delta: float,
    ridge: float,
    wanted: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return what is known of each data set at each size: arrays (sets, sizes) by name."""
    stays = jax.tree.map(lambda leaf: jnp.asarray(np.moveaxis(np.asarray(leaf), 0, -1)), block.stays)
    truths = (jnp.asarray(block.truths.theta.T), jnp.asarray(block.truths.phi.T))
    path = jax.tree.map(np.asarray, _errors_along(stays, *truths, ridge, problem.link))
    at = np.stack([np.argmax(path.n >= size, axis=0) for size in wanted], axis=1)  # (sets, sizes)
    reached = path.n[-1][:, None] >= wanted
    lanes = np.arange(path.n.shape[1])[:, None]

    def pick(values: np.ndarray) -> np.ndarray:
        return np.where(reached, values[at, lanes], np.nan)

    # While the sample set is empty its confidence set is that of one round: δ/n² needs an n.
    radii = _radii(dict(sets), np.maximum(path.n, 1.0), delta)
    found = {}
    for parameter in PARAMETERS:
        error = getattr(path, parameter)
        found[f"{parameter} error"] = pick(error)
        found[f"{parameter} largest"] = pick(np.maximum.accumulate(error))
        for version in sets:
            share = error / np.asarray(radii[version][parameter])
            found[f"{parameter} share {version}"] = pick(share)
            found[f"{parameter} largest share {version}"] = pick(np.maximum.accumulate(share))
    return found


@jax.jit
def _errors_along(stays: Stays, theta: jax.Array, phi: jax.Array, ridge: Any, link: Any) -> _Errors:
    d = theta.shape[0]

    def one(state: Any, row: Stays, theta: jax.Array, phi: jax.Array) -> Any:
        statistics, inverse = state
        statistics = glse.add(statistics, *row)
        inverse = glse.sherman_morrison(inverse, row.x, row.rounds)
        found = glse.estimate(statistics, inverse, link)
        shape = statistics.gram + ridge * jnp.eye(d)
        away = jnp.stack([found.theta - theta, found.phi - phi])
        norms = jnp.sqrt(jnp.maximum(quadratic_form(shape, away), 0.0))
        return (statistics, inverse), _Errors(statistics.count, norms[0], norms[1])

    lanes = theta.shape[1]
    nothing = jax.tree.map(jnp.asarray, glse.empty(d))
    first = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf[..., None], (*leaf.shape, lanes)), (nothing, jnp.eye(d) / ridge)
    )
    step = lambda state, row: jax.vmap(one, -1, -1)(state, row, theta, phi)  # noqa: E731
    return lax.scan(step, first, stays)[1]


def _posteriors_at(
    block: DataSets,
    target: Target,
    radii: np.ndarray,
    delta: float,
    ridge: float,
    wanted: np.ndarray,
    most: int,
    seed: int,
) -> _Posterior:
    """Return what the posterior says of the first ``most`` data sets at each size, (sets, sizes, ...) each."""
    counts = np.cumsum(np.asarray(block.stays.rounds), axis=1)
    chosen = range(min(most, len(counts)))

    def at(place: tuple[int, int]) -> _Posterior:
        number, size = place
        rows = int(np.argmax(counts[number] >= wanted[size])) + 1
        room = _SMALL if rows <= _SMALL else capacity_for(int(wanted[-1]))
        data = Stays(*(np.asarray(leaf)[number, :rows] for leaf in block.stays))  # type: ignore[arg-type]
        truth = np.stack([block.truths.phi[number], block.truths.theta[number]])
        key = jax.random.fold_in(jax.random.key(seed), 1000 * number + size)
        found = _look(target, pad(data, room), rows, truth, radii[size], delta, ridge, key)
        reached = counts[number, -1] >= wanted[size]
        return jax.tree.map(lambda leaf: np.where(reached, np.asarray(leaf, dtype=float), np.nan), found)

    places = [(number, size) for number in chosen for size in range(len(wanted))]
    looks = list(side_by_side(at, places))
    shape = (len(chosen), len(wanted))
    return jax.tree.map(lambda *leaves: np.stack(leaves).reshape(*shape, *leaves[0].shape), *looks)


@jax.jit
def _look(
    target: Target,
    data: Stays,
    rows: Any,
    truth: Any,
    radii: Any,
    delta: Any,
    ridge: Any,
    key: jax.Array,
) -> _Posterior:
    d = data.x.shape[1]
    engine = Laplace()
    belief = engine.fit(target, [(data, rows)], engine.init(target))
    z = jax.vmap(lambda key: engine.draw(target, belief, key))(jax.random.split(key, _DRAWS))
    theta, phi = target.coefficients(z)
    each = jax.vmap(functools.partial(glse.add, glse.empty(d)))(*data)
    statistics = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), each)
    found = glse.solve(statistics, ridge, target.setting.link)
    shape = statistics.gram + ridge * jnp.eye(d)

    def one(draws: jax.Array, centre: jax.Array, truth: jax.Array, radii: jax.Array) -> _Posterior:
        away = jnp.sqrt(quadratic_form(shape, draws - centre))
        radius = jnp.quantile(away, 1.0 - delta)
        mean, covariance = jnp.mean(draws, axis=0), jnp.cov(draws, rowvar=False)
        precision = _inverse(covariance.reshape(d, d))
        own = jnp.quantile(quadratic_form(precision, draws - mean), 1.0 - delta)
        # Volumes, each over that of the unit ball: r^d / √det V against own^{d/2} √det Σ.
        log_volume = d * (jnp.log(radii) - 0.5 * jnp.log(own)) - 0.5 * (
            log_determinant(shape) - log_determinant(precision)
        )
        return _Posterior(
            radius,
            jnp.mean(away[:, None] <= radii, axis=0),
            jnp.sqrt(quadratic_form(shape, truth - centre)) <= radius,
            log_volume,
            contract(contract(precision, truth - mean), truth - mean) <= own,
        )

    return jax.vmap(one)(jnp.stack([phi, theta]), jnp.stack([found.phi, found.theta]), truth, radii)


def _dataset(
    found: dict[str, np.ndarray],
    seen: _Posterior,
    sets: Mapping[str, ConfidenceSets],
    radii: np.ndarray,
    delta: float,
    wanted: np.ndarray,
) -> xarray.Dataset:
    kept = _reached(found["phi error"])
    n = wanted[kept]

    def quantile(name: str) -> np.ndarray:
        return _quantile(found[name][:, kept], 1.0 - delta)

    def quantile_se(name: str) -> np.ndarray:
        return _bootstrap_error(found[name][:, kept], 1.0 - delta)

    def mean(leaf: Any) -> np.ndarray:
        return np.moveaxis(np.nanmean(np.asarray(leaf)[:, kept], axis=0), 0, 1)

    def covered(name: str) -> np.ndarray:
        values = found[name][:, kept]
        return np.nanmean(np.where(np.isnan(values), np.nan, values <= 1.0), axis=0)

    by = ("parameter", "n")
    versions = list(sets)

    def of_each(*names: str) -> np.ndarray:
        return np.array([[found[f"{p} {name}"][:, kept] for name in names] for p in PARAMETERS])

    def of_versions(make: Callable[[str, str], np.ndarray]) -> Any:
        table = [[make(parameter, version) for version in versions] for parameter in PARAMETERS]
        return ("parameter", "version", "n"), np.array(table)

    return xarray.Dataset(
        {
            "radius": (("parameter", "version", "n"), np.moveaxis(radii[kept], 0, -1)),
            "quantile": (by, np.array([quantile(f"{p} error") for p in PARAMETERS])),
            "quantile_simultaneous": (by, np.array([quantile(f"{p} largest") for p in PARAMETERS])),
            "factor": of_versions(lambda p, v: quantile(f"{p} largest share {v}")),
            "quantile_se": (by, np.array([quantile_se(f"{p} error") for p in PARAMETERS])),
            "quantile_simultaneous_se": (by, np.array([quantile_se(f"{p} largest") for p in PARAMETERS])),
            "factor_se": of_versions(lambda p, v: quantile_se(f"{p} largest share {v}")),
            "posterior_radius_se": (by, _error_of_mean(np.asarray(seen.radius)[:, kept])),
            "reached": ("n", np.isfinite(found["phi error"][:, kept]).sum(axis=0)),
            "coverage": of_versions(lambda p, v: covered(f"{p} share {v}")),
            "coverage_simultaneous": of_versions(lambda p, v: covered(f"{p} largest share {v}")),
            "posterior_radius": (by, mean(seen.radius)),
            "posterior_coverage": (by, mean(seen.covers)),
            "ellipsoid_coverage": (by, mean(seen.ellipsoid)),
            "error": (("parameter", "replication", "n"), of_each("error")[:, 0]),
            "largest_error": (("parameter", "replication", "n"), of_each("largest")[:, 0]),
            "largest_share": (
                ("parameter", "version", "replication", "n"),
                of_each(*(f"largest share {version}" for version in versions)),
            ),
            "posterior_mass": (("parameter", "n", "version"), mean(seen.mass)),
            "log_volume_ratio": (("parameter", "n", "version"), mean(seen.log_volume)),
        },
        coords={"parameter": list(PARAMETERS), "n": n, "version": versions},
        attrs={
            "delta": delta,
            "replications": len(found["phi error"]),
            "fits": len(seen.radius),
            "variance_max": float(sets["paper"].variance_max),
            "c1": float(sets["paper"].c1),
            "c2": float(sets["paper"].c2),
        },
    )


def _quantile(values: np.ndarray, probability: float) -> np.ndarray:
    """Return for each column the value that a further one is below with this probability; NaN counts for nothing."""
    of = np.quantile if np.isfinite(values).all() else np.nanquantile
    return np.asarray(of(values, probability, axis=0, method="weibull"))


def _bootstrap_error(values: np.ndarray, probability: float) -> np.ndarray:
    """Return the standard error of such a quantile over rows, by drawing rows anew; always the same draws."""
    rows = np.random.default_rng(0).integers(len(values), size=(_RESAMPLES, len(values)))
    return np.std([_quantile(values[some], probability) for some in rows], axis=0, ddof=1)


def _error_of_mean(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over fits (fits, sizes, parameters), by parameter; NaN of a single one."""
    count = np.isfinite(values).sum(axis=0)
    away = np.nansum((values - np.nanmean(values, axis=0)) ** 2, axis=0)
    return np.where(count > 1, np.sqrt(away / np.maximum(count - 1, 1) / np.maximum(count, 1)), np.nan).T


def owed(dataset: xarray.Dataset, problem: Problem, ridge: float | None = None) -> xarray.Dataset:
    """Return what ρ_n/quantile is made of, for φ: factors whose product it is, by n.

    Parameters
    ----------
    dataset : xarray.Dataset
        What :func:`compare_sets` returned.
    problem : Problem
        What was played.
    ridge : float, optional
        λ; that of ``dataset`` unless given.

    Returns
    -------
    xarray.Dataset
        Over n: ``total`` and its factors ``union``, ``scale``, ``product``, ``rest`` and
        ``simultaneity``; and ``share_of_product``, that of α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾) in the printed ρ_n.
    """
    given = dataset.attrs["ridge"] if ridge is None else ridge
    sets = printed_sets(problem, given, dataset.attrs["variance_max"])
    n, of_phi = dataset.n.values.astype(float), dataset.sel(parameter="phi")
    with double_precision():
        parts = jax.tree.map(np.asarray, _parts_of_rho(sets, n, dataset.attrs["delta"]))
    simultaneous, pointwise = of_phi.quantile_simultaneous.values, of_phi["quantile"].values
    factors = {
        "total": parts.printed / pointwise,
        "union": parts.printed / parts.at_one,
        "scale": parts.at_one / parts.mended,
        "product": parts.mended / parts.known_mean,
        "rest": parts.known_mean / simultaneous,
        "simultaneity": simultaneous / pointwise,
        "share_of_product": parts.product / parts.printed,
    }
    return xarray.Dataset(
        {name: ("n", values) for name, values in factors.items()}, coords={"n": dataset.n.values}
    )


class _Parts(NamedTuple):
    """ρ_n as printed, and what is left of it step by step; (sizes,) each."""

    printed: jax.Array  # ρ_n(δ/n²)
    product: jax.Array  # of which α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾)/M_f
    at_one: jax.Array  # ρ_n(δ), for one n only
    mended: jax.Array  # that of the corrected set
    known_mean: jax.Array  # that again, were θ* known


@jax.jit
def _parts_of_rho(sets: Mapping[str, ConfidenceSets], n: jax.Array, delta: Any) -> _Parts:
    paper, corrected = sets["paper"], sets["corrected"]
    third = delta / n**2 / 3
    alpha1 = paper.alpha1(n, third)
    known_mean = corrected.alpha2(delta / 3) / corrected.slope + corrected.bound * jnp.sqrt(corrected.ridge)
    return _Parts(
        printed=paper.rho(n, delta / n**2),
        product=alpha1 * (alpha1 + 2 * paper.alpha3(third)) / paper.slope,
        at_one=paper.rho(n, jnp.full_like(n, delta)),
        mended=corrected.rho(n, delta),
        known_mean=known_mean,
    )
