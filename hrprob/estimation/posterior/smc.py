r"""Sequential Monte Carlo over the stream of users, θ integrated out.

Particles are values of φ (in the coordinates z_φ); given φ, θ is normal
(:mod:`.conjugate`). A user with (x, m, Σr, Σr²) multiplies the weight of a particle by
the chance of the stay given all before it, with u = θᵀx ~ N(μ, s) and w = f(φᵀx):

.. math:: \ln p = -\tfrac m2 \ln(2\pi w) - \tfrac12\ln(1 + ms/w)
    - \frac1{2w}\Big[\sum r^2 - 2\mu\sum r + m\mu^2
    - \frac{s(\sum r - m\mu)^2}{w + ms}\Big].

Whenever it is time, and whenever the effective number of particles falls below a quarter, the
particles are resampled and moved by Metropolis steps against all stays so far [1]_, in turn a
leap to anywhere in the normal distribution with the particles' own moments, which most
particles take, and a step of a random walk, which mends what that normal misses. Where
less than a sixteenth of the particles carry the weight, they would be moved from hardly any places:
instead they go back to where they were and on to the posterior p in several moves, against
q^{1−τ}p^τ with q the normal of where they were and τ rising to 1, each time by as much as leaves a
quarter of them [2]_. Of many trials those are moved, one after another, whose time it is: a move
costs as much as thousands of users. A draw takes a particle by its weight, θ given it, and keeps the pair as
:mod:`.conjugate` says: so the prior of θ is the one on the ball, exactly. Moving θ along with φ
instead would be refused nine times in ten.

References
----------
.. [1] N. Chopin, "A sequential particle filter method for static models",
   Biometrika 89(3), 2002.
.. [2] P. Del Moral, A. Doucet, A. Jasra, "Sequential Monte Carlo samplers", Journal of the
   Royal Statistical Society B 68(3), 2006.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from hrprob.errors import InvalidInput, check_count
from hrprob.estimation.contraction import contract
from hrprob.estimation.factors import cholesky
from hrprob.estimation.posterior.conjugate import (
    keep_in_ball,
    log_chance_in_ball,
    prior_precision,
    pulled_onto_ball,
)
from hrprob.estimation.posterior.rows import once, one_by_one
from hrprob.estimation.posterior.target import Target, sum_over_rows
from hrprob.models import Gaussian, priors
from hrprob.models.ball import from_ball, gain, to_ball
from hrprob.models.data import Stays
from hrprob.record import record, settle

__all__ = ["SMC", "Cloud"]

_PRIORS = (priors.Uniform, priors.Gaussian)
# Leaps spread so much wider than the particles.
_WIDER = 1.2
# Below this share of effective particles they are moved at once; above it their spread is trusted.
_LEAST_SHARE = 0.25
# Below this one the posterior is too far away for one move.
_FEW_SHARE = 1 / 16
# Moves towards a posterior far away, of which the last goes all the way.
_MOST_STEPS = 64
# Rows looked at by all particles in one step.
_BLOCK = 32


class Cloud(NamedTuple):
    """Weighted particles over φ, each with its normal posterior of θ."""

    z: jax.Array  # (particles, d) z_φ
    log_weight: jax.Array  # (particles,)
    covariance: jax.Array  # (particles, d, d) of θ
    sum_rx: jax.Array  # (particles, d) Σ r x / w
    key: jax.Array  # (2,) uint32, of the next move


class _Normal(NamedTuple):
    """The normal distribution with the moments of weighted particles."""

    mean: jax.Array  # (d,)
    factor: jax.Array  # (d, d)
    inverse: jax.Array  # (d, d) of the covariance

    @classmethod
    def of(cls, z: jax.Array, weight: jax.Array) -> _Normal:
        """Return that of particles z (particles, d)."""
        mean = weight @ z
        spread = (z - mean).T @ (weight[:, None] * (z - mean)) + 1e-9 * jnp.eye(z.shape[-1])
        factor = cholesky(spread)
        return cls(mean, factor, _inverse(factor))

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln q(z) of each z (particles, d), up to a constant."""
        return -0.5 * contract(contract(self.inverse, (z - self.mean)[:, None, :]), z - self.mean)


