"""What every engine offers, and what is done with any of them.

An engine is a record of its settings; what it believes is a tuple of arrays of its own.

==============  =======================================================================
``init``        the belief before anything is seen
``fit``         the belief given data: streaming engines take ``tables`` (pairs of a buffer
                and its rows in use) and the last belief, and live inside compiled programs;
                the others take data, a key and perhaps a start
``absorb``      streaming engines only: the belief after one more stay, until the next fit
``keep``        the others only: what a policy keeps of a fit, of fixed size
``draw``        one draw of z = (z_θ, z_φ)
``log_density``  where the belief has a density: ln q(z)
==============  =======================================================================
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from hrprob.estimation.posterior.nuts import Chains
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import pad
from hrprob.precision import double_precision

__all__ = ["Draws", "Engine", "draw_many", "export", "fit"]


class Engine(Protocol):
    """What the policies and the functions below ask of an engine."""

    kind: ClassVar[str]
    streaming: ClassVar[bool]
    refit: ClassVar[float]

    def init(self, target: Target) -> Any:
        """Return the belief before anything is seen."""
        ...

    def draw(self, target: Target, belief: Any, key: jax.Array, scale: Any = 1.0) -> jax.Array:
        """Return one draw of z (2d,)."""
        ...


class Draws(NamedTuple):
    """Draws from a belief."""

    theta: np.ndarray  # (chains, draws, d)
    phi: np.ndarray  # (chains, draws, d)
    z: np.ndarray  # (chains, draws, 2d)
    log_ratio: np.ndarray  # (chains, draws) ln p − ln q up to a constant; 0 where q is taken for p


def fit(engine: Any, target: Target, data: Any, key: jax.Array, start: Any = None) -> Any:
    """Return what ``engine`` believes given all of ``data``, in double precision."""
    with double_precision():
        data = jax.tree.map(jnp.asarray, data)
        if not engine.streaming:
            return engine.fit(target, data, key, start)
        rows = data.x.shape[0]
        padded = pad(data, capacity_for(rows))
        if engine.kind == "smc":
            return _stream(engine, target, padded, rows)
        return _fit_at_once(engine, target, padded, rows, engine.init(target) if start is None else start)


def draw_many(
    engine: Any, target: Target, belief: Any, data: Any, key: jax.Array, draws: int = 4000
) -> Draws:
    """Return ``draws`` draws from a belief (all that there are, for ``nuts``), with their importance ratios."""
    with double_precision():
        if isinstance(belief, Chains):
            z, ratio = jnp.asarray(belief.z), jnp.zeros(belief.z.shape[:2])
        else:
            z, ratio = _draw_many(
                engine, target, belief, jax.tree.map(jnp.asarray, data), jax.random.split(key, draws)
            )
            z, ratio = z[None], ratio[None]
        theta, phi = target.coefficients(z)
        return Draws(*(np.asarray(leaf) for leaf in (theta, phi, z, ratio)))


def export(draws: Draws, **sample_stats: Any) -> Any:
    """Return the draws as an ArviZ DataTree."""
    from arviz_base import from_dict

    groups = {"posterior": {"theta": draws.theta, "phi": draws.phi}}
    statistics = {"log_ratio": draws.log_ratio} | {
        name: np.asarray(value) for name, value in sample_stats.items()
    }
    dims = {"theta": ["feature"], "phi": ["feature"]}
    coords = {"feature": [f"x{j + 1}" for j in range(draws.theta.shape[-1])]}
    return from_dict(groups | {"sample_stats": statistics}, dims=dims, coords=coords)


@jax.jit
def _fit_at_once(engine: Any, target: Target, data: Any, rows: Any, start: Any) -> Any:
    return engine.fit(target, [(data, rows)], start)


@jax.jit
def _stream(engine: Any, target: Target, data: Any, rows: Any) -> Any:
    """Return the particles after all rows, moved whenever the rows have grown by the engine's factor."""

    def step(number: Any, carry: Any) -> Any:
        belief, due = carry
        stay = jax.tree.map(lambda leaf: leaf[number], data)
        belief = engine.absorb(target, belief, stay)
        seen = jnp.where(jnp.arange(data.x.shape[0]) <= number, 1.0, 0.0)
        so_far = type(data)(data.x, data.rounds * seen, data.total * seen, data.squares * seen)
        now = (number + 1 >= due) | (number + 1 == rows)
        belief = jax.lax.cond(
            now, lambda b: engine.fit(target, [(so_far, number + 1)], b), lambda b: b, belief
        )
        return belief, jnp.where(now, jnp.ceil((number + 1) * engine.refit), due)

    return jax.lax.fori_loop(0, rows, step, (engine.init(target), jnp.asarray(1.0)))[0]


@jax.jit
def _draw_many(engine: Any, target: Target, belief: Any, data: Any, keys: jax.Array) -> Any:
    z = jax.vmap(lambda key: engine.draw(target, belief, key))(keys)
    if not hasattr(engine, "log_density"):
        return z, jnp.zeros(z.shape[0])

    def ratio(z: jax.Array) -> jax.Array:
        return target.log_density(z, data) - engine.log_density(target, belief, z)

    return z, jax.lax.map(ratio, z, batch_size=64)
