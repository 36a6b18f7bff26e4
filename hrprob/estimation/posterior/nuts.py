"""The No-U-Turn sampler of NumPyro: the reference that the other engines are compared with.

All chains run in one compiled program. The data are padded to a power of two (long ones less) and enter as
arguments, as do the parameters of model and prior: growing data compile a new program only
when they outgrow their padding. A fit can start from the draws of the last one.

The model's program is sampled with all of its latent sites, those beyond θ and φ included
(:mod:`.sites`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpyro.infer.hmc import hmc

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.precision import is_traced
from hrprob._core.records import set_frozen, with_fields
from hrprob._core.types import PyTree
from hrprob.estimation.posterior import sites as program
from hrprob.estimation.posterior.base import BatchEngine
from hrprob.estimation.posterior.engines import register
from hrprob.estimation.posterior.samplers import SAMPLERS, Chains, Lengths, sample_with
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data

__all__ = ["NUTS", "Chains", "divergences"]


@register("nuts", static=("chains", "warmup", "draws", "depth", "sampler"))
class NUTS(BatchEngine):
    """The engine ``nuts``: exact up to Monte Carlo error.

    Parameters
    ----------
    chains, warmup, draws : int
        The number of chains, and per chain the iterations of adaptation and the draws after it.
    accept : float
        Target acceptance probability of the adaptation of the step size.
    depth : int
        Largest number of doublings of a trajectory.
    sampler : str
        Whose NUTS it is: "numpyro", or "blackjax" or "nutpie" where they are installed (``hrprob[samplers]``), for
        one data set at a time.
    """

    kind: ClassVar[str]
    runs_programs: ClassVar[bool] = True
    is_reference: ClassVar[bool] = True
    seconds_per_fit: ClassVar[float] = 10.0
    library: ClassVar[str] = "numpyro"
    shorter: ClassVar[Mapping[str, object]] = {"chains": 2, "warmup": 200, "draws": 256, "depth": 6}
    raise_for_rhat: ClassVar[str] = "warmup"
    raise_for_divergences: ClassVar[str] = "accept"
    chains: int = 4
    warmup: int = 500
    draws: int = 1000
    accept: float = 0.95
    depth: int = 10
    sampler: str = "numpyro"

    def __post_init__(self) -> None:
        for name, high, remedy in (
            ("chains", 1000, "two or more show whether they agree"),
            ("warmup", 10**6, "the step size needs some hundred"),
            ("draws", 10**6, "they are what is kept of each chain"),
            ("depth", 20, "2^depth steps are the longest trajectory"),
        ):
            set_frozen(self, **{name: check_count(name, getattr(self, name), high=high, remedy=remedy)})
        remedy = "it is a probability; larger means smaller steps"
        accept = check_number(
            "accept", self.accept, low=0, high=1, open_low=True, open_high=True, remedy=remedy
        )
        set_frozen(self, accept=accept)
        check_choice("sampler", self.sampler, SAMPLERS)

    def fit(self, target: Target, data: Data, key: jax.Array, start: PyTree = None) -> Chains:
        """Return draws from the posterior given ``data``; ``start`` are draws of z of an earlier fit.

        Each chain then begins at one of those, with their covariance as inverse mass matrix, shrunk as
        Stan does: few draws span a subspace only, which no chain would leave.
        """
        by_start, by_run, by_pick = jax.random.split(key, 3)
        wide, sites = program.padded(target, data)
        size = program.size(target, sites)
        # In these coordinates the uniform prior has standard deviation 1.
        first, metric = 0.5 * jax.random.normal(by_start, (self.chains, size)), jnp.eye(size)
        if start is not None:
            draws = jnp.asarray(getattr(start, "z", start))
            known = draws.shape[-1]  # draws that a policy kept have no sites beyond θ and φ
            draws = draws.reshape(-1, known)
            picks = jax.random.randint(by_pick, (self.chains,), 0, draws.shape[0])
            first = first.at[:, :known].set(draws[picks])
            metric = metric.at[:known, :known].set(_shrunk_covariance(draws))
        if self.sampler != "numpyro":
            return self._fit_with(target, sites, wide, by_run, first, metric)
        return _run(self, target, sites, wide, by_run, first, metric)

    def _fit_with(
        self,
        target: Target,
        sites: program.Sites,
        data: Data,
        key: jax.Array,
        first: jax.Array,
        metric: jax.Array,
    ) -> Chains:
        """Return draws of another library's sampler."""
        if is_traced(data, key):
            remedy = 'it runs inside a compiled program here; take sampler = "numpyro"'
            raise InvalidInput("engine.sampler", "must be numpyro", self.sampler, remedy)
        lengths = Lengths(self.warmup, self.draws, self.accept, self.depth)
        density = jax.jit(lambda z: program.log_density(target, sites, z, data))
        return sample_with(self.sampler, density, lengths, key, first, metric)

    def own_draws(self, belief: Chains) -> jax.Array:
        """Return the draws of all chains."""
        return belief.z

    def statistics(self, belief: Chains) -> Mapping[str, np.ndarray]:
        """Return ln p, divergences, steps, acceptance and energy of every draw."""
        return belief.statistics()

    @property
    def total_draws(self) -> int:
        """Chains times draws of each."""
        return self.chains * self.draws

    def with_draws(self, draws: int) -> Self:
        """Return the engine with chains that have at least ``draws`` draws together."""
        return with_fields(self, draws=-(-draws // self.chains))


def _shrunk_covariance(draws: jax.Array) -> jax.Array:
    """Return the covariance of draws (n, k) shrunk towards 10⁻³·I, which has the weight of five draws."""
    n, k = draws.shape
    away = draws - jnp.mean(draws, axis=0)
    covariance = away.T @ away / max(n - 1, 1)
    return (n * covariance + 5.0 * 1e-3 * jnp.eye(k)) / (n + 5.0)


@functools.partial(jax.jit, static_argnames="sites")
def _run(
    engine: NUTS,
    target: Target,
    sites: program.Sites,
    data: Data,
    key: jax.Array,
    first: jax.Array,
    metric: jax.Array,
) -> Chains:
    @jax.jit  # traced once, however often NumPyro calls it
    def potential(z: jax.Array) -> jax.Array:
        return -program.log_density(target, sites, z, data)

    begin, move = hmc(potential, algo="NUTS")

    def chain(key: jax.Array, z: jax.Array) -> Chains:
        state = begin(
            z,
            engine.warmup,
            inverse_mass_matrix=metric,
            dense_mass=True,
            target_accept_prob=engine.accept,
            max_tree_depth=engine.depth,
            rng_key=key,
        )

        def keep(state: PyTree, _: None) -> tuple[PyTree, Chains]:
            state = move(state)
            return state, Chains(
                z=state.z,
                log_density=-state.potential_energy,
                diverging=state.diverging,
                steps=state.num_steps,
                accept=state.accept_prob,
                step_size=state.adapt_state.step_size,
                energy=state.energy,
            )

        # Warm-up and draws in one loop: `move`, most of the program, is compiled once.
        every = lax.scan(keep, state, None, engine.warmup + engine.draws)[1]
        return jax.tree.map(lambda leaf: leaf[engine.warmup :], every)

    return jax.vmap(chain)(jax.random.split(key, engine.chains), first)


def divergences(belief: Chains) -> int:
    """Return how many draws diverged."""
    return int(np.sum(np.asarray(belief.diverging)))
