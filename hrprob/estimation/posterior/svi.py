"""Variational inference with NumPyro: the normal distribution in z that is closest to the posterior.

The guide is ``AutoMultivariateNormal`` in the same coordinates as everywhere, so that
what comes out is a mean and a factor, as with ``laplace``. Data are padded to a power
of two and enter as arguments: a growing stream compiles anew only when it outgrows its
padding. A fit can start from the last one. Latent sites of the program beyond θ and φ
are part of the guide (:mod:`.sites`).
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpyro.infer import SVI as Inference
from numpyro.infer import Trace_ELBO
from numpyro.infer.autoguide import AutoMultivariateNormal
from numpyro.optim import Adam

from hrprob.errors import check_count, check_number
from hrprob.estimation.posterior import laplace
from hrprob.estimation.posterior import sites as program
from hrprob.estimation.posterior.laplace import Normal
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data
from hrprob.record import record, settle

__all__ = ["SVI"]

# Where nothing is known the guide starts at the prior's centre, well within its scale.
_FIRST_SPREAD = 0.3


@record(static=("steps", "particles"))
class SVI:
    """The engine ``svi``.

    Parameters
    ----------
    steps : int
        Steps of the optimiser.
    particles : int
        Draws from the guide in each.
    rate : float
        First step size of Adam; it falls to a hundredth along a cosine.
    """

    kind: ClassVar[str] = "svi"
    streaming: ClassVar[bool] = False
    refit: ClassVar[float] = 1.5
    steps: int = 2000
    particles: int = 8
    rate: Any = 0.03

    def __post_init__(self) -> None:
        settle(
            self,
            steps=check_count("steps", self.steps, remedy="some thousand reach the optimum"),
            particles=check_count("particles", self.particles, remedy="they make the gradient less noisy"),
            rate=check_number("rate", self.rate, low=0, open_low=True, remedy="it is a step size"),
        )

    def init(self, target: Target) -> Normal:
        """Return the prior itself, where it is uniform."""
        return laplace.Laplace().init(target)

    def fit(self, target: Target, data: Data, key: jax.Array, start: Normal | None = None) -> Normal:
        """Return the guide fitted to ``data``, from that of ``start`` where there is one."""
        wide, sites = program.padded(target, data)
        size = program.size(target, sites)
        mean, factor = jnp.zeros(size), _FIRST_SPREAD * jnp.eye(size)
        if start is not None:
            known = start.mean.shape[0]  # what a policy kept has no sites beyond θ and φ
            mean, factor = mean.at[:known].set(start.mean), factor.at[:known, :known].set(start.factor)
        return _run(self, target, sites, wide, key, Normal(mean, mean, factor))

    def keep(self, target: Target, belief: Normal) -> Normal:
        """Return what a policy keeps of a fit: all of it that tells of θ and φ."""
        covariance = (belief.factor @ belief.factor.T)[: target.size, : target.size]
        mean = belief.mean[: target.size]
        return Normal(mean, mean, jnp.linalg.cholesky(covariance))

    def draw(self, target: Target, belief: Normal, key: jax.Array, scale: Any = 1.0) -> jax.Array:
        """Return one draw of z, the spread multiplied by ``scale``."""
        return laplace.Laplace().draw(target, belief, key, scale)

    def log_density(self, target: Target, belief: Normal, z: jax.Array) -> jax.Array:
        """Return the log density of the guide at z."""
        return laplace.Laplace().log_density(target, belief, z)


@functools.partial(jax.jit, static_argnames="sites")
@program.runs_alone
def _run(
    engine: SVI, target: Target, sites: program.Sites, data: Data, key: jax.Array, start: Normal
) -> Normal:
    to_guide = program.layout(target, sites)
    from_guide = np.argsort(to_guide)
    guide = AutoMultivariateNormal(target.model.conditioned)
    cosine = lambda step: engine.rate * (0.505 + 0.495 * jnp.cos(jnp.pi * step / engine.steps))  # noqa: E731
    inference = Inference(
        target.model.conditioned, guide, Adam(cosine), Trace_ELBO(num_particles=engine.particles)
    )
    args = (data, target.setting, target.prior)
    tril = jnp.linalg.cholesky((start.factor @ start.factor.T)[to_guide][:, to_guide])
    first = {"auto_loc": start.mean[to_guide], "auto_scale_tril": tril}
    state = inference.init(key, *args, init_params=first)

    def step(state: Any, _: None) -> tuple[Any, Any]:
        state, _ = inference.update(state, *args)
        found = inference.get_params(state)
        return state, (found["auto_loc"], found["auto_scale_tril"])

    _, (means, factors) = lax.scan(step, state, None, engine.steps)
    # The last tenth averaged: the noise of single steps is gone, the optimum long reached.
    tail = max(engine.steps // 10, 1)
    mean, factor = jnp.mean(means[-tail:], axis=0), jnp.mean(factors[-tail:], axis=0)
    mean, covariance = mean[from_guide], (factor @ factor.T)[from_guide][:, from_guide]
    return Normal(mean, mean, jnp.linalg.cholesky(covariance))
