"""Predictive distributions of outcomes given draws of θ, φ and further sites.

All functions run the model's NumPyro program, so that they also serve models of one's own
with latent sites beyond θ and φ.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_likelihood as log_likelihood_of_program

from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.types import Array, PyTree
from hrprob.estimation.posterior.sites import agrees, extra_sites, runs_alone
from hrprob.estimation.posterior.target import Target
from hrprob.models import Model, Rounds, rounds
from hrprob.noise import Noise
from hrprob.noise.distribution import probability_below

__all__ = ["given_others", "log_likelihood", "log_prior", "outcomes", "prior", "reneging"]

Values = Mapping[str, Array]
"""Draws (draws, ...) by site."""

# Draws computed together; it divides the usual numbers of draws, so that no second program is compiled for a remainder.
_BATCH = 50


def log_likelihood(
    target: Target, x: np.ndarray, r: np.ndarray, values: Values, columns: Values | None = None
) -> np.ndarray:
    """Return the log likelihood of every round under every draw, (draws, rounds); its sum is that of all rounds.

    Under a model of users who differ, each round has an equal share of that of its user's rounds.
    """
    with double_precision():
        return np.asarray(_log_likelihood(target, _rounds(x, r, columns), _arrays(values)))


def given_others(
    target: Target, x: np.ndarray, r: np.ndarray, values: Values, columns: Values
) -> tuple[np.ndarray, np.ndarray]:
    """Return ln p and the distribution function of every round given the other rounds of its user, (draws, rounds) each.

    For models whose rounds depend on each other, which have a method of this name.
    """
    with double_precision():
        density, below = _given_others(target, _rounds(x, r, columns), _arrays(values))
        return np.asarray(density), np.asarray(below)


def log_prior(target: Target, x: np.ndarray, values: Values, columns: Values | None = None) -> Values:
    """Return the log prior density of every draw, (draws,) by site."""
    with double_precision():
        data, one = _all_and_one(x, columns)
        # One round is enough, unless each round has sites of its own.
        least = one if extra_sites(target, one) == extra_sites(target, data) else data
        found = _log_prior(target, least, _arrays(values))
        return {name: np.asarray(value) for name, value in found.items()}


def outcomes(
    target: Target, x: np.ndarray, values: Values, key: jax.Array, columns: Values | None = None
) -> np.ndarray:
    """Return one new outcome of every round under every draw, (draws, rounds)."""
    with double_precision():
        arrays = _arrays(values)
        keys = jax.random.split(key, len(arrays["theta"]))
        return np.asarray(_outcomes(target, _rounds(x, np.zeros(len(x)), columns), arrays, keys))


def prior(target: Target, x: np.ndarray, key: jax.Array, draws: int, columns: Values | None = None) -> Values:
    """Return draws (draws, ...) of all sites from the prior."""
    with double_precision():
        data, one = _all_and_one(x, columns)
        sites = extra_sites(target, data)
        # One round is enough, unless each round has sites of its own.
        least = one if extra_sites(target, one) == sites else data
        drawn = _prior(target, least, jax.random.split(key, draws))
        return {name: np.asarray(drawn[name]) for name in ("theta", "phi", *(name for name, _ in sites))}


def reneging(
    target: Target, x: np.ndarray, beta: np.ndarray, values: Values, columns: Values | None = None
) -> np.ndarray:
    """Return the probability of reneging at contexts x, (draws, contexts)."""
    with double_precision():
        arrays = _arrays(values)
        if len(arrays) > 2 or not _has_noise(target.model):
            return _probability_by_program(target, x, beta, arrays, columns)
        u, w = jax.vmap(lambda theta, phi: target.setting.moments(theta, phi, jnp.asarray(x)))(
            arrays["theta"], arrays["phi"]
        )
        noise: Noise = target.model.noise
        return np.asarray(lifetime.reneging_probability(u, w, beta, noise))


def _has_noise(model: Model) -> bool:
    """Return whether a model's noise is that of its program: `outcome` defines both, or the model has its own."""
    return agrees(model) or type(model).noise is not Model.noise