class _Bridge(NamedTuple):
    """Particles on their way to a posterior."""

    cloud: Cloud
    value: jax.Array  # (particles,) ln p of each
    power: jax.Array  # () τ
    steps: jax.Array  # () int


class _Sums(NamedTuple):
    """What all stays say of θ and φ at some φ's."""

    log_variance: jax.Array  # (particles,) Σ m ln w
    squares: jax.Array  # (particles,) Σ Σr² / w
    sum_rx: jax.Array  # (particles, d)
    gram: jax.Array  # (particles, d·d) Σ m x xᵀ / w


@record(static=("particles", "moves", "tries"))
class SMC:
    """The engine ``smc``.

    Parameters
    ----------
    particles : int
        Values of φ that are carried along.
    moves : int
        Metropolis steps of each particle when it is time.
    tries : int
        Tries at a draw of θ in its ball, the last resort after which is the nearest point of it.
        A policy draws for every user and has few; a fit takes a thousand.
    """

    kind: ClassVar[str] = "smc"
    streaming: ClassVar[bool] = True
    refit: ClassVar[float] = 1.2
    particles: int = 256
    moves: int = 4
    tries: int = 12

    def __post_init__(self) -> None:
        settle(
            self,
            particles=check_count("particles", self.particles, low=2, high=10**6, remedy="256 do for d = 4"),
            moves=check_count(
                "moves", self.moves, high=10**6, remedy="without a move particles only die out"
            ),
            tries=check_count("tries", self.tries, high=10**6, remedy="12 do for a policy"),
        )

    def init(self, target: Target, key: jax.Array | None = None) -> Cloud:
        """Return particles from the prior of φ."""
        _check_conjugate(target)
        d, n = target.setting.dimension, self.particles
        by_place, by_moves = jax.random.split(jax.random.key(0) if key is None else key)
        prior = jnp.eye(d) / prior_precision(d, target.setting.bounds.theta, _theta_precision(target))
        return Cloud(
            target.prior_of_phi(by_place, n),
            jnp.zeros(n),
            jnp.tile(prior, (n, 1, 1)),
            jnp.zeros((n, d)),
            jax.random.key_data(by_moves),
        )

    def absorb(self, target: Target, belief: Cloud, stay: Stays) -> Cloud:
        """Return the particles after one more stay: x (d,) and its sums ()."""
        _, w = self._moments(target, belief.z, stay.x)
        m = stay.rounds
        along = contract(belief.covariance, stay.x)  # (particles, d)
        s = contract(along, stay.x)
        mu = contract(along, belief.sum_rx)
        off = stay.total - m * mu
        spread = stay.squares - 2.0 * mu * stay.total + m * mu * mu - s * off * off / (w + m * s)
        gain = -0.5 * (m * jnp.log(w) + jnp.log1p(m * s / w) + spread / w)
        shrink = (m / (w + m * s))[:, None, None] * along[:, :, None] * along[:, None, :]
        return Cloud(
            belief.z,
            belief.log_weight + gain,
            belief.covariance - shrink,
            belief.sum_rx + (stay.total / w)[:, None] * stay.x,
            belief.key,
        )

    def refresh(self, target: Target, tables: Any, belief: Cloud, due: Any) -> Cloud:
        """Return the particles moved where it is time or they are worn, else as they are."""

        def fit(belief: Cloud, given: tuple[Target, Any]) -> Cloud:
            return self.fit(*given, start=belief)

        return one_by_one(due | self.worn(belief), fit, belief, (target, tables))

    def fit(self, target: Target, tables: Any, start: Cloud) -> Cloud:
        """Return the particles resampled and moved, given all stays: pairs of data and rows in use."""
        far = _effective(start.log_weight) < _FEW_SHARE * self.particles
        before = _Normal.of(start.z, jnp.full(self.particles, 1.0 / self.particles))

        def move(now: _Bridge) -> _Bridge:
            # As far towards the posterior as leaves enough particles with weight.
            ahead = (1.0 - now.power) * (now.value - before.log_density(now.cloud.z))
            part = jnp.where(now.steps < _MOST_STEPS - 1, _largest_power(ahead), 1.0)
            last = ~far | (part >= 1.0)
            power = jnp.where(last, 1.0, now.power + part * (1.0 - now.power))
            weight = jnp.where(far, part * ahead, now.cloud.log_weight)
            moved, value = self._moved(target, tables, now.cloud._replace(log_weight=weight), power, before)
            return _Bridge(moved, value, power, now.steps + 1)

        value = once(
            far, lambda _: self._posterior(target, tables, start.z)[0], jnp.zeros_like(start.log_weight)
        )
        first = _Bridge(start, value, jnp.zeros(()), jnp.zeros((), jnp.int32))
        return lax.while_loop(lambda now: now.power < 1.0, move, first).cloud

    def _moved(
        self, target: Target, tables: Any, start: Cloud, power: jax.Array, before: _Normal
    ) -> tuple[Cloud, jax.Array]:
        """Return the particles resampled and moved, and ln p of each.

        They are moved against the posterior to this power, times ``before`` to what is left of 1.
        """
        n, d = start.z.shape
        # The same first key serves every trial; what a trial has seen tells them apart.
        seen = lax.bitcast_convert_type(start.log_weight.astype(jnp.float32), jnp.uint32)
        key = jax.random.fold_in(jax.random.wrap_key_data(start.key), seen[0] ^ seen[1])
        by_pick, by_moves, after = jax.random.split(key, 3)
        weight = jax.nn.softmax(start.log_weight)
        # Particles of little weight tell of the spread too, where few have much.
        level = jax.nn.softmax(_largest_power(start.log_weight) * start.log_weight)
        here = _Normal.of(start.z, level)
        picked = start.z[_systematic(by_pick, weight, n)]

        def move(number: Any, now: Any) -> Any:
            z, level, value, rest = now
            by_step, by_chance = jax.random.split(jax.random.fold_in(by_moves, number))
            noise = contract(here.factor, jax.random.normal(by_step, z.shape)[:, None, :])
            leaps = number % 2 == 1
            there = jnp.where(leaps, here.mean + _WIDER * noise, z + (2.38 / jnp.sqrt(1.0 * d)) * noise)
            there = jnp.where(number == 0, z, there)
            value_there, rest_there = self._posterior(target, tables, there)
            level_there = power * value_there + (1.0 - power) * before.log_density(there)
            back = (here.log_density(z) - here.log_density(there)) / _WIDER**2
            odds = level_there - level + jnp.where(leaps, back, 0.0)
            taken = jnp.log(jax.random.uniform(by_chance, (n,))) < odds
            return jax.tree.map(
                lambda new, old: jnp.where(taken.reshape((n,) + (1,) * (new.ndim - 1)), new, old),
                (there, level_there, value_there, rest_there),
                (z, level, value, rest),
            )

        # The first step goes nowhere and is always taken: it looks at the particles as they are.
        nothing = jnp.full(n, -jnp.inf)
        unseen = (picked, nothing, nothing, (jnp.zeros((n, d, d)), jnp.zeros((n, d))))
        z, _, value, (covariance, sum_rx) = lax.fori_loop(0, self.moves + 1, move, unseen)
        return Cloud(z, jnp.zeros(n), covariance, sum_rx, jax.random.key_data(after)), value

    def draw(self, target: Target, belief: Cloud, key: jax.Array, scale: Any = 1.0) -> jax.Array:
        """Return one draw of z; ``scale`` stretches it about the mean of z."""
        bounds = target.setting.bounds
        by_pick, by_theta, by_chance = jax.random.split(key, 3)
        weight = jax.nn.softmax(belief.log_weight)
        edges = jnp.cumsum(weight)
        picks = jnp.searchsorted(edges, jax.random.uniform(by_pick, (self.tries,)) * edges[-1])
        picks = jnp.minimum(picks, self.particles - 1)
        covariance, sum_rx = belief.covariance[picks], belief.sum_rx[picks]
        mean = contract(covariance, sum_rx[:, None, :])
        noise = jax.random.normal(by_theta, mean.shape)
        tries = mean + contract(cholesky(covariance), noise[:, None, :])
        theta, number = keep_in_ball(by_chance, tries, bounds.theta, _theta_precision(target))
        middle = weight @ belief.z
        z_phi = middle + (belief.z[picks[number]] - middle)
        # A point pulled onto the sphere has no finite z: take one just within.
        z = jnp.concatenate([from_ball((1.0 - 1e-12) * theta, bounds.theta), z_phi])

        def stretched(z: jax.Array) -> jax.Array:
            centre = self._centre(target, belief, weight)
            return centre + scale * (z - centre)

        # The mean is worth computing only where there is something to stretch.
        return once(scale != 1.0, stretched, z)

    def _centre(self, target: Target, belief: Cloud, weight: jax.Array) -> jax.Array:
        """Return the mean of z, from two opposite tries at θ for every particle."""
        radius, wanted = target.setting.bounds.theta, _theta_precision(target)
        mean = contract(belief.covariance, belief.sum_rx[:, None, :])
        noise = jax.random.normal(jax.random.key(0), mean.shape)
        off = contract(cholesky(belief.covariance), noise[:, None, :])
        tries = jnp.concatenate([mean + off, mean - off])
        level = log_chance_in_ball(tries, radius, wanted) + jnp.tile(jnp.log(weight), 2)
        pulled = pulled_onto_ball(tries, radius)
        z = jnp.concatenate([_roughly_from_ball(pulled, radius), jnp.tile(belief.z, (2, 1))], axis=-1)
        return jax.nn.softmax(level) @ z

    def worn(self, belief: Cloud) -> jax.Array:
        """Return whether so few particles carry the weight that they must be moved at once."""
        return _effective(belief.log_weight) < _LEAST_SHARE * self.particles

    def _moments(self, target: Target, z: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        phi = to_ball(z, target.setting.bounds.phi)
        return phi, target.setting.variance(contract(phi, x))

    def _posterior(self, target: Target, tables: Any, z: jax.Array) -> Any:
        """Return ln p(z_φ | all stays) of each particle, θ integrated out, and what θ then is."""
        n, d = z.shape
        phi = to_ball(z, target.setting.bounds.phi)
        sums = _Sums(jnp.zeros(n), jnp.zeros(n), jnp.zeros((n, d)), jnp.zeros((n, d * d)))

        def block(data: Stays, phi: jax.Array) -> _Sums:
            rows = data.x.shape[0]
            w = target.setting.variance(contract(phi[:, None, :], data.x))  # (particles, rows)
            inverse = 1.0 / w
            pairs = (data.x[:, :, None] * data.x[:, None, :]).reshape(rows, d * d)
            return _Sums(
                jnp.log(w) @ data.rounds,
                inverse @ data.squares,
                inverse @ (data.total[:, None] * data.x),
                inverse @ (data.rounds[:, None] * pairs),
            )

        for data, rows in tables:
            sums = jax.tree.map(jnp.add, sums, sum_over_rows(block, data, rows, (phi,), sums, size=_BLOCK))
        prior = prior_precision(d, target.setting.bounds.theta, _theta_precision(target))
        precision = sums.gram.reshape(n, d, d) + prior * jnp.eye(d)
        factor = cholesky(precision)
        covariance = _inverse(factor)
        fitted = contract(contract(covariance, sums.sum_rx[:, None, :]), sums.sum_rx)
        determinant = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
        value = -0.5 * (sums.log_variance + sums.squares - fitted + contract(z, z)) - determinant
        return value + _phi_tilt(target, phi), (covariance, sums.sum_rx)


def _effective(log_weight: jax.Array) -> jax.Array:
    """Return the effective number of particles."""
    return 1.0 / jnp.sum(jax.nn.softmax(log_weight) ** 2)


def _largest_power(log_weight: jax.Array) -> jax.Array:
    """Return the largest power up to 1 of the weights that leaves enough particles."""
    least = _LEAST_SHARE * log_weight.shape[0]

    def halve(_: Any, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        enough = _effective(middle * log_weight) >= least
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    power = lax.fori_loop(0, 30, halve, (jnp.zeros(()), jnp.ones(())))[0]
    return jnp.where(_effective(log_weight) >= least, 1.0, power)


def _check_conjugate(target: Target) -> None:
    """Raise unless θ can be integrated out."""
    must, got = "must be another than 'smc'", (target.model.kind, target.prior.kind)
    if not _is_normal(target.model):
        remedy = "it integrates θ out, and needs normal outcomes; take nuts or svi"
        raise InvalidInput("engine", must, got, remedy)
    if type(target.prior) not in _PRIORS:
        remedy = (
            "it integrates θ out, and needs a uniform or normal prior on the balls of the bounds; "
            "lower `bounds`, or take laplace, nuts or svi"
        )
        raise InvalidInput("engine", must, got, remedy)


def _is_normal(model: Any) -> bool:
    """Say whether outcomes are normal: of that class, with its likelihood."""
    own = type(model)
    return isinstance(model, Gaussian) and own.row_log_likelihood is Gaussian.row_log_likelihood


def _roughly_from_ball(theta: jax.Array, radius: Any) -> jax.Array:
    """Return z of θ (..., d) to a thousandth, for a mean: read from a table instead of searched for."""
    d = theta.shape[-1]
    lengths = jnp.linspace(0.0, math.sqrt(d) + 6.0, 128)
    size = jnp.sqrt(contract(theta, theta))
    length = jnp.interp(size / radius, lengths * gain(0.5 * lengths**2, d), lengths)
    return theta * (length / jnp.maximum(size, 1e-12))[..., None]


def _theta_precision(target: Target) -> Any:
    """Return κ₀, the precision of θ under the prior before it is cut to the ball."""
    if isinstance(target.prior, priors.Uniform):
        return 0.0
    return (target.prior.theta_share * target.setting.bounds.theta) ** -2.0


def _phi_tilt(target: Target, phi: jax.Array) -> jax.Array:
    """Return the log density of φ (particles, d) with respect to the uniform prior, up to a constant."""
    return target.prior.log_tilt(jnp.zeros_like(phi), phi, target.setting)


def _systematic(key: jax.Array, weight: jax.Array, n: int) -> jax.Array:
    """Return n numbers of particles, each as often as its weight says, to within one."""
    places = (jnp.arange(n) + jax.random.uniform(key)) / n
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(weight), places), n - 1)


def _inverse(factor: jax.Array) -> jax.Array:
    """Return (L Lᵀ)⁻¹ for lower factors L (..., d, d), by forward substitution."""
    d = factor.shape[-1]
    rows: list[jax.Array] = []
    for i in range(d):
        unit = jnp.zeros(d).at[i].set(1.0)
        rest = unit - sum((factor[..., i, k, None] * rows[k] for k in range(i)), jnp.zeros(d))
        rows.append(rest / factor[..., i, i, None])
    inverse = jnp.stack(rows, axis=-2)  # L⁻¹
    return jnp.sum(inverse[..., :, :, None] * inverse[..., :, None, :], axis=-3)
