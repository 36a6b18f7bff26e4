r"""Particles over φ for normal outcomes, with θ integrated out.

Particles are values of φ (in the coordinates z_φ); given φ, θ is normal
(:mod:`.conjugate`). A user with (x, m, Σr, Σr²) multiplies the weight of a particle by
the likelihood of the stay given all stays before it, with u = θᵀx ~ N(μ, s) and w = f(φᵀx):

.. math:: \ln p = -\tfrac m2 \ln(2\pi w) - \tfrac12\ln(1 + ms/w)
    - \frac1{2w}\Big[\sum r^2 - 2\mu\sum r + m\mu^2
    - \frac{s(\sum r - m\mu)^2}{w + ms}\Big].

A draw picks a particle by its weight, draws θ given it, and accepts the pair with the probability of
:mod:`.conjugate`: so the prior of θ is the one on the ball, exactly. Metropolis steps of θ together with
φ would be rejected nine times in ten instead.

A power τ of the likelihood of normal rounds is the likelihood of τm rounds with sums τΣr and τΣr², up to a
constant: a tempered posterior is that of such stays, exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.types import Number, PyTree
from hrprob.estimation.posterior.conjugate import (
    first_accepted,
    log_acceptance,
    prior_precision,
    project_onto_ball,
)
from hrprob.estimation.posterior.target import Target, sum_over_rows
from hrprob.models.ball import from_ball, gain, to_ball
from hrprob.models.base import normal_given_phi
from hrprob.models.priors.base import has_theta_precision, theta_precision
from hrprob.numerics.control_flow import once
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.logarithm import log, log_and_reciprocal
from hrprob.numerics.products import contract
from hrprob.observations import Stays, Tables

__all__ = ["Given", "absorb", "draw", "draw_coefficients", "posterior", "serves", "start"]

# Rows that all particles sum over in one step, where a buffer has whole blocks of them, and else.
_BLOCK, _SMALL_BLOCK = 128, 32


class Given(NamedTuple):
    """θ given each particle: normal, with this covariance and the mean covariance·sum_rx; and its φ."""

    covariance: jax.Array  # (particles, d, d)
    sum_rx: jax.Array  # (particles, d) Σ r x / w
    phi: jax.Array  # (particles, d)


class _Sums(NamedTuple):
    """Sums over all stays at some values of φ, sufficient for the likelihood with θ integrated out."""

    log_variance: jax.Array  # (particles,) Σ m ln w
    by_variance: jax.Array  # (particles, 1 + d + d(d+1)/2): sums of Σr² / w, of x Σr / w and of m x xᵀ / w


def serves(target: Target) -> bool:
    """Say whether θ can be integrated out: normal outcomes, and a prior that is normal or uniform on the ball."""
    return normal_given_phi(target.model) and has_theta_precision(target.prior)


def start(target: Target, key: jax.Array, particles: int) -> tuple[jax.Array, Given]:
    """Return particles z_φ (particles, d) from the prior, and θ given each."""
    d = target.setting.dimension
    prior = jnp.eye(d) / prior_precision(d, target.setting.bounds.theta, _theta_precision(target))
    z = target.prior_of_phi(key, particles)
    phi = to_ball(z, target.setting.bounds.phi)
    return z, Given(jnp.tile(prior, (particles, 1, 1)), jnp.zeros((particles, d)), phi)


def absorb(target: Target, z: jax.Array, given: Given, stay: Stays) -> tuple[jax.Array, Given]:
    """Return the log likelihood of one more stay, x (d,) and its sums (), and θ given it too."""
    stay = _tempered(target, stay)
    w = target.setting.variance(contract(given.phi, stay.x))
    m = stay.rounds
    along = contract(given.covariance, stay.x)  # (particles, d)
    s = contract(along, stay.x)
    mu = contract(along, given.sum_rx)
    off = stay.total - m * mu
    spread = stay.squares - 2.0 * mu * stay.total + m * mu * mu - s * off * off / (w + m * s)
    log_probability = -0.5 * ((m - 1.0) * log(w) + log(w + m * s) + spread / w)
    shrink = (m / (w + m * s))[:, None, None] * along[:, :, None] * along[:, None, :]
    return log_probability, Given(
        given.covariance - shrink, given.sum_rx + (stay.total / w)[:, None] * stay.x, given.phi
    )


def posterior(target: Target, tables: Tables, z: jax.Array) -> tuple[jax.Array, Given]:
    """Return ln p(z_φ | all stays) of each particle up to a constant, and θ given it."""
    n, d = z.shape
    phi = to_ball(z, target.setting.bounds.phi)
    one, other = np.tril_indices(d)
    sums = _Sums(jnp.zeros(n), jnp.zeros((n, 1 + d + len(one))))

    def block(data: Stays, phi: jax.Array) -> _Sums:
        data = _tempered(target, data)
        x = data.x.T  # with the rows last, sums and products are vector instructions over them
        w = target.setting.variance(phi @ x)  # (particles, rows)
        weighted = [data.squares[None], data.total * x, data.rounds * x[one] * x[other]]
        log_w, precision = log_and_reciprocal(w)
        return _Sums(log_w @ data.rounds, precision @ jnp.concatenate(weighted).T)

    for data, rows in tables:
        capacity = jax.tree.leaves(data)[0].shape[0]
        size = _SMALL_BLOCK if capacity % _BLOCK else _BLOCK
        sums = jax.tree.map(jnp.add, sums, sum_over_rows(block, data, rows, (phi,), sums, size=size))
    prior = prior_precision(d, target.setting.bounds.theta, _theta_precision(target))
    squares, sum_rx, gram = jnp.split(sums.by_variance, [1, 1 + d], axis=1)
    place = np.zeros((d, d), int)
    place[one, other] = place[other, one] = np.arange(len(one))
    precision = gram[:, place] + prior * jnp.eye(d)
    factor = cholesky(precision)
    covariance = inverse_of(factor)
    fitted = contract(contract(covariance, sum_rx[:, None, :]), sum_rx)
    determinant = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    value = -0.5 * (sums.log_variance + squares[:, 0] - fitted + contract(z, z)) - determinant
    return value + _phi_tilt(target, phi), Given(covariance, sum_rx, phi)


def draw(
    target: Target, z: jax.Array, weight: jax.Array, given: Given, key: jax.Array, tries: int, scale: Number
) -> jax.Array:
    """Return one draw of (z_θ, z_φ), its distance from the mean multiplied by ``scale``.

    Of some proposals, each a particle and θ given it, the first that is accepted is the draw.
    """
    theta, pick = _draw(target, z, weight, given, key, tries)
    both = _position(target, theta, z[pick])

    def stretched(both: jax.Array) -> jax.Array:
        centre = _centre(target, z, weight, given)
        return centre + scale * (both - centre)

    # The mean is costly, and not needed with scale 1.
    return once(scale != 1.0, stretched, both)


def draw_coefficients(
    target: Target, z: jax.Array, weight: jax.Array, given: Given, key: jax.Array, tries: int, scale: Number
) -> tuple[jax.Array, jax.Array]:
    """Return θ and φ of :func:`draw`, with scale 1 without the way through z."""
    theta, pick = _draw(target, z, weight, given, key, tries)

    def stretched(_: PyTree) -> tuple[jax.Array, jax.Array]:
        centre = _centre(target, z, weight, given)
        return target.coefficients(centre + scale * (_position(target, theta, z[pick]) - centre))

    return once(scale != 1.0, stretched, (theta, given.phi[pick]))


def _position(target: Target, theta: jax.Array, z_phi: jax.Array) -> jax.Array:
    # A point on the sphere has no finite z: take one just within.
    return jnp.concatenate([from_ball((1.0 - 1e-12) * theta, target.setting.bounds.theta), z_phi])


def _draw(
    target: Target, z: jax.Array, weight: jax.Array, given: Given, key: jax.Array, tries: int
) -> tuple[jax.Array, jax.Array]:
    """Return θ (d,), and the index of its particle."""
    bounds = target.setting.bounds
    by_pick, by_theta, by_accept = jax.random.split(key, 3)
    edges = jnp.cumsum(weight)
    picks = jnp.searchsorted(edges, jax.random.uniform(by_pick, (tries,)) * edges[-1])
    picks = jnp.minimum(picks, z.shape[0] - 1)
    covariance, sum_rx = given.covariance[picks], given.sum_rx[picks]
    mean = contract(covariance, sum_rx[:, None, :])
    noise = jax.random.normal(by_theta, mean.shape)
    thetas = mean + contract(cholesky(covariance), noise[:, None, :])
    theta, number = first_accepted(by_accept, thetas, bounds.theta, _theta_precision(target))
    return theta, picks[number]


def _centre(target: Target, z: jax.Array, weight: jax.Array, given: Given) -> jax.Array:
    """Return the mean of (z_θ, z_φ), from two antithetic draws of θ for every particle."""
    radius, wanted = target.setting.bounds.theta, _theta_precision(target)
    mean = contract(given.covariance, given.sum_rx[:, None, :])
    noise = jax.random.normal(jax.random.key(0), mean.shape)
    off = contract(cholesky(given.covariance), noise[:, None, :])
    tries = jnp.concatenate([mean + off, mean - off])
    log_weight = log_acceptance(tries, radius, wanted) + jnp.tile(jnp.log(weight), 2)
    inside = project_onto_ball(tries, radius)
    both = jnp.concatenate([_roughly_from_ball(inside, radius), jnp.tile(z, (2, 1))], axis=-1)
    return jax.nn.softmax(log_weight) @ both


def _roughly_from_ball(theta: jax.Array, radius: Number) -> jax.Array:
    """Return z of θ (..., d) to a thousandth, accurate enough for a mean: by interpolation in a table."""
    d = theta.shape[-1]
    lengths = jnp.linspace(0.0, math.sqrt(d) + 6.0, 128)
    size = jnp.sqrt(contract(theta, theta))
    length = jnp.interp(size / radius, lengths * gain(0.5 * lengths**2, d), lengths)
    return theta * (length / jnp.maximum(size, 1e-12))[..., None]


def _tempered(target: Target, stays: Stays) -> Stays:
    """Return stays with a likelihood that is that of ``stays`` to the power ``temper``: τm rounds, with τΣr and τΣr²."""
    if target.temper is None:
        return stays
    return Stays(stays.x, *(target.temper * sums for sums in (stays.rounds, stays.total, stays.squares)))


def _theta_precision(target: Target) -> Number:
    """Return κ₀, the precision of θ under the prior before its truncation to the ball."""
    precision = theta_precision(target.prior, target.setting)
    assert precision is not None  # asked by `serves`
    return precision


def _phi_tilt(target: Target, phi: jax.Array) -> jax.Array:
    """Return the log density of φ (particles, d) with respect to the uniform prior, up to a constant."""
    return target.prior.log_tilt(jnp.zeros_like(phi), phi, target.setting)
