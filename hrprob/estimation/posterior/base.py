"""What every posterior engine is: the attributes and methods that the rest of the package relies on.

An engine is a frozen record of its settings. What it knows about θ and φ is its *belief*: a tuple of arrays
of its own, made by :meth:`Engine.init` from the prior and by ``fit`` from data. Both work on z = (z_θ, z_φ),
the unconstrained coordinates of :class:`hrprob.estimation.posterior.target.Target`.

There are two sorts, and an engine of one's own inherits from one of them:

=========================  =======================================================================
:class:`StreamingEngine`   fits inside compiled programs, from tables of fixed size: one program
                           serves all users of a run
:class:`BatchEngine`       fits from outside, to one data set at a time: a run pauses for it
=========================  =======================================================================

What an engine needs and offers beyond that it states as class attributes (see :class:`Engine`); nothing
in the package asks for an engine's name. :class:`hrprob.estimation.posterior.normal.NormalBelief` has the
methods of engines whose belief is a normal distribution in z. An engine in full, in a file of its own::

    from hrprob.estimation.posterior import engines, normal
    from hrprob.estimation.posterior.base import BatchEngine
    from hrprob.estimation.posterior.inference import fit_engine

    @engines.register("wide-laplace")
    class WideLaplace(normal.NormalBelief, BatchEngine):
        \"\"\"Laplace's approximation with its spread doubled.\"\"\"

        def fit(self, target, data, key, start=None):
            narrow = fit_engine(engines.make_engine("laplace"), target, data, key)
            return narrow._replace(factor=2.0 * narrow.factor)
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Self, cast

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.records import with_fields
from hrprob._core.types import Integer, Number, PyTree, State
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.buffers import MemberRows
from hrprob.numerics.control_flow import once, one_by_one
from hrprob.observations import Data, Tables

__all__ = ["BatchEngine", "Engine", "StreamingEngine"]

# Draws that a policy keeps of a fit that consists of draws.
_KEPT = 512


class Engine(abc.ABC, Generic[State]):
    """What engines of both sorts have.

    Attributes
    ----------
    streaming : bool
        Whether it fits inside compiled programs.
    sequential : bool
        Whether a fit to a whole data set follows the rows one by one from the prior, as particles do.
    has_density : bool
        Whether beliefs have a density, ``log_density``: then importance weights and a Pareto k̂ exist.
    runs_programs : bool
        Whether it fits the model's NumPyro program with all of its latent sites; the other engines see the
        likelihood of θ and φ alone.
    refits : bool
        Whether it can fit further data; draws that were read from elsewhere cannot.
    makes_draws : bool
        Whether a belief consists of draws by chain (``own_draws``); from the others any number is drawn.
    cuts_to_ball : bool
        Whether a draw of θ may be the nearest point of its ball where no draw within it was found.
    is_reference : bool
        Whether diagnostics compare the other engines with it: its draws follow the posterior itself, up to
        Monte Carlo error, where its chains have converged.
    folds : bool
        Whether a summary of older rows (:mod:`.memory`) will do, taken at the belief's ``mode`` and by its
        ``covariance``: then a policy keeps a bounded number of rows.
    tempers : bool
        Whether it follows a target's ``temper``, a power of the likelihood.
    replicates : int
        How many independent fits, each from its own key, make the chains of a sample.
    refit : float
        A policy refits when the number of users has grown by this factor.
    seconds_per_fit : float
        About how long one fit takes that a run pauses for, with some thousand rows on one core.
    seconds_per_user : float
        About how long the fits of a trial take per user, within a run, under a model that needs single outcomes.
    library : str
        Whose algorithm it is, as ArviZ's ``inference_library`` names it.
    shorter : mapping
        Settings that :meth:`for_many_data_sets` replaces, with their values there.
    raise_for_rhat, raise_for_divergences : str
        The setting to raise where chains disagree, and where draws diverge; empty where there is none.
    """

    kind: ClassVar[str]
    streaming: ClassVar[bool]
    sequential: ClassVar[bool] = False
    has_density: ClassVar[bool] = False
    runs_programs: ClassVar[bool] = False
    refits: ClassVar[bool] = True
    makes_draws: ClassVar[bool] = False
    cuts_to_ball: ClassVar[bool] = False
    is_reference: ClassVar[bool] = False
    folds: ClassVar[bool] = False
    tempers: ClassVar[bool] = False
    replicates: ClassVar[int] = 1
    refit: ClassVar[float]
    seconds_per_fit: ClassVar[float] = 0.0
    seconds_per_user: ClassVar[float] = 0.0
    library: ClassVar[str] = "hrprob"
    shorter: ClassVar[Mapping[str, object]] = {}
    raise_for_rhat: ClassVar[str] = ""
    raise_for_divergences: ClassVar[str] = ""

    @abc.abstractmethod
    def init(self, target: Target, key: jax.Array | None = None) -> State:
        """Return the belief before any data: the prior. Without a key it is always the same."""

    @abc.abstractmethod
    def fit(self, target: Target, *args: PyTree, **kwargs: PyTree) -> State:
        """Return the belief given data; each sort of engine has its own arguments."""

    @abc.abstractmethod
    def draw(self, target: Target, belief: State, key: jax.Array, scale: Number = 1.0) -> jax.Array:
        """Return one draw of z (2d,), its distance from the mean multiplied by ``scale``."""

    def draw_coefficients(
        self, target: Target, belief: State, key: jax.Array, scale: Number = 1.0
    ) -> tuple[jax.Array, jax.Array]:
        """Return θ and φ (d,) of one draw."""
        return target.coefficients(self.draw(target, belief, key, scale))

    def draw_some(self, target: Target, belief: State, key: jax.Array, draws: int) -> jax.Array:
        """Return draws of z (draws, 2d); fewer where the belief consists of fewer draws."""
        return jax.vmap(lambda key: self.draw(target, belief, key))(jax.random.split(key, draws))

    def log_density(self, target: Target, belief: State, z: jax.Array) -> jax.Array:
        """Return ln q(z) of the belief, where ``has_density``."""
        raise NotImplementedError(f"beliefs of {type(self).__name__} have no density")

    def moves_draws(self, target: Target) -> bool:
        """Return whether draws of a finished fit are moved on (:mod:`.refining`), where beliefs have no density."""
        return False

    @property
    def total_draws(self) -> int | None:
        """How many draws a fit makes, all chains together; None where any number can be drawn."""
        return None

    def with_draws(self, draws: int) -> Self:
        """Return the engine with chains that have about ``draws`` draws together, where it has chains."""
        return self

    def for_policy(self) -> Self:
        """Return the engine as a policy has it, which draws from each of many fits once."""
        return self

    def for_final_draws(self) -> Self:
        """Return the engine as it draws from a finished fit, where a draw may cost more than in a policy."""
        return self

    def for_many_data_sets(self) -> Self:
        """Return the engine as it is fitted to many data sets: settings left at their defaults are ``shorter``.

        Examples
        --------
        >>> from hrprob.estimation.posterior.engines import make_engine
        >>> [make_engine(svi).for_many_data_sets().steps for svi in ("svi", {"kind": "svi", "steps": 50})]
        [1000, 50]
        """
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        unset = {name: to for name, to in self.shorter.items() if getattr(self, name) == defaults[name]}
        return with_fields(self, **unset)


class StreamingEngine(Engine[State]):
    """An engine that fits inside compiled programs.

    ``tables`` are pairs of data in a buffer of fixed length and the number of its rows in use. A subclass
    writes ``init``, ``fit`` and ``draw``, and where every row changes the belief at once ``absorb``.
    """

    streaming: ClassVar[bool] = True
    refit: ClassVar[float] = 1.05

    @abc.abstractmethod
    def fit(self, target: Target, tables: Tables, start: State) -> State:
        """Return the belief given all rows in use; ``start`` is the belief before."""

    def absorb(self, target: Target, belief: State, row: Data) -> State:
        """Return the belief after one more row of data, without an axis of rows, until the next fit."""
        return belief

    def mode(self, belief: State) -> jax.Array:
        """Return the mode z (2d,) of a belief, where the engine ``folds``."""
        raise NotImplementedError(f"beliefs of {type(self).__name__} have no mode")

    def covariance(self, belief: State) -> jax.Array:
        """Return the covariance of z (2d, 2d) of a belief, where the engine ``folds``."""
        raise NotImplementedError(f"beliefs of {type(self).__name__} have no covariance")

    def needs_refit(self, belief: State) -> bool | jax.Array:
        """Return whether the belief must be refitted before the number of users has grown by ``refit``."""
        return False

    def refresh(self, target: Target, tables: Tables, belief: State, due: jax.Array) -> State:
        """Return the belief, refitted where it is ``due``."""
        return once(due, lambda belief: self.fit(target, tables, belief), belief)

    def fit_one_by_one(
        self,
        target: Target,
        tables: Tables,
        belief: State,
        due: jax.Array,
        fitted: Callable[[Target, Tables, State], State] | None = None,
    ) -> State:
        """Return the belief, refitted where it is ``due``, by ``fit`` or by ``fitted``; in a batch of trials one after another.

        For engines whose ``fit`` reads its rows by :func:`~hrprob.numerics.row_sums.sum_over_rows` alone: the program is that
        of one trial, and every trial takes as many steps as it needs.
        """

        def fit(belief: State, given: tuple[Target, list[Integer]], *columns: MemberRows) -> State:
            target, rows = given
            return (fitted or self.fit)(target, list(zip(columns, rows, strict=True)), belief)  # type: ignore[arg-type]

        given = target, [rows for _, rows in tables]
        return one_by_one(due, fit, belief, given, [data for data, _ in tables])


class BatchEngine(Engine[State]):
    """An engine that fits one data set at a time, from outside of compiled programs.

    By default a belief consists of draws of z (chains, draws, 2d), and a policy keeps 512 of them, of which
    :meth:`draw` takes one at random: a subclass writes ``fit`` alone. One with beliefs of another kind
    has ``makes_draws = False`` and writes ``init``, ``keep`` and ``draw`` too.
    """

    streaming: ClassVar[bool] = False
    makes_draws: ClassVar[bool] = True
    refit: ClassVar[float] = 1.5

    @abc.abstractmethod
    def fit(self, target: Target, data: Data, key: jax.Array, start: PyTree = None) -> State:
        """Return the belief given ``data``; ``start`` is a belief, or what was kept of one, to begin at."""

    def own_draws(self, belief: State) -> jax.Array:
        """Return the draws of z (chains, draws, 2d or more) that a belief consists of, where ``makes_draws``."""
        return cast(jax.Array, belief)

    def draw_some(self, target: Target, belief: State, key: jax.Array, draws: int) -> jax.Array:
        """Return evenly thinned draws of the belief's own, where ``makes_draws``."""
        if not self.makes_draws:
            return super().draw_some(target, belief, key, draws)
        every = self.own_draws(belief)[..., : target.size].reshape(-1, target.size)
        return every[np.linspace(0, every.shape[0] - 1, min(draws, every.shape[0])).astype(int)]

    def statistics(self, belief: State) -> Mapping[str, np.ndarray]:
        """Return what the sampler reports of every draw (chains, draws), by ArviZ's names."""
        return {}

    def init(self, target: Target, key: jax.Array | None = None) -> State:
        """Return draws of z (512, 2d) from the prior: what :meth:`keep` keeps of a fit."""
        return cast(State, target.prior_of_both(jax.random.key(0) if key is None else key, _KEPT))

    def keep(self, target: Target, belief: State) -> PyTree:
        """Return the part of a fit that a policy keeps, of fixed size: evenly thinned draws of (z_θ, z_φ)."""
        draws = self.own_draws(belief)[..., : target.size].reshape(-1, target.size)
        return draws[jnp.linspace(0, draws.shape[0] - 1, _KEPT).astype(jnp.int32)]

    def draw(self, target: Target, belief: State, key: jax.Array, scale: Number = 1.0) -> jax.Array:
        """Return one of the draws that were kept, its distance from their mean multiplied by ``scale``."""
        kept = cast(jax.Array, belief)
        one = kept[jax.random.randint(key, (), 0, kept.shape[0])]
        mean = jnp.mean(kept, axis=0)
        return mean + scale * (one - mean)
