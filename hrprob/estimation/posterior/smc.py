r"""Sequential Monte Carlo over the stream of users.

Each stay multiplies the weight of a particle by its likelihood. What a particle is depends on the model:

======================  ====================================================================
:mod:`.smc_integrated`  a value of φ with the normal distribution of θ given it; for
                        normal outcomes under a uniform or normal prior
:mod:`.smc_joint`       values of θ and φ, for every other model and prior
======================  ====================================================================

When the number of rows has grown by the factor ``refit``, and whenever the effective sample size
falls below a quarter of the particles, the particles are resampled and moved by Metropolis steps whose
target is the posterior given all stays so far [1]_. In a policy they are moved at the former times only where the
effective sample size is below three quarters of them: others still have as good weights as moved ones would have. The steps alternate between an independence
proposal from the normal distribution with the particles' moments, which most particles accept, and a
random walk, which corrects what that normal misses.

With an effective sample size below a sixteenth of the particles, resampling would leave hardly any distinct
ones. Then the particles as they were at the last move are tempered to the posterior p in several moves
instead: the target is q^{1−τ}p^τ, with q the normal distribution of those particles and τ rising to 1,
each time as far as leaves an effective sample size of a quarter [2]_.

The density of a particle at the data so far is that at the last move times what the rows since have added, so a
move evaluates proposals alone. A move costs as much as thousands of users, so in a batch of trials only those are moved that need it, one after
another.

References
----------
.. [1] N. Chopin, "A sequential particle filter method for static models",
   Biometrika 89(3), 2002.
.. [2] P. Del Moral, A. Doucet, A. Jasra, "Sequential Monte Carlo samplers", Journal of the
   Royal Statistical Society B 68(3), 2006.
"""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import lax

from hrprob._core.errors import check_count
from hrprob._core.random_numbers import key_of_data
from hrprob._core.records import set_frozen, with_fields
from hrprob._core.types import Number
from hrprob.estimation.posterior import smc_integrated, smc_joint
from hrprob.estimation.posterior.base import StreamingEngine
from hrprob.estimation.posterior.engines import register
from hrprob.estimation.posterior.resampling import effective_size, largest_power, systematic
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.products import contract
from hrprob.observations import Tables

__all__ = ["SMC", "Cloud"]

# The independence proposal has the particles' standard deviations times this.
_WIDER = 1.2
# Particles are moved at once where their effective sample size is below this share.
_LEAST_SHARE = 0.25
# With a larger share a policy does not move them, even where it is due.
_ENOUGH_SHARE = 0.75
# Metropolis steps by default: of a fit, and of a policy.
_MOVES, _MOVES_OF_POLICY = 4, 2
# Below this share the posterior is too far away for one move, and is reached by tempering.
_FEW_SHARE = 1 / 16
# Most moves of one tempering; the last goes all the way.
_MOST_STEPS = 64
# Proposals per draw of θ in its ball from a finished fit: where data put θ beyond the bound most are rejected.
_FINAL_TRIES = 1000


class Cloud(NamedTuple):
    """Weighted particles."""

    z: jax.Array  # (particles, k) z_φ, or all of z
    log_weight: jax.Array  # (particles,)
    given: smc_integrated.Given | smc_joint.Given  # per particle: a `Given` of smc_integrated or smc_joint
    key: jax.Array  # (2,) uint32, of the next move
    base: jax.Array  # (particles,) ln p given all rows so far is base + log_weight, up to a constant

    @property
    def value(self) -> jax.Array:
        """The log density of each particle given all rows so far, up to a constant that they share."""
        return self.base + self.log_weight


