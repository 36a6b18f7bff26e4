r"""Sequential Monte Carlo over the stream of users.

Particles are weighed by what each stay says of them. What they are depends on the model:

======================  ====================================================================
:mod:`.smc_integrated`  values of φ, each with the normal distribution of θ given it; for
                        normal outcomes under a uniform or normal prior
:mod:`.smc_joint`       values of θ and φ, for every other model and prior
======================  ====================================================================

Whenever it is time, and whenever the effective number of particles falls below a quarter, the
particles are resampled and moved by Metropolis steps against all stays so far [1]_, in turn a
leap to anywhere in the normal distribution with the particles' own moments, which most
particles take, and a step of a random walk, which mends what that normal misses. Where
less than a sixteenth of the particles carry the weight, they would be moved from hardly any places:
instead they go back to where they were and on to the posterior p in several moves, against
q^{1−τ}p^τ with q the normal of where they were and τ rising to 1, each time by as much as leaves a
quarter of them [2]_. Of many trials those are moved, one after another, whose time it is: a move
costs as much as thousands of users.

References
----------
.. [1] N. Chopin, "A sequential particle filter method for static models",
   Biometrika 89(3), 2002.
.. [2] P. Del Moral, A. Doucet, A. Jasra, "Sequential Monte Carlo samplers", Journal of the
   Royal Statistical Society B 68(3), 2006.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import lax

from hrprob._core.errors import check_count
from hrprob._core.records import set_frozen, with_fields
from hrprob.estimation.posterior import smc_integrated, smc_joint
from hrprob.estimation.posterior.base import StreamingEngine
from hrprob.estimation.posterior.engines import register
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data
from hrprob.numerics.control_flow import once, one_by_one
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.products import contract

__all__ = ["SMC", "Cloud"]

# Leaps spread so much wider than the particles.
_WIDER = 1.2
# Below this share of effective particles they are moved at once; above it their spread is trusted.
_LEAST_SHARE = 0.25
# Below this one the posterior is too far away for one move.
_FEW_SHARE = 1 / 16
# Moves towards a posterior far away, of which the last goes all the way.
_MOST_STEPS = 64
# Tries at a draw of θ in its ball from a finished fit: where data put θ beyond the bound most of them fail.
_FINAL_TRIES = 1000


class Cloud(NamedTuple):
    """Weighted particles, with what is known given each."""

    z: jax.Array  # (particles, k) z_φ, or all of z
    log_weight: jax.Array  # (particles,)
    given: Any  # by particle, of whoever serves the target
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
        return cls(mean, factor, inverse_of(factor))

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln q(z) of each z (particles, d), up to a constant."""
        return -0.5 * contract(contract(self.inverse, (z - self.mean)[:, None, :]), z - self.mean)


class _Bridge(NamedTuple):
    """Particles on their way to a posterior."""

    cloud: Cloud
    value: jax.Array  # (particles,) ln p of each
    power: jax.Array  # () τ
    steps: jax.Array  # () int


