"""Posteriors: effective draws per CPU second, and the cost of the fast engines to their accuracy.

One data set of the paper's problem. ``nuts`` sees it as users (x, m, Σr, Σr²) and as single rounds; BlackJAX samples the same
density of users, written here in a few lines, with its own window adaptation, and nutpie the same density through a Python
function; `particles` takes the users in one after another
(IBIS). The accuracy of ``laplace``, ``svi`` and ``smc`` is the largest distance of a posterior mean from that of ``nuts``, in
posterior standard deviations, and the range of the ratios of standard deviations.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

from benchmarks.measure import Cost, measured

__all__ = ["run"]

USERS, CHAINS, DRAWS, PARTICLES = 300, 4, 1000, 256


def run() -> dict[str, Any]:
    """Measure, and return what the tables need."""
    x, r, user = _rounds()
    result: dict[str, Any] = {"users": USERS, "rounds": len(r)}
    reference, result["nuts, users"] = _nuts((x, r, user))
    result["nuts, rounds"] = _nuts((x, r))[1]
    peers = {"blackjax, users": _blackjax, "nutpie, users": _nutpie, "particles, users": _particles}
    for name, sample in peers.items():
        try:
            result[name] = sample(*_summed(x, r, user))
        except (ImportError, AttributeError) as error:
            # particles 0.3 uses a name that NumPy 2 does not have.
            result[name] = {"missing": str(error).splitlines()[0]}
    result["engines"] = {name: _accuracy((x, r, user), name, reference) for name in ("laplace", "smc", "svi")}
    return result


def _rounds() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return contexts, outcomes and users of stays on the sphere, under random actions."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(USERS, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    mean, sd = x @ [0.6, 0.5, 0.5, 0.3], np.sqrt(x @ [0.5, 0.2, 0.8, 0.9] + 2)
    beta, rows, outcomes = rng.uniform(-1, 1, USERS), [], []
    for user in range(USERS):
        outcome = np.inf
        while outcome >= beta[user]:
            outcome = mean[user] + sd[user] * rng.normal()
            rows.append(user)
            outcomes.append(outcome)
    users = np.array(rows)
    return x[users], np.array(outcomes), users


def _summed(x: np.ndarray, r: np.ndarray, user: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return x, m, Σr and Σr² of each user."""
    first = np.unique(user, return_index=True)[1]
    sums = [np.bincount(user, weights) for weights in (np.ones_like(r), r, r * r)]
    return x[first], *sums


def _nuts(data: Any) -> tuple[Any, dict[str, float]]:
    """Return the posterior, and effective draws per second of the second of two fits: the first compiles."""
    import hrprob

    found: list[Any] = []

    def fit() -> None:
        found[:] = [hrprob.fit(data, "nuts", draws=CHAINS * DRAWS, seed=1)]

    first, later = measured(fit), measured(fit)
    values = np.concatenate([found[0].theta, found[0].phi], axis=-1)
    return values, _efficiency(values, later, first)


def _efficiency(values: np.ndarray, cost: Cost, first: Cost) -> dict[str, float]:
    """Return the least effective number of draws of (chains, draws, parameters), per second."""
    from arviz_stats.base import array_stats

    least = min(float(array_stats.ess(values[..., j])) for j in range(values.shape[-1]))
    return {
        "ess": least,
        "cpu": cost.cpu,
        "per cpu second": least / cost.cpu,
        "compilation": first.cpu - cost.cpu,
    }


def _log_density(x: Any, m: Any, total: Any, squares: Any) -> Any:
    """Return the log density of z (8,) under uniform priors on the balls, by the map of hrprob."""
    import jax.numpy as jnp

    from hrprob.models.ball import to_ball

    def density(z: Any) -> Any:
        theta, phi = to_ball(z[:4], 1.0), to_ball(z[4:], 2.0)
        u, w = x @ theta, jnp.maximum(x @ phi + 2.0, 1e-12)
        residuals = squares - 2.0 * u * total + m * u * u
        return -0.5 * jnp.sum(m * jnp.log(w) + residuals / w) - 0.5 * jnp.sum(z * z)

    return density