class _Normal(NamedTuple):
    """The normal distribution with the moments of weighted particles."""

    mean: jax.Array  # (d,)
    factor: jax.Array  # (d, d)
    inverse: jax.Array  # (d, d) of the covariance

    @classmethod
    def of(cls, z: jax.Array, weight: jax.Array) -> _Normal:
        """Return the normal distribution of particles z (particles, d) with these weights."""
        mean = weight @ z
        covariance = (z - mean).T @ (weight[:, None] * (z - mean)) + 1e-9 * jnp.eye(z.shape[-1])
        factor = cholesky(covariance)
        return cls(mean, factor, inverse_of(factor))

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln q(z) of each z (particles, d), up to a constant."""
        return -0.5 * contract(contract(self.inverse, (z - self.mean)[:, None, :]), z - self.mean)


class _Bridge(NamedTuple):
    """Particles that are tempered towards a posterior."""

    cloud: Cloud
    power: jax.Array  # () τ
    steps: jax.Array  # () int


@register("smc", static=("particles", "moves", "tries"))
class SMC(StreamingEngine):
    """The engine ``smc``: particles that take in every stay at once.

    Parameters
    ----------
    particles : int
        Number of particles.
    moves : int, optional
        Metropolis steps per particle when the particles are moved; by default 4, and 2 in a policy, which draws once
        from each of many fits.
    tries : int
        Where θ is integrated out, proposals per draw of θ in its ball; where all are rejected, the draw is
        the nearest point of the ball. A policy draws for every user and has few; a finished fit takes a
        thousand.
    """

    kind: ClassVar[str]
    sequential: ClassVar[bool] = True
    cuts_to_ball: ClassVar[bool] = True
    tempers: ClassVar[bool] = True
    # Particles of one fit depend on each other. Separate fits do not: their differences show the Monte Carlo error.
    replicates: ClassVar[int] = 4
    refit: ClassVar[float] = 1.2
    raise_for_rhat: ClassVar[str] = "particles"
    particles: int = 256
    moves: int | None = None
    tries: int = 12

    def __post_init__(self) -> None:
        set_frozen(
            self,
            particles=check_count("particles", self.particles, low=2, high=10**6, remedy="256 do for d = 4"),
            moves=self.moves
            if self.moves is None
            else check_count("moves", self.moves, high=10**6, remedy="without a move particles only die out"),
            tries=check_count("tries", self.tries, high=10**6, remedy="12 do for a policy"),
        )

    def init(self, target: Target, key: jax.Array | None = None) -> Cloud:
        """Return particles from the prior."""
        by_place, by_moves = jax.random.split(jax.random.key(0) if key is None else key)
        z, given = _serving(target).start(target, by_place, self.particles)
        base, _ = _serving(target).posterior(target, [], z)
        return Cloud(z, jnp.zeros(self.particles), given, jax.random.key_data(by_moves), base)

    def absorb(self, target: Target, belief: Cloud, row: Data) -> Cloud:
        """Return the particles after one more row of data, without an axis of rows."""
        log_probability, given = _serving(target).absorb(target, belief.z, belief.given, row)
        return belief._replace(log_weight=belief.log_weight + log_probability, given=given)

    def refresh(self, target: Target, tables: Tables, belief: Cloud, due: jax.Array) -> Cloud:
        """Return the particles moved where few have weight, and where it is ``due`` unless many have; else as they are."""
        many = effective_size(belief.log_weight) > _ENOUGH_SHARE * self.particles
        due = (due & ~many) | self.needs_refit(belief)
        return self.fit_one_by_one(target, tables, belief, due, self._refitted)

    def fit(self, target: Target, tables: Tables, start: Cloud) -> Cloud:
        """Return the particles resampled and moved, given all rows: pairs of data and rows in use."""
        value, given = _serving(target).posterior(target, tables, start.z)
        return self._refitted(target, tables, start._replace(base=value - start.log_weight, given=given))

    def _refitted(self, target: Target, tables: Tables, start: Cloud) -> Cloud:
        """Return what :meth:`fit` does of particles that have taken in all of the rows, whose densities are known."""
        far = effective_size(start.log_weight) < _FEW_SHARE * self.particles
        before = _Normal.of(start.z, jnp.full(self.particles, 1.0 / self.particles))

        def move(now: _Bridge) -> _Bridge:
            # As far towards the posterior as leaves a sufficient effective sample size.
            ahead = (1.0 - now.power) * (now.cloud.value - before.log_density(now.cloud.z))
            part = jnp.where(now.steps < _MOST_STEPS - 1, largest_power(ahead, _LEAST_SHARE), 1.0)
            last = ~far | (part >= 1.0)
            power = jnp.where(last, 1.0, now.power + part * (1.0 - now.power))
            weight = jnp.where(far, part * ahead, now.cloud.log_weight)
            return _Bridge(
                self._moved(target, tables, now.cloud, weight, power, before), power, now.steps + 1
            )

        first = _Bridge(start, jnp.zeros(()), jnp.zeros((), jnp.int32))
        return lax.while_loop(lambda now: now.power < 1.0, move, first).cloud

    def _moved(
        self,
        target: Target,
        tables: Tables,
        start: Cloud,
        log_weight: jax.Array,
        power: jax.Array,
        before: _Normal,
    ) -> Cloud:
        """Return the particles resampled by these weights and moved.

        They are moved against the posterior to this power, times ``before`` to what is left of 1.
        """
        n, size = start.z.shape
        serving = _serving(target)
        # All trials start with the same key; their weights, which depend on their data, make the keys differ.
        key = key_of_data(start.key, log_weight[:2])
        by_pick, by_moves, after = jax.random.split(key, 3)
        weight = jax.nn.softmax(log_weight)
        # Where few particles have much weight, tempered weights let the others count for the moments too.
        tempered = jax.nn.softmax(largest_power(log_weight, _LEAST_SHARE) * log_weight)
        here = _Normal.of(start.z, tempered)
        pick = systematic(jax.random.uniform(by_pick), weight, n)
        # What is known of each particle. The density is the sum of what the rows added since it was computed from all rows,
        # at the last accepted step: rounding adds up over a few moves, to less than 1e-9.
        z, value, given = jax.tree.map(lambda leaf: leaf[pick], (start.z, start.value, start.given))

        def move(number: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            z, aim, value, rest = now
            by_step, by_accept = jax.random.split(jax.random.fold_in(by_moves, number))
            noise = contract(here.factor, jax.random.normal(by_step, z.shape)[:, None, :])
            independent = number % 2 == 1
            there = jnp.where(
                independent, here.mean + _WIDER * noise, z + (2.38 / jnp.sqrt(1.0 * size)) * noise
            )
            value_there, rest_there = serving.posterior(target, tables, there)
            aim_there = power * value_there + (1.0 - power) * before.log_density(there)
            back = (here.log_density(z) - here.log_density(there)) / _WIDER**2
            log_ratio = aim_there - aim + jnp.where(independent, back, 0.0)
            accepted = jnp.log(jax.random.uniform(by_accept, (n,))) < log_ratio
            return jax.tree.map(
                lambda new, old: jnp.where(accepted.reshape((n,) + (1,) * (new.ndim - 1)), new, old),
                (there, aim_there, value_there, rest_there),
                (z, aim, value, rest),
            )

        aim = power * value + (1.0 - power) * before.log_density(z)
        z, _, value, given = lax.fori_loop(1, (self.moves or _MOVES) + 1, move, (z, aim, value, given))
        return Cloud(z, jnp.zeros(n), given, jax.random.key_data(after), value)

    def draw(self, target: Target, belief: Cloud, key: jax.Array, scale: Number = 1.0) -> jax.Array:
        """Return one draw of z, its distance from the mean of z multiplied by ``scale``."""
        weight = jax.nn.softmax(belief.log_weight)
        return _serving(target).draw(target, belief.z, weight, belief.given, key, self.tries, scale)

    def draw_coefficients(
        self, target: Target, belief: Cloud, key: jax.Array, scale: Number = 1.0
    ) -> tuple[jax.Array, jax.Array]:
        """Return θ and φ of one draw."""
        if not smc_integrated.serves(target):
            return super().draw_coefficients(target, belief, key, scale)
        assert isinstance(belief.given, smc_integrated.Given)
        weight = jax.nn.softmax(belief.log_weight)
        return smc_integrated.draw_coefficients(
            target, belief.z, weight, belief.given, key, self.tries, scale
        )

    def for_policy(self) -> Self:
        """Return the engine with two Metropolis steps where none were asked for."""
        return self if self.moves is not None else with_fields(self, moves=_MOVES_OF_POLICY)

    def for_final_draws(self) -> Self:
        """Return the engine with a thousand tries at a draw of θ in its ball."""
        return with_fields(self, tries=max(self.tries, _FINAL_TRIES))

    def moves_draws(self, target: Target) -> bool:
        """Return whether particles are of both θ and φ: few, and moved by short steps, they are left near the posterior."""
        return _serving(target) is smc_joint

    def needs_refit(self, belief: Cloud) -> jax.Array:
        """Return whether the effective sample size is so small that the particles must be moved at once."""
        return effective_size(belief.log_weight) < _LEAST_SHARE * self.particles


def _serving(target: Target) -> ModuleType:
    """Return the module whose particles serve a target: those with θ integrated out where they can."""
    return smc_integrated if smc_integrated.serves(target) else smc_joint