@register("smc", static=("particles", "moves", "tries"))
class SMC(StreamingEngine):
    """The engine ``smc``.

    Parameters
    ----------
    particles : int
        Values of φ, or of θ and φ, that are carried along.
    moves : int
        Metropolis steps of each particle when it is time.
    tries : int
        Where θ is integrated out, tries at a draw of it in its ball, the last resort after which is
        the nearest point of it. A policy draws for every user and has few; a fit takes a thousand.
    """

    kind: ClassVar[str]
    sequential: ClassVar[bool] = True
    cuts_to_ball: ClassVar[bool] = True
    # Particles of one cloud depend on each other. Clouds do not: their differences are the error.
    replicates: ClassVar[int] = 4
    refit: ClassVar[float] = 1.2
    raise_for_rhat: ClassVar[str] = "particles"
    particles: int = 256
    moves: int = 4
    tries: int = 12

    def __post_init__(self) -> None:
        set_frozen(
            self,
            particles=check_count("particles", self.particles, low=2, high=10**6, remedy="256 do for d = 4"),
            moves=check_count(
                "moves", self.moves, high=10**6, remedy="without a move particles only die out"
            ),
            tries=check_count("tries", self.tries, high=10**6, remedy="12 do for a policy"),
        )

    def init(self, target: Target, key: jax.Array | None = None) -> Cloud:
        """Return particles from the prior."""
        by_place, by_moves = jax.random.split(jax.random.key(0) if key is None else key)
        z, given = _serving(target).start(target, by_place, self.particles)
        return Cloud(z, jnp.zeros(self.particles), given, jax.random.key_data(by_moves))

    def absorb(self, target: Target, belief: Cloud, row: Data) -> Cloud:
        """Return the particles after one more row of data, without an axis of rows."""
        log_probability, given = _serving(target).absorb(target, belief.z, belief.given, row)
        return belief._replace(log_weight=belief.log_weight + log_probability, given=given)

    def refresh(self, target: Target, tables: Any, belief: Cloud, due: Any) -> Cloud:
        """Return the particles moved where it is time or they are worn, else as they are."""

        def fit(belief: Cloud, given: tuple[Target, Any]) -> Cloud:
            return self.fit(*given, start=belief)

        return one_by_one(due | self.worn(belief), fit, belief, (target, tables))

    def fit(self, target: Target, tables: Any, start: Cloud) -> Cloud:
        """Return the particles resampled and moved, given all rows: pairs of data and rows in use."""
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
            far,
            lambda _: _serving(target).posterior(target, tables, start.z)[0],
            jnp.zeros_like(start.log_weight),
        )
        first = _Bridge(start, value, jnp.zeros(()), jnp.zeros((), jnp.int32))
        return lax.while_loop(lambda now: now.power < 1.0, move, first).cloud

    def _moved(
        self, target: Target, tables: Any, start: Cloud, power: jax.Array, before: _Normal
    ) -> tuple[Cloud, jax.Array]:
        """Return the particles resampled and moved, and ln p of each.

        They are moved against the posterior to this power, times ``before`` to what is left of 1.
        """
        n, size = start.z.shape
        serving = _serving(target)
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
            by_step, by_accept = jax.random.split(jax.random.fold_in(by_moves, number))
            noise = contract(here.factor, jax.random.normal(by_step, z.shape)[:, None, :])
            leaps = number % 2 == 1
            there = jnp.where(leaps, here.mean + _WIDER * noise, z + (2.38 / jnp.sqrt(1.0 * size)) * noise)
            there = jnp.where(number == 0, z, there)
            value_there, rest_there = serving.posterior(target, tables, there)
            level_there = power * value_there + (1.0 - power) * before.log_density(there)
            back = (here.log_density(z) - here.log_density(there)) / _WIDER**2
            odds = level_there - level + jnp.where(leaps, back, 0.0)
            taken = jnp.log(jax.random.uniform(by_accept, (n,))) < odds
            return jax.tree.map(
                lambda new, old: jnp.where(taken.reshape((n,) + (1,) * (new.ndim - 1)), new, old),
                (there, level_there, value_there, rest_there),
                (z, level, value, rest),
            )

        # The first step goes nowhere and is always taken: it looks at the particles as they are.
        nothing = jnp.full(n, -jnp.inf)
        unseen = (picked, nothing, nothing, start.given)
        z, _, value, given = lax.fori_loop(0, self.moves + 1, move, unseen)
        return Cloud(z, jnp.zeros(n), given, jax.random.key_data(after)), value

    def draw(self, target: Target, belief: Cloud, key: jax.Array, scale: Any = 1.0) -> jax.Array:
        """Return one draw of z; ``scale`` stretches it about the mean of z."""
        weight = jax.nn.softmax(belief.log_weight)
        return _serving(target).draw(target, belief.z, weight, belief.given, key, self.tries, scale)

    def for_final_draws(self) -> Self:
        """Return the engine with a thousand tries at a draw of θ in its ball."""
        return with_fields(self, tries=max(self.tries, _FINAL_TRIES))

    def worn(self, belief: Cloud) -> jax.Array:
        """Return whether so few particles carry the weight that they must be moved at once."""
        return _effective(belief.log_weight) < _LEAST_SHARE * self.particles


def _serving(target: Target) -> Any:
    """Return the module whose particles serve a target: the integrated ones where they can."""
    return smc_integrated if smc_integrated.serves(target) else smc_joint


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


def _systematic(key: jax.Array, weight: jax.Array, n: int) -> jax.Array:
    """Return n numbers of particles, each as often as its weight says, to within one."""
    places = (jnp.arange(n) + jax.random.uniform(key)) / n
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(weight), places), n - 1)
