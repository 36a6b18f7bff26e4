r"""Posterior SBC: whether the engine updates this posterior rightly.

Calibration over the prior speaks of data sets that look like the prior's. Here it is done about the data at hand [1]_: a
truth is drawn from the posterior, further users are served under it by Thompson sampling on that posterior (contexts and
levels are those of the table, drawn again; the policy does not learn from these users), the engine is fitted to old and new
rounds together, and the truth is ranked among its draws. The ranks are uniform if the engine computes the posterior; they are those of every coefficient and of
the log likelihood of all rounds [2]_.

References
----------
.. [1] T. Säilynoja, M. Schmitt, P.-C. Bürkner, A. Vehtari, "Posterior SBC: simulation-based calibration checking
   conditional on data", arXiv:2502.03279, 2025.
.. [2] M. Modrák et al., "Simulation-based calibration checking for Bayesian computation: the choice of test quantities
   shapes sensitivity", arXiv:2211.02383, 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.formatting import format_number, p_is, percent
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, key_of
from hrprob._core.types import Integer, PyTree
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.refining import sample_refined
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.checks import drawing
from hrprob.fitting.checks.base import NO_PREDICTIONS, Check, CheckFigure, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.table import Table
from hrprob.models import Stays, pad, rounds, stays
from hrprob.numerics.multiple_testing import holm
from hrprob.numerics.uniformity import detectable_shift, pit_among, uniformity_p_value
from hrprob.observations import Data

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["Updating", "UpdatingResult", "serve_further"]

# Refits of engines that fit inside compiled programs, and of the others, which take seconds each: as few as still detect a
# share that is off by _MOST_SHIFT at the level of a page of ten checks, with up to 32 features.
_FAST_REFITS, _SLOW_REFITS = 160, 32
# Further users, contexts to choose from, rounds recorded of a user, and draws that a truth is ranked among.
_USERS, _ACTIONS, _RECORDED, _DRAWS = 30, 5, 16, 127
# The check passes if a share of ranks that is off by this much would be detected.
_MOST_SHIFT = 0.5
# What is said of draws from elsewhere, and what decides where an engine is too slow for many refits.
_NOT_REFITTED = Evidence("draws from elsewhere cannot be made again for other data", decided_by="")
_MORE_REFITS = "`laplace`, which is refitted more often,"


class UpdatingResult(NamedTuple):
    """Ranks of truths among draws of the refitted posterior; None where the model has unknowns beyond θ and φ."""

    ranks: dict[str, np.ndarray] | None  # by quantity, (refits,)
    engine: str
    level: float
    missing: Evidence = NO_PREDICTIONS  # what is said where there are none


@register("updating")
class Updating(Check[UpdatingResult]):
    """Posterior SBC: further users served under draws of the posterior, refitted, ranked."""

    title = "Updating the posterior (posterior SBC)"
    order = 8.0
    remedy = "another engine, nuts"
    quick = False

    def compute(self, inputs: CheckInputs) -> UpdatingResult:
        """Return the ranks of truths drawn from the posterior."""
        posterior = inputs.posterior
        if inputs.prequential is None or not posterior.engine.refits:
            missing = inputs.unpredicted or _NOT_REFITTED
            return UpdatingResult(None, posterior.engine.kind, inputs.level, missing)
        engine = posterior.engine
        # Where this posterior had to be refined, those after it are refined too.
        fast = engine.streaming and not engine.sequential and not posterior.refined
        refits = _FAST_REFITS if fast else _SLOW_REFITS
        rng = np.random.default_rng([posterior.seed, 1])
        flat = posterior.flat()
        picks = rng.choice(len(flat["theta"]), refits, replace=len(flat["theta"]) < refits)
        keys = jax.random.split(key_of(posterior.seed, Purpose.REPLICATES), refits)
        truths = np.concatenate([flat["theta"][picks], flat["phi"][picks]], axis=1)
        d = posterior.setting.dimension
        drawn, likelihood = [], []
        for truth, key in zip(truths, keys, strict=True):
            table = serve_further(posterior, truth[:d], truth[d:], rng, key)
            theta, phi, of_data = _refit(posterior, table, truth, key, fast)
            drawn.append(np.concatenate([theta, phi], axis=1))
            likelihood.append(of_data)
        draws, of_data = np.stack(drawn), np.stack(likelihood)  # (refits, draws, 2d), (refits, draws + 1)
        names = [f"{symbol}[{feature}]" for symbol in ("theta", "phi") for feature in inputs.table.features]
        ranks = dict(zip(names, pit_among(truths, draws, rng).T, strict=True))
        ranks["ln p(data)"] = pit_among(of_data[:, -1], of_data[:, :-1], rng)
        return UpdatingResult(ranks, engine.kind, inputs.level)

    def evidence(self, result: UpdatingResult) -> Evidence:
        """Return whether the ranks are uniform."""
        if result.ranks is None:
            return result.missing
        names, adjusted = list(result.ranks), _adjusted(result)
        refits = next(iter(result.ranks.values())).size
        shift = detectable_shift(refits, result.level / len(names))
        worst = int(np.argmin(adjusted))
        return Evidence(
            f"truths among {refits} refits by {result.engine} after {_USERS} further users each: uniform ranks, smallest "
            f"{p_is(adjusted[worst])} ({names[worst]}, {format_number(len(names))} quantities)",
            f"detects shares of ranks off by {percent(shift)}",
            float(adjusted[worst]),
            shift <= _MOST_SHIFT,
            decided_by=_MORE_REFITS if refits < _FAST_REFITS else None,
        )

    def figures(self, result: UpdatingResult) -> list[CheckFigure]:
        """Return the ranks with the smallest p-values."""
        if result.ranks is None:
            return []
        order, names = np.argsort(_adjusted(result))[:4], list(result.ranks)
        shown = {names[index]: result.ranks[names[index]] for index in order}
        caption = "Posterior SBC: ECDF of the ranks of truths minus the diagonal; the four quantities with the smallest p."
        return [CheckFigure("updating", caption, lambda: drawing.plot_ecdf(shown))]

    def to_plain(self, result: UpdatingResult) -> Mapping[str, object]:
        """Return adjusted p-values by quantity."""
        if result.ranks is None:
            return {}
        return {"adjusted_p_values": dict(zip(result.ranks, _adjusted(result).tolist(), strict=True))}


def _adjusted(result: UpdatingResult) -> np.ndarray:
    assert result.ranks is not None
    return holm([uniformity_p_value(ranks) for ranks in result.ranks.values()])


def serve_further(
    posterior: Posterior, theta: np.ndarray, phi: np.ndarray, rng: np.random.Generator, key: jax.Array
) -> Table:
    """Return the table with further users, whose outcomes come from one truth and whose actions Thompson sampling picks."""
    table, flat = posterior.table, posterior.flat()
    contexts = table.x[rng.integers(len(table), size=(_USERS, _ACTIONS))]
    beta = (
        np.full(_USERS, np.inf) if table.beta is None else table.beta[rng.integers(len(table), size=_USERS)]
    )
    believed = rng.integers(len(flat["theta"]), size=_USERS)
    link = posterior.setting.link
    mean = np.einsum("uad,ud->ua", contexts, flat["theta"][believed])
    variance = np.maximum(np.asarray(link(np.einsum("uad,ud->ua", contexts, flat["phi"][believed]))), 1e-12)
    # Where β is ∞ everyone leaves at once, and the largest mean is as good a choice as any.
    level = np.where(np.isfinite(beta), beta, 0.0)[:, None]
    chosen = contexts[np.arange(_USERS), np.argmax((mean - level) / np.sqrt(variance), axis=1)]
    with double_precision():
        outcomes = np.asarray(_outcomes(posterior.target, *map(jnp.asarray, (theta, phi, chosen)), key))
    below = outcomes < beta[:, None]
    recorded = np.where(below.any(axis=1), below.argmax(axis=1) + 1, _RECORDED)
    keep = np.arange(_RECORDED) < recorded[:, None]
    user = np.repeat(np.arange(_USERS), recorded)
    labels = (
        np.arange(len(table))
        if table.user is None
        else np.unique(table.user, return_inverse=True)[1].reshape(-1)
    )
    return Table(
        np.concatenate([table.x, chosen[user]]),
        np.concatenate([table.r, outcomes[keep]]),
        user=np.concatenate([labels, labels.max() + 1 + user]),
        intercept=table.intercept,
    )


def _refit(
    posterior: Posterior, table: Table, truth: np.ndarray, key: jax.Array, fast: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return draws of θ and φ given a table, and the log likelihood under each and under the truth, last."""
    target = posterior.target
    by_stay = target.model.data is Stays
    data: Data = stays(table.x, table.r, table.user) if by_stay else rounds(table.x, table.r)
    most = len(posterior.table) + _USERS * (1 if by_stay else _RECORDED)
    wide = pad(data, 1 << max(most - 1, 127).bit_length())
    d = posterior.setting.dimension
    with double_precision():
        arrays = jax.tree.map(jnp.asarray, wide)
        if fast:
            theta, phi = _fit_and_draw(posterior.engine, target, arrays, len(data.x), key)
        else:
            engine = posterior.engine.for_many_data_sets()
            drawn = sample_refined(engine, target, wide, key, _DRAWS)
            flat = [leaf.reshape(-1, d) for leaf in (drawn.theta, drawn.phi)]
            picks = np.linspace(0, len(flat[0]) - 1, _DRAWS).astype(int)
            theta, phi = (jnp.asarray(leaf[picks]) for leaf in flat)
        both = [
            jnp.concatenate([drawn, jnp.asarray(own)[None]])
            for drawn, own in ((theta, truth[:d]), (phi, truth[d:]))
        ]
        likelihood = _likelihoods(target, arrays, *both)
        return np.asarray(theta), np.asarray(phi), np.asarray(likelihood)


@jax.jit
def _outcomes(target: Target, theta: jax.Array, phi: jax.Array, x: jax.Array, key: jax.Array) -> jax.Array:
    u, w = target.setting.moments(theta, phi, x)
    drawn: jax.Array = (
        target.model.outcome(u[:, None], w[:, None]).expand((x.shape[0], _RECORDED)).sample(key)
    )
    return drawn


@jax.jit
def _fit_and_draw(engine: Engine, target: Target, data: Data, rows: Integer, key: jax.Array) -> PyTree:
    belief = engine.fit(target, [(data, jnp.asarray(rows, jnp.int32))], engine.init(target, key))
    z = jax.vmap(lambda key: engine.draw(target, belief, key))(jax.random.split(key, _DRAWS))
    return target.coefficients(z)


@jax.jit
def _likelihoods(target: Target, data: Data, theta: jax.Array, phi: jax.Array) -> jax.Array:
    return jax.vmap(
        lambda theta, phi: jnp.sum(target.model.log_likelihood(theta, phi, data, target.setting))
    )(theta, phi)
