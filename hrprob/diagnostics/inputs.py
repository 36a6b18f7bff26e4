"""Data sets and posteriors that diagnostics share: each made once, when it is first asked for.

=======================  =====================================================================
attribute                content
=======================  =====================================================================
``over_prior``           data sets with truths drawn from the prior, where a posterior must be
                         right on average, and their posteriors by the engine in use
``over_prior_of_model``  the same, with outcomes drawn from the model's own noise; the same
                         object where the problem has that noise
``at_truth``             data sets at the problem's own truth, with their posteriors
``one_data_set``         single rounds of one data set at the truth, as a table
``reference``            its posterior by the reference sampler
``engine_posteriors``    its posterior by the engine in use and the others
=======================  =====================================================================
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Generic, NamedTuple, TypeVar

import jax
import numpy as np

from hrprob._core.records import describe, with_fields
from hrprob._core.types import PyTree
from hrprob.diagnostics.mismatch import Mismatch, add_user_effect, scale_contexts
from hrprob.diagnostics.one_fit import OneFitJob
from hrprob.diagnostics.posteriors import Posteriors, checkpoints, posteriors
from hrprob.diagnostics.progress import Steps
from hrprob.diagnostics.study import REFERENCE, Sizes, Study
from hrprob.diagnostics.truths import draw_truths
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.engines import ENGINES, make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, gather
from hrprob.simulation.tasks import JobRunner, SideBySide
from hrprob.simulation.truths import Truths

__all__ = ["AT_TRUTH", "INPUTS", "OVER_PRIOR", "FittedDataSets", "SharedInputs", "table_of"]

T = TypeVar("T")

OVER_PRIOR, AT_TRUTH = "over the prior", "at the truth"
"""Names of the two sorts of truths, as reports and files have them."""


class FittedDataSets(NamedTuple):
    """Data sets, and the posterior of each after some numbers of users."""

    problem: Problem  # whose noise the outcomes have
    data: DataSets
    users: tuple[int, ...]  # the numbers of users that were asked for
    followed: dict[int, Posteriors]  # by number of users; a streaming engine is seen at further ones

    @property
    def posteriors(self) -> dict[int, Posteriors]:
        """Return the posteriors after the numbers of users that were asked for."""
        return {users: self.followed[users] for users in self.users}


class _MadeOnce(Generic[T]):
    """A property that the first thread to ask for it computes, while others wait for the value."""

    def __init__(self, make: Callable[[SharedInputs], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, inputs: SharedInputs, owner: type | None = None) -> T:
        value, first = inputs.claim(self)
        if first:
            try:
                value.set_result(self._make(inputs))
            except BaseException as error:
                value.set_exception(error)
        made: T = value.result()
        return made


class SharedInputs:
    """What is diagnosed, how much is computed, and everything that more than one diagnostic uses.

    Parameters
    ----------
    study : Study
        What is diagnosed.
    sizes : Sizes
        How much is simulated and fitted.
    steps : Steps
        Where progress is reported.
    runner : JobRunner
        Where data sets are played and fitted.
    """

    def __init__(self, study: Study, sizes: Sizes, steps: Steps, runner: JobRunner | None = None) -> None:
        self.study, self.sizes, self._steps = study, sizes, steps
        self.runner = runner or SideBySide()
        self._made: dict[_MadeOnce[PyTree], Future[PyTree]] = {}
        self._lock = threading.Lock()

    def claim(self, which: _MadeOnce[PyTree]) -> tuple[Future[PyTree], bool]:
        """Return the future of a value, and whether the caller is the first to ask and must compute it."""
        with self._lock:
            first = which not in self._made
            return self._made.setdefault(which, Future()), first

    def step(self, title: str, users: float = float("inf")) -> AbstractContextManager[Callable[[int], None]]:
        """Count a block as one step of the progress bar; see :meth:`.progress.Steps.step`."""
        return self._steps.step(title, users)

    def count_steps(self, needs: Iterable[str]) -> int:
        """Return how many steps it takes to make some inputs."""
        steps = {step for name in needs for step in _STEPS[name]}
        return len(steps - _STEPS_FOR_NOISE if self.has_model_noise else steps)

    @property
    def has_model_noise(self) -> bool:
        """Whether data are what is fitted to them. If not, an engine is calibrated on data of what is fitted."""
        same = describe(self.study.problem.noise) == describe(self.study.target.model.noise)
        return bool(same and not self.study.fitted_as)

    @property
    def other_engines(self) -> list[Engine]:
        """The engines that are examined beside the one in use."""
        if not self.sizes.every_engine:
            return []
        return [make_engine(kind) for kind in ENGINES if kind != self.study.engine.kind]

    @property
    def reference_settings(self) -> dict[str, object]:
        """The reference sampler as a table, with chains as long as the sizes say."""
        draws = self.sizes.sampler_draws
        return {"kind": REFERENCE, "draws": draws, "warmup": -(-draws // 2)}

    @property
    def reference_engine(self) -> Engine:
        """The reference sampler: the engine in use where it can be one."""
        own = self.study.engine
        return own if own.is_reference else make_engine(self.reference_settings)

    @_MadeOnce
    def over_prior(self) -> FittedDataSets:
        """Data sets with truths drawn from the prior, and their posteriors by the engine in use."""
        study = self.study
        return self._fitted_over_prior(study.problem, study.truth_target, study.mismatch, OVER_PRIOR)

    @_MadeOnce
    def over_prior_of_model(self) -> FittedDataSets:
        """The same, with truths and outcomes drawn from what is fitted: the engine is judged, not the assumptions."""
        if self.has_model_noise:
            return self.over_prior
        self.over_prior  # noqa: B018 (one after the other: most diagnostics wait for the first)
        target, problem = self.study.target, self.study.problem
        # Truths are drawn: the problem's own need not lie within the bounds that are fitted.
        zero = np.zeros(problem.dimension)
        parts = {"link": target.setting.link, "bounds": target.setting.bounds, "theta": zero, "phi": zero}
        changed = with_fields(problem, noise=target.model.noise, **(parts if self.study.fitted_as else {}))
        return self._fitted_over_prior(changed, target, Mismatch(target), f"{OVER_PRIOR} of the model")

    @_MadeOnce
    def at_truth(self) -> FittedDataSets:
        """Data sets at the problem's own truth, and their posteriors by the engine in use."""
        study, users, data = self.study, self.sizes.truth_users, self._data_at_truth
        with self.step(f"{study.engine.kind}: posteriors {AT_TRUTH}"):
            followed = self.fit_each(study.engine, data, users, AT_TRUTH, scale=study.mismatch.contexts)
        return FittedDataSets(study.problem, data, users, followed)

    @_MadeOnce
    def one_data_set(self) -> Table:
        """Single rounds of the first data set at the truth."""
        table = table_of(self._data_at_truth, 0, self.sizes.single_rounds)
        scaled = scale_contexts(table.x, table.user, self.study.mismatch.contexts)
        return dataclasses.replace(table, x=scaled)

    @_MadeOnce
    def reference(self) -> Posterior:
        """The posterior of one data set by the reference sampler."""
        engine, table = self.reference_engine, self.one_data_set
        with self.step(f"{engine.kind} on one data set of {len(table)} rounds"):
            return self.fit_one(f"{engine.kind} on one data set", [(engine, self.study.target)])[0]

    @_MadeOnce
    def engine_posteriors(self) -> dict[str, Posterior]:
        """The posterior of one data set by each engine other than the reference sampler."""
        reference, table = self.reference_engine.kind, self.one_data_set
        engines = [one for one in (self.study.engine, *self.other_engines) if one.kind != reference]
        with self.step(f"engines on one data set of {len(table)} rounds"):
            fitted = self.fit_one("engines on one data set", [(one, self.study.target) for one in engines])
        return {one.kind: posterior for one, posterior in zip(engines, fitted, strict=True)}

    def fit_one(self, name: str, fits: Sequence[tuple[Engine, Target]]) -> list[Posterior]:
        """Return the posterior of the one data set by each engine and target; ``name`` is that of the step."""
        seed = self.study.seed_for("one data set")
        jobs = [OneFitJob(self.one_data_set, engine, target, seed) for engine, target in fits]
        return list(self.runner.run(name, jobs))

    def fit_each(
        self,
        engine: Engine,
        data: DataSets,
        users: Sequence[int],
        which: str,
        follow: bool = True,
        scale: float = 1.0,
    ) -> dict[int, Posteriors]:
        """Return posteriors of data sets after some numbers of users; ``which`` data sets, in words.

        With ``follow`` a streaming engine is examined more often, at :func:`.posteriors.checkpoints`. An
        engine that is not streaming is fitted to the first data sets only, with shorter settings. ``scale``
        multiplies the contexts of every second user.
        """
        stops = sorted(users)
        rows = data.of_kind(self.study.target.model.data)
        if scale != 1.0:
            rows = rows._replace(x=scale_contexts(rows.x, np.arange(rows.x.shape[1]), scale))  # type: ignore[arg-type]
        if engine.streaming and follow:
            stops = sorted({*stops, *checkpoints(stops[-1], stops[0])})
        if not engine.streaming:
            # They are fitted from the beginning at every stop.
            engine = engine.for_many_data_sets()
            rows = jax.tree.map(lambda leaf: leaf[: self.sizes.sampler_sets], rows)
        draws, seed = self.sizes.draws, self.study.seed_for("posteriors")
        fitted = posteriors(
            engine,
            self.study.target,
            rows,
            stops,
            draws=draws,
            seed=seed,
            runner=self.runner,
            name=f"{engine.kind}: posteriors {which}",
        )
        return dict(zip(stops, fitted, strict=True))

    @property
    def _room(self) -> int:
        """Users that data sets have room for, at the truth and over the prior: both are played by the same programs."""
        return max(self.sizes.users[-1], self.sizes.truth_users[-1]) + 1

    @_MadeOnce
    def _data_at_truth(self) -> DataSets:
        problem, sets = self.study.problem, self.sizes.truth_sets
        truths = Truths(*(np.tile(truth, (sets, 1)) for truth in (problem.theta, problem.phi)))
        users = self.sizes.truth_users[-1] + 1
        seed = self.study.seed_for("data at the truth")
        title = f"{self.study.policy.kind}: {sets} data sets {AT_TRUTH}"
        with self.step(title, users * sets) as served:
            data = gather(
                problem,
                self.study.policy,
                truths,
                users=users,
                seed=seed,
                room=self._room,
                report=served,
                runner=self.runner,
                name=f"data sets {AT_TRUTH}",
            )
        return add_user_effect(problem, data, self.study.mismatch.user_effect, seed)

    def _fitted_over_prior(
        self, problem: Problem, source: Target, mismatch: Mismatch, which: str
    ) -> FittedDataSets:
        """Return data sets with truths drawn from the prior of ``source``, and their posteriors."""
        study, sizes = self.study, self.sizes
        prior, setting = source.prior, source.setting
        truths = draw_truths(prior, setting, sizes.sets, study.seed_for("truths over the prior"))
        users, seed = sizes.users[-1] + 1, study.seed_for("data over the prior")
        title = f"{study.policy.kind}: {sizes.sets} data sets {OVER_PRIOR}"
        with self.step(title, users * sizes.sets) as served:
            data = gather(
                problem,
                study.policy,
                truths,
                users=users,
                seed=seed,
                room=self._room,
                fresh=sizes.points,
                report=served,
                runner=self.runner,
                name=f"data sets {which}",
            )
        data = add_user_effect(problem, data, mismatch.user_effect, seed)
        with self.step(f"{study.engine.kind}: posteriors {OVER_PRIOR}"):
            followed = self.fit_each(study.engine, data, sizes.users, which, scale=mismatch.contexts)
        return FittedDataSets(problem, data, sizes.users, followed)


