"""The samplers that the engine ``nuts`` can run with: NumPyro's own, and those of BlackJAX and nutpie.

All sample the same density in z, from the same starting points, with a dense mass matrix (nutpie: its own low-rank
adaptation) and the same numbers of adaptation steps and draws; they differ in how they adapt. BlackJAX and nutpie are optional
(``pip install 'hrprob[samplers]'``); they fit one data set at a time, and policies and diagnostics that fit many inside one compiled
program take NumPyro's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.types import Number, PyTree

__all__ = ["SAMPLERS", "Chains", "Lengths", "sample_with"]


class Chains(NamedTuple):
    """The draws of all chains, and the sampler's statistics."""

    z: jax.Array  # (chains, draws, 2d), and more where the program has more sites
    log_density: jax.Array  # (chains, draws) ln p(z), up to a constant
    diverging: jax.Array  # (chains, draws) bool
    steps: jax.Array  # (chains, draws) leapfrog steps
    accept: jax.Array  # (chains, draws) mean acceptance probability
    step_size: jax.Array  # (chains, draws)
    energy: jax.Array  # (chains, draws) −ln p(z) plus the kinetic energy, before the last step

    def statistics(self) -> dict[str, np.ndarray]:
        """Return the sampler's statistics by ArviZ's names."""
        steps = np.asarray(self.steps)
        return {
            "lp": np.asarray(self.log_density),
            "diverging": np.asarray(self.diverging),
            "n_steps": steps,
            "tree_depth": np.log2(np.maximum(steps, 1)).astype(int) + 1,
            "acceptance_rate": np.asarray(self.accept),
            "step_size": np.asarray(self.step_size),
            "energy": np.asarray(self.energy),
        }


class Lengths(NamedTuple):
    """How long chains are, and how they adapt."""

    warmup: int
    draws: int
    accept: Number
    depth: int


Density = Callable[[jax.Array], jax.Array]


def sample_with(
    sampler: str, density: Density, lengths: Lengths, key: jax.Array, first: jax.Array, metric: jax.Array
) -> Chains:
    """Return draws of z from a log density with another sampler than NumPyro's.

    Parameters
    ----------
    sampler : str
        "blackjax" or "nutpie".
    density : callable
        ln p(z) of one z (k,).
    lengths : Lengths
        Adaptation steps, draws, target acceptance and longest trajectory.
    key : array
        A key of JAX.
    first : array, shape (chains, k)
        Where the chains begin.
    metric : array, shape (k, k)
        The inverse mass matrix to begin with, where the sampler takes one.
    """
    return _RUN[sampler](density, lengths, key, first, metric)


def installed(sampler: str) -> ModuleType:
    """Return the package of a sampler, or raise if it is not installed."""
    try:
        return importlib.import_module(sampler)
    except ImportError as error:
        remedy = f"pip install 'hrprob[samplers]', or take sampler = \"numpyro\" ({error})"
        raise InvalidInput("engine.sampler", "must be installed", sampler, remedy) from None


def _blackjax(
    density: Density, lengths: Lengths, key: jax.Array, first: jax.Array, metric: jax.Array
) -> Chains:
    blackjax = installed("blackjax")

    def chain(key: jax.Array, z: jax.Array) -> Chains:
        by_warmup, by_draws = jax.random.split(key)
        adaptation = blackjax.window_adaptation(
            blackjax.nuts,
            density,
            is_mass_matrix_diagonal=False,
            initial_inverse_mass_matrix=metric,
            target_acceptance_rate=lengths.accept,
            max_num_doublings=lengths.depth,
        )
        (state, tuned), _ = adaptation.run(by_warmup, z, lengths.warmup)
        step = blackjax.nuts(density, **tuned).step

        def keep(state: PyTree, key: jax.Array) -> tuple[PyTree, Chains]:
            state, info = step(key, state)
            return state, Chains(
                z=state.position,
                log_density=state.logdensity,
                diverging=info.is_divergent,
                steps=info.num_integration_steps,
                accept=info.acceptance_rate,
                step_size=jnp.asarray(tuned["step_size"]),
                energy=info.energy,
            )

        return jax.lax.scan(keep, state, jax.random.split(by_draws, lengths.draws))[1]

    return jax.jit(jax.vmap(chain))(jax.random.split(key, first.shape[0]), first)


def _nutpie(
    density: Density, lengths: Lengths, key: jax.Array, first: jax.Array, metric: jax.Array
) -> Chains:
    nutpie = installed("nutpie")
    from_pyfunc = importlib.import_module("nutpie.compiled_pyfunc").from_pyfunc
    chains, size = first.shape
    compiled = jax.jit(jax.value_and_grad(density))
    starts = iter(np.asarray(first))

    def make_density() -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        def value(z: np.ndarray) -> tuple[float, np.ndarray]:
            # Its threads do not have the precision of this one.
            with double_precision():
                height, slope = compiled(z)
                return float(height), np.asarray(slope, dtype=np.float64)

        return value

    def make_expand(*seeds: object) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        return lambda z: {"z": np.asarray(z)}

    def begin(seed: object) -> np.ndarray:
        return np.asarray(next(starts, np.zeros(size)))

    model = from_pyfunc(
        size,
        make_density,
        make_expand,
        [np.dtype(float)],
        [(size,)],
        ["z"],
        make_initial_point_fn=begin,
    )
    trace = nutpie.sample(
        model,
        draws=lengths.draws,
        tune=lengths.warmup,
        chains=chains,
        cores=1,
        seed=int(jax.random.randint(key, (), 0, 2**31 - 1)),
        target_accept=float(lengths.accept),
        maxdepth=lengths.depth,
        low_rank_modified_mass_matrix=True,
        save_warmup=False,
        progress_bar=False,
    )
    drawn, stats = trace["posterior"]["z"].values, trace["sample_stats"]
    return Chains(
        z=jnp.asarray(drawn),
        log_density=jnp.asarray(stats["logp"].values),
        diverging=jnp.asarray(stats["diverging"].values),
        steps=jnp.asarray(stats["n_steps"].values),
        accept=jnp.asarray(stats["mean_tree_accept"].values),
        step_size=jnp.asarray(stats["step_size"].values),
        energy=jnp.asarray(stats["energy"].values),
    )


_RUN = {"blackjax": _blackjax, "nutpie": _nutpie}
SAMPLERS = ("numpyro", *_RUN)
"""The names of all samplers."""