def _blackjax(x: Any, m: Any, total: Any, squares: Any) -> dict[str, float]:
    import blackjax
    import jax
    import jax.numpy as jnp

    density = _log_density(jnp.asarray(x), jnp.asarray(m), jnp.asarray(total), jnp.asarray(squares))

    def chain(key: Any) -> Any:
        start, warm, sample = jax.random.split(key, 3)
        adaptation = blackjax.window_adaptation(blackjax.nuts, density)
        (state, tuned), _ = adaptation.run(warm, 0.1 * jax.random.normal(start, (8,)), num_steps=1000)
        step = blackjax.nuts(density, **tuned).step

        def move(state: Any, key: Any) -> Any:
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(move, state, jax.random.split(sample, DRAWS))[1]

    run = jax.jit(jax.vmap(chain))
    found: list[Any] = []

    def sample() -> None:
        found[:] = [np.asarray(run(jax.random.split(jax.random.key(1), CHAINS)))]

    first, later = measured(sample), measured(sample)
    return _efficiency(_in_balls(found[0]), later, first)


def _in_balls(z: np.ndarray) -> np.ndarray:
    from hrprob.models.ball import to_ball

    return np.concatenate(
        [np.asarray(to_ball(z[..., :4], 1.0)), np.asarray(to_ball(z[..., 4:], 2.0))], axis=-1
    )


def _particles(x: Any, m: Any, total: Any, squares: Any) -> dict[str, float]:
    """Return the cost of IBIS with as many particles as ``smc`` has, users taken in one after another."""
    import jax
    import particles
    from particles import distributions, smc_samplers

    density = jax.jit(jax.vmap(_log_likelihood, (0, None, None, None, None)))

    class Users(smc_samplers.StaticModel):
        def logpyt(self, theta: Any, t: int) -> Any:
            z = np.stack([theta[f"z{j}"] for j in range(8)], axis=-1)
            # Its weights are changed in place.
            return np.array(density(z, x[t], m[t], total[t], squares[t]))

    prior = distributions.StructDist({f"z{j}": distributions.Normal() for j in range(8)})
    model = Users(data=np.arange(len(m)), prior=prior)
    found: list[Any] = []

    def sample() -> None:
        algorithm = particles.SMC(smc_samplers.IBIS(model, len_chain=10), N=PARTICLES, ESSrmin=0.5)
        # The library asks for a name that NumPy has no more.
        with mock.patch.object(np, "float", float, create=True):
            algorithm.run()
        found[:] = [algorithm]

    first, later = measured(sample), measured(sample)
    return {"cpu": later.cpu, "compilation": max(first.cpu - later.cpu, 0.0), "particles": PARTICLES}


def _log_likelihood(z: Any, x: Any, m: Any, total: Any, squares: Any) -> Any:
    import jax.numpy as jnp

    from hrprob.models.ball import to_ball

    u, w = x @ to_ball(z[:4], 1.0), jnp.maximum(x @ to_ball(z[4:], 2.0) + 2.0, 1e-12)
    return -0.5 * (m * jnp.log(w) + (squares - 2.0 * u * total + m * u * u) / w)


def _accuracy(data: Any, engine: str, reference: np.ndarray) -> dict[str, float]:
    """Return the cost of an engine, and how far its posterior is from that of ``nuts``."""
    import hrprob

    found: list[Any] = []

    def fit() -> None:
        found[:] = [hrprob.fit(data, engine, draws=CHAINS * DRAWS, seed=1)]

    first, later = measured(fit), measured(fit)
    values = np.concatenate([found[0].theta, found[0].phi], axis=-1).reshape(-1, 8)
    flat = reference.reshape(-1, 8)
    ratios = values.std(axis=0) / flat.std(axis=0)
    return {
        "cpu": later.cpu,
        "compilation": first.cpu - later.cpu,
        "largest shift": float(np.max(np.abs(values.mean(axis=0) - flat.mean(axis=0)) / flat.std(axis=0))),
        "least sd ratio": float(ratios.min()),
        "largest sd ratio": float(ratios.max()),
    }


def _nutpie(x: Any, m: Any, total: Any, squares: Any) -> dict[str, float]:
    import jax
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    density = jax.jit(jax.value_and_grad(_log_density(x, m, total, squares)))

    def make_density() -> Any:
        def value(z: np.ndarray) -> tuple[float, np.ndarray]:
            height, slope = density(z)
            return float(height), np.asarray(slope)

        return value

    def make_expand(*seeds: Any) -> Any:
        return lambda z: {"z": np.asarray(z)}

    model = from_pyfunc(8, make_density, make_expand, [np.dtype(float)], [(8,)], ["z"])
    found: list[Any] = []

    def sample() -> None:
        trace = nutpie.sample(
            model, draws=DRAWS, tune=1000, chains=CHAINS, cores=1, seed=1, progress_bar=False
        )
        found[:] = [np.asarray(trace.posterior["z"].values)]

    first, later = measured(sample), measured(sample)
    return _efficiency(_in_balls(found[0]), later, first)
