"""The base class of Bayesian policies: a ledger of all users, and a posterior that is fitted to it.

A policy records every user (:mod:`hrprob.policies.ledger`) and fits its posterior to
the rows so far whenever the number of users has grown by the factor ``refit``. The times of
the fits depend on the number of users alone, so that all trials of a batch fit together and a
user between two fits costs one draw only.

A run of more than 32 768 users has no row for each: where the engine can do with a summary of older rows
(``laplace``; :mod:`hrprob.estimation.posterior.memory`), the state has bounded size, and a fit bounded cost. Shorter runs, and
other engines, keep all rows.

Streaming engines (``laplace``, ``smc``) fit within the compiled run. For batch engines (``nuts``, ``svi``) the
run pauses (``pauses``, ``fit_outside``). Between two fits the particles of ``smc`` take in
every stay, and every round of an eager policy; the beliefs of the other engines do not change.

The engine's *belief* is its approximation of the posterior (:mod:`hrprob.estimation.posterior.base`).
NumPyro is imported when such a policy is made, not with this module: a run of other policies needs none of it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.precision import double_precision
from hrprob._core.records import record, set_frozen, set_later, with_fields
from hrprob._core.types import AsWritten, PyTree
from hrprob.estimation.posterior.engines import make_engine
from hrprob.numerics.buffers import MemberRows
from hrprob.numerics.control_flow import one_by_one
from hrprob.observations import Data, Rounds, Stays, pad, rounds, stays
from hrprob.policies import ledger
from hrprob.policies.base import Seen
from hrprob.policies.ledger import EAGER_SLOTS, Ledger
from hrprob.policies.offers import Prediction, predicted
from hrprob.policies.sample_set import Learner
from hrprob.policies.schedule import refit_times
from hrprob.problem import Problem

if TYPE_CHECKING:
    from hrprob.estimation.posterior.base import Engine
    from hrprob.estimation.posterior.target import Target

__all__ = ["BayesLearner", "BayesState", "refit_times"]


LONG_RUN = 2**15
"""Users up to whom a policy keeps all rows: what a summary saves in a shorter run, its longer program costs to compile."""

USERS_PER_FEATURE = 2**9
"""Users whose rows a policy keeps in a long run, for each of d features and at least for four, where its engine can do with a
summary of older ones (:mod:`.memory`): 2048 where d is 4. The error of a summary grows with d for a given number of users."""

# Data for a batch engine are padded to this number of rows times a power of 8, so that a run of some
# thousand users compiles one program.
LEAST_ROWS = 2048


class BayesState(NamedTuple):
    """The data so far, and the belief that was fitted to them."""

    ledger: Ledger[Data]
    belief: PyTree  # of the engine
    memory: PyTree = None  # of users whose rows were given up, in long runs


@record(static=("eager", "capacity", "warm_rows", "fold_after"))
class BayesLearner(Learner[BayesState]):
    """A policy with a posterior of (θ, φ).

    Parameters
    ----------
    engine : str, table or engine
        The approximation of the posterior: "laplace", "smc", "svi", "nuts", or one's own.
    model : str, table or Model
        The distribution of outcomes given θ and φ.
    prior : str, table or Prior
        "uniform" on the two balls, or "gaussian", truncated to them.
    refit : float, optional
        The posterior is refitted when the number of users has grown by this factor; by
        default the engine's (1.05 for "laplace", 1.2 for "smc", 1.5 for "svi" and "nuts").
    growth : float, optional
        K, where the sample set may grow by K rounds per user only. By default every round is in the sample
        set for which there is room: an eager policy has room for eight actions per user, and a
        model that needs single outcomes has room for sixteen per action.
    eager : bool
        Select an action in every round. Only the particles of "smc" also learn from every round: the other
        engines fit when a user has left, so that the choices within a stay differ by the draw alone
        and its outcomes count from the next fit on.
    """

    trials_apart: ClassVar[bool] = True
    long_program: ClassVar[bool] = True

    engine: Annotated[AsWritten, "str | Mapping[str, object] | Engine"] = dataclasses.field(
        default="laplace", kw_only=True
    )
    model: Annotated[AsWritten, "str | Mapping[str, object] | Model"] = dataclasses.field(
        default="gaussian", kw_only=True
    )
    prior: Annotated[AsWritten, "str | Mapping[str, object] | Prior"] = dataclasses.field(
        default="uniform", kw_only=True
    )
    refit: float | None = dataclasses.field(default=None, kw_only=True)
    due: np.ndarray = set_later()
    capacity: int = set_later()
    warm_rows: int = set_later()
    # Users whose rows are kept until they are summarised; None where all rows are kept.
    fold_after: int | None = set_later()

    def __post_init__(self) -> None:
        from hrprob.models import make_model, make_prior, priors

        remedy = "1.05 refits whenever the number of users has grown by 5 %; 1 after every user"
        set_frozen(
            self,
            engine=make_engine(self.engine).for_policy(),
            model=make_model(self.model),
            prior=make_prior(self.prior),
        )
        priors.check_record(self.prior)
        refit = self.engine.refit if self.refit is None else self.refit
        set_frozen(self, refit=check_number("refit", refit, low=1, remedy=remedy))
        super().__post_init__()

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with room for these users."""
        from hrprob.estimation.posterior.target import capacity_for
        from hrprob.models import priors

        _check_users(self.model, eager=bool(self.eager), warmup=int(self.warmup))
        bound = super().bind(problem, users)
        refit = self.refit
        assert refit is not None  # set when the policy was made
        if isinstance(self.prior, priors.WithIntercept):
            remedy = "contexts of a problem have no first entry 1; take its `slopes` alone"
            raise InvalidInput("prior", "must have no intercepts in a policy", self.prior.kind, remedy)
        priors.check_prior(self.prior, bound.target.setting)
        _check_engine(self.engine, bound.target)
        due = refit_times(self.warmup + users, refit, self.warmup)
        most = USERS_PER_FEATURE * max(bound.known.dimension, 4)
        folds = self.engine.folds and users > max(LONG_RUN, most)
        if folds:
            # The summary is made at the mode given all rows.
            due[int(self.warmup) + most :: most] = True
        return with_fields(
            bound,
            due=due,
            capacity=capacity_for((most if folds else users) * self._slots),
            warm_rows=capacity_for(self.warmup * bound.known.actions),
            fold_after=most if folds else None,
        )

    @property
    def _slots(self) -> int:
        return EAGER_SLOTS if self.eager else 1

    @property
    def target(self) -> Target:
        """The posterior that the engine approximates."""
        from hrprob.estimation.posterior.target import Target
        from hrprob.models import Setting

        return Target(self.model, self.prior, Setting.of(self.known))

    def init(self) -> BayesState:
        """Return the state before the first user: the prior."""
        tables = ledger.empty(
            self.model.data,
            rows=self.capacity,
            warm=self.warm_rows,
            slots=self._slots,
            dimension=self.known.dimension,
        )
        return BayesState(tables, self.engine.init(self.target), self._no_memory(tables.rows))

    def _no_memory(self, rows: Data) -> PyTree:
        from hrprob.estimation.posterior import memory

        return None if self.fold_after is None else memory.nothing(rows)

    def update(self, state: BayesState, seen: Seen) -> BayesState:
        """Record what was seen; a streaming engine may change its belief at once."""
        number = jnp.asarray(seen.user, jnp.int32) - 1
        warming = (number < jnp.asarray(self.warmup, jnp.int32)) & (self.warm_rows > 0)
        warm_row = jnp.where(warming, number * self.known.actions + seen.action, -1)
        noted = ledger.note(state.ledger, seen, warm_row)
        if not self.engine.streaming:
            return state._replace(ledger=noted)
        row = ledger.row_of(self.model.data, seen)
        return state._replace(ledger=noted, belief=self.engine.absorb(self.target, state.belief, row))

    def depart(self, state: BayesState, user: jax.Array) -> BayesState:
        """Move the user's rows to the table of all users, and refit where it is due."""
        number = jnp.asarray(user, jnp.int32)
        place = number - 1 - jnp.asarray(self.warmup, jnp.int32)
        if self.fold_after is not None:
            place = jnp.where(place >= 0, place % self.fold_after, place)
        closed = ledger.close(state.ledger, place)
        if not self.engine.streaming:
            return state._replace(ledger=closed)
        rows = (closed.rows, jnp.maximum(place + 1, 0) * self._slots)
        tables, due = [rows, (closed.warm, self.warm_rows)], jnp.asarray(self.due)[number]
        if self.fold_after is None:
            return state._replace(
                ledger=closed, belief=self.engine.refresh(self.target, tables, state.belief, due)
            )
        return self._fold(state._replace(ledger=closed), tables, due, place + 1 == self.fold_after)

    def _fold(self, state: BayesState, tables: PyTree, due: jax.Array, full: jax.Array) -> BayesState:
        """Return the state refitted where it is due, and with the rows summarised where there is no room for more."""
        from hrprob.estimation.posterior import memory

        earlier = state.memory
        target = with_fields(self.target, past=earlier.past)
        tables = [*tables, (earlier.kept, earlier.used)]
        belief = self.engine.refresh(target, tables, state.belief, due)

        def fold(earlier: PyTree, given: tuple[Target, PyTree], rows: MemberRows) -> PyTree:
            target, belief = given
            mode, covariance = self.engine.mode(belief), self.engine.covariance(belief)
            return memory.add(target, earlier, rows.read(0, self.capacity), mode, covariance)

        # Warm-up users have a table of their own, which is kept.
        given = self.target, belief
        return state._replace(
            belief=belief, memory=one_by_one(full, fold, earlier, given, [state.ledger.rows])
        )

    def quota(
        self, state: BayesState, sample_size: jax.Array, user: jax.Array, context: jax.Array
    ) -> jax.Array:
        """Return how many more rounds may enter the sample set: no more than the ledger has room for."""
        allowed = super().quota(state, sample_size, user, context)
        first = (jnp.asarray(user, jnp.int32) - 1) * self.known.actions
        warm = ledger.warm_room(state.ledger, context, first, self.known.actions)
        room = jnp.where(user > self.warmup, ledger.room(state.ledger, context), warm)
        return jnp.minimum(allowed, room)

    def pauses(self, users: int) -> list[int]:
        """Return the numbers of users after which a batch engine is fitted; none for a streaming engine."""
        if self.engine.streaming:
            return []
        due = np.flatnonzero(np.asarray(self.due)) - int(self.warmup)
        return [int(user) for user in due if 0 <= user < users and user + int(self.warmup) > 0]

    def extra_seconds(self, users: int) -> dict[str, float]:
        """Return about how many seconds a trial takes for what is not usual: fits that the run pauses for, too."""
        fits, each = len(self.pauses(users)), self.engine.seconds_per_fit
        reason = f"{self.engine.kind} is fitted {fits} times per trial, about {each:g} s each"
        costs = super().extra_seconds(users) | {reason: fits * each}
        if self.model.data is Rounds:
            slow = f"under the model {self.model.kind} every fit goes over all outcomes one by one"
            costs[slow] = users * self.engine.seconds_per_user
        return costs

    def fit_outside(self, state: BayesState, user: int, keys: jax.Array) -> BayesState:
        """Return the state with the belief refitted after ``user`` users, one trial after another."""
        used = user * self._slots
        rows = _padded(used + self.warm_rows)
        beliefs = []
        for trial in range(keys.shape[0]):
            of_trial = jax.tree.map(lambda leaf, trial=trial: leaf[..., trial], state)
            tables = of_trial.ledger
            seen = jax.tree.map(lambda a, b: jnp.concatenate([a[:used], b]), tables.rows, tables.warm)
            start = of_trial.belief if user > 1 else None
            fitted = self.engine.fit(self.target, pad(seen, rows), keys[trial], start)
            beliefs.append(self.engine.keep(self.target, fitted))
        return state._replace(belief=jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *beliefs))

    def predict(
        self, state: BayesState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the centre of the posterior."""
        target = self.target
        # With no spread left, every draw is the centre.
        theta, phi = target.coefficients(self.engine.draw(target, state.belief, jax.random.key(0), 0.0))
        u, w = target.setting.moments(theta, phi, contexts[action][None])
        return predicted(self.known, u[0], w[0], beta)

    def values(self, z: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the value of each action at z (2d,)."""
        theta, phi = self.target.coefficients(z)
        return self.values_at(theta, phi, contexts, beta)

    def values_at(self, theta: jax.Array, phi: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the value of each action at θ and φ (d,)."""
        u, w = self.target.setting.moments(theta, phi, contexts)
        return self.known.value(u, w, beta)


def _check_users(model: PyTree, *, eager: bool, warmup: int) -> None:
    """Raise unless a policy has what the model needs to know of users: one row of data for each."""
    if model.columns and not getattr(model, "one_row_per_user", False):
        remedy = f"a policy has no columns of a table; it uses {', '.join(model.columns)}"
        raise InvalidInput("model", "must need contexts and outcomes only", model.kind, remedy)
    if model.columns and (eager or warmup):
        got = "eager" if eager else f"warmup = {warmup}"
        remedy = "users would have several contexts each, and the policy keeps one row per context"
        raise InvalidInput("model", "must go with one action per user", got, remedy)


def _check_engine(engine: Engine, target: Target) -> None:
    """Raise unless an engine can fit the model's program and start from the prior."""
    from hrprob.estimation.posterior.sites import check_program

    d = target.setting.dimension
    x, r = np.eye(d)[np.arange(3) % d] * [[0.9], [-0.5], [0.7]], [0.3, -0.7, 1.1]
    data = stays(x, r, user=[1, 2, 3]) if target.model.data is Stays else rounds(x, r)
    with double_precision():
        if not engine.runs_programs:
            check_program(engine, target, jax.tree.map(jnp.asarray, data))
        # An engine that cannot start from the prior raises here, at no cost, where the error names the policy.
        jax.eval_shape(lambda: engine.init(target))


def _padded(rows: int) -> int:
    """Return how many rows data of ``rows`` rows are padded to."""
    size = LEAST_ROWS
    while size < rows:
        size *= 8
    return size