# The steps of the progress bar behind each input.
_STEPS_FOR_NOISE = {"data with the model's noise", "posteriors with the model's noise"}
_STEPS_OVER_PRIOR = {"data over the prior", "posteriors over the prior"}
_STEPS = {
    "over_prior": _STEPS_OVER_PRIOR,
    "over_prior_of_model": _STEPS_OVER_PRIOR | _STEPS_FOR_NOISE,
    "at_truth": {"data at the truth", "posteriors at the truth"},
    "one_data_set": {"data at the truth"},
    "reference": {"data at the truth", "reference"},
    "engine_posteriors": {"data at the truth", "engines"},
}

INPUTS = tuple(_STEPS)
"""Inputs that a diagnostic can need."""


def table_of(data: DataSets, number: int = 0, most_rounds: int = 600) -> Table:
    """Return single rounds of one data set: those of its first users until there are ``most_rounds``.

    The last of these users is in it with all rounds: leaving out users with too many would select by outcomes.
    """
    rounds = np.asarray(data.stays.rounds)[number].astype(int)
    rounds = np.minimum(rounds, data.outcomes.shape[-1])
    users = min(int(np.searchsorted(np.cumsum(rounds), most_rounds)) + 1, len(rounds))
    user = np.repeat(np.arange(users), rounds[:users])
    round_of_stay = np.concatenate([np.arange(count) for count in rounds[:users]])
    return Table(
        x=np.asarray(data.stays.x)[number, user],
        r=data.outcomes[number, user, round_of_stay],
        user=user,
        beta=data.beta[number, user],
    )