def _probability_by_program(
    target: Target, x: np.ndarray, beta: np.ndarray, arrays: Values, columns: Values | None
) -> np.ndarray:
    """Return the probability of an outcome below β by the distribution that the program samples from."""

    def first(n: int) -> Rounds:
        same = None if columns is None else {name: column[[0] * n] for name, column in columns.items()}
        return _rounds(x[[0] * n], np.zeros(n), same)

    one, two = (extra_sites(target, first(n)) for n in (1, 2))
    if one != two:
        got = ", ".join(name for name, _ in one)
        remedy = "a site with one value per round says nothing about a new round; leave out `beta`"
        raise InvalidInput("model", "must have sites that do not grow with the rounds", got, remedy)
    try:
        data = _rounds(x, np.zeros(len(x)), columns)
        return np.asarray(_probabilities(target, data, jnp.asarray(beta), arrays))
    except NotImplementedError:
        remedy = "the distribution of its outcome has no `cdf`: write one, or leave out `beta`"
        raise InvalidInput(
            "model", "must know the probability of reneging", target.model.kind, remedy
        ) from None


@jax.jit
def _log_likelihood(target: Target, data: Rounds, values: Values) -> jax.Array:
    arguments = (data, target.setting, target.prior)

    @runs_alone
    def one(values: Values) -> jax.Array:
        by_site = log_likelihood_of_program(target.model.conditioned, values, *arguments, batch_ndims=0)
        return by_site["r"]

    return jax.lax.map(one, values, batch_size=_BATCH)


@jax.jit
def _given_others(target: Target, data: Rounds, values: Values) -> PyTree:
    def one(values: Values) -> PyTree:
        theta, phi = (jnp.asarray(values[name]) for name in ("theta", "phi"))
        moments = target.setting.moments(theta, phi, data.x)
        return target.model.given_others(data, *moments, values)  # type: ignore[attr-defined]

    return jax.lax.map(one, values, batch_size=_BATCH)


@jax.jit
def _outcomes(target: Target, data: Rounds, values: Values, keys: jax.Array) -> jax.Array:
    def one(pair: tuple[Values, jax.Array]) -> jax.Array:
        return _run(target, data, *pair)["r"]["value"].reshape(len(data.x), -1)[:, 0]

    return jax.lax.map(one, (values, keys), batch_size=_BATCH)


@jax.jit
def _prior(target: Target, data: Rounds, keys: jax.Array) -> Values:
    def one(key: jax.Array) -> Values:
        trace = _run(target, data, {}, key)
        latent = (name for name, site in trace.items() if site["type"] == "sample" and name != "r")
        return {name: trace[name]["value"] for name in latent}

    return jax.lax.map(one, keys, batch_size=_BATCH)


@jax.jit
def _log_prior(target: Target, data: Rounds, values: Values) -> Values:
    def one(values: Values) -> Values:
        trace = _run(target, data, values, jax.random.key(0))
        return {name: jnp.sum(trace[name]["fn"].log_prob(value)) for name, value in values.items()}

    return jax.lax.map(one, values, batch_size=_BATCH)


@jax.jit
def _probabilities(target: Target, data: Rounds, beta: jax.Array, values: Values) -> jax.Array:
    def one(values: Values) -> jax.Array:
        outcome = _run(target, data, values, jax.random.key(0))["r"]["fn"]
        while isinstance(outcome, dist.Independent | dist.MaskedDistribution):
            outcome = outcome.base_dist
        # Outcomes of a row have an axis of their own, unless the program is a function of somebody else.
        levels = beta if len(outcome.batch_shape) == 1 else beta[:, None]
        probability = probability_below(outcome, levels, outcome.cdf)
        return jnp.broadcast_to(probability, levels.shape).reshape(len(data.x), -1)[:, 0]

    return jax.lax.map(one, values, batch_size=_BATCH)


@runs_alone
def _run(target: Target, data: Rounds, values: Values, key: jax.Array) -> PyTree:
    """Return the trace of one unconditioned run of the program with these values at its sites."""
    program = handlers.seed(handlers.substitute(target.model.program, values), key)
    return handlers.trace(program).get_trace(data, target.setting, target.prior)


def _rounds(x: np.ndarray, r: np.ndarray, columns: Values | None = None) -> Rounds:
    return jax.tree.map(jnp.asarray, rounds(x, r, columns))


def _all_and_one(x: np.ndarray, columns: Values | None) -> tuple[Rounds, Rounds]:
    """Return rounds without outcomes: all of them, and the first alone."""
    first = None if columns is None else {name: column[:1] for name, column in columns.items()}
    return _rounds(x, np.zeros(len(x)), columns), _rounds(x[:1], np.zeros(1), first)


def _arrays(values: Values) -> Values:
    return {name: jnp.asarray(value) for name, value in values.items()}
