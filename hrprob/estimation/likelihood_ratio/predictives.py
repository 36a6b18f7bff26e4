"""What a predictive is, and the registry of predictives.

A predictive states the density q of each row before it is seen: all rounds of a stay, or a single round. It may
look at earlier rows only. Whatever it states, the set is valid; the better it predicts, the smaller the set.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from hrprob._core.registry import Registry
from hrprob._core.types import State
from hrprob.noise.normal import log_density_of_rounds
from hrprob.observations import Data, Stays

if TYPE_CHECKING:
    from hrprob.models import Model
    from hrprob.models.setting import Setting

__all__ = ["PREDICTIVES", "Predictive", "guarded", "make_predictive", "register", "sums_of"]

P = TypeVar("P", bound=type)

# How much wider than the predictive the normal density beside it is, as a factor on the variance.
_WIDER = 2.0


class Predictive(abc.ABC, Generic[State]):
    """The contract of a predictive: pure functions over its state, a tuple of arrays."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def init(self, model: Model, setting: Setting) -> State:
        """Return the state before the first row."""

    @abc.abstractmethod
    def absorb(
        self, state: State, past: Data, new: Data, model: Model, setting: Setting
    ) -> tuple[State, jax.Array]:
        """Return the state after some new rows, and ln q of each (n,).

        The q of a row depends on ``past`` and on the new rows before it, on nothing else.
        """

    def absorb_sets(self, data: Data, model: Model, setting: Setting) -> jax.Array:
        """Return ln q of every row of several data sets of one length, each from its own earlier rows: (sets, rows)."""
        sets = [jax.tree.map(lambda leaf, i=i: leaf[i], data) for i in range(data.x.shape[0])]
        nothing = jax.tree.map(lambda leaf: leaf[:0], sets[0])
        return jnp.stack(
            [self.absorb(self.init(model, setting), nothing, one, model, setting)[1] for one in sets]
        )


PREDICTIVES: Registry[Predictive] = Registry(
    "predictives",
    field="predictive",
    package="hrprob.estimation.likelihood_ratio",
    requires=("init", "absorb"),
    modules={"glse": "plug_in", "laplace": "posterior", "smc": "posterior", "weighted": "plug_in"},
)
"""All predictives."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[P], P]:
    """Register a class as the predictive ``kind``.

    Examples
    --------
    >>> list(PREDICTIVES)
    ['glse', 'laplace', 'posterior', 'smc', 'weighted']
    """
    return PREDICTIVES.register(kind, static=static)


def make_predictive(predictive: object) -> Predictive:
    """Return a predictive: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_predictive({"kind": "glse", "ridge": 2.0}).ridge
    2.0
    """
    return PREDICTIVES.make(predictive)


def sums_of(data: Data) -> Stays:
    """Return rows of either kind as stays: m, Σr and Σr² of each.

    Examples
    --------
    >>> from hrprob.observations import rounds
    >>> sums_of(rounds([[1.0], [0.5]], [2.0, 3.0])).squares.tolist()
    [4.0, 9.0]
    """
    if isinstance(data, Stays):
        return data
    # Methods alone, so that arrays of NumPy stay such.
    sums = ((data.weight * data.r**power).sum(axis=-1) for power in range(3))
    return Stays(data.x, *sums)


def guarded(log_q: jax.Array, data: Data, number: jax.Array, u: jax.Array, w: jax.Array) -> jax.Array:
    """Return ln((1 − ε)q + εq₀) of each row, where outcomes are seen one by one; else ``log_q``.

    A model with (almost) bounded outcomes may have a density of almost 0 at an outcome that a slightly wrong mean
    excludes, and one such outcome would make the set useless for ever. q₀ is a normal density of the same mean and
    twice the variance, and ε = (i + 1)^{−3/2}/2 at row i: all rows together cost at most 1.6 in Σ ln q.
    Sums over a stay are used for normal outcomes only, which need no guard.
    """
    if isinstance(data, Stays):
        return log_q
    stays = sums_of(data)
    beside = log_density_of_rounds(u, _WIDER * w, stays.rounds, stays.total, stays.squares)
    share = 0.5 * (number + 1.0) ** -1.5
    return jnp.logaddexp(jnp.log1p(-share) + log_q, jnp.log(share) + beside)
