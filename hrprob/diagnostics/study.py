"""All parts of a diagnosis, one after another or side by side, on data sets that they share.

Two kinds of data sets are played: with truths **over the prior**, where a posterior must be
right on average, and **at the truth** of a problem, where the printed sets claim to hold.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import queue
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.precision import double_precision
from hrprob._core.records import describe, with_fields
from hrprob.diagnostics import calibration, estimates, health, outcomes, reneging, rho, sbc
from hrprob.diagnostics import verdicts as words
from hrprob.diagnostics.posteriors import Posteriors, posteriors
from hrprob.diagnostics.truths import draw_truths
from hrprob.diagnostics.verdicts import Verdict
from hrprob.estimation.posterior.engines import ENGINES, make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.fit import fit
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Setting, make_model, make_prior
from hrprob.policies import HRUCB, Thompson
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, Truths, check_policy, gather

__all__ = ["DEFAULT", "QUICK", "Diagnosis", "Sizes", "Study", "diagnose", "for_many", "study_of"]

OVER_PRIOR, AT_TRUTH = "over the prior", "at the truth"
DELTA = 0.1
# Draws of a chain of nuts, and of all of them, at least: ArviZ makes nothing of fewer.
_LEAST_OF_CHAIN, _LEAST_DRAWS = 20, 100
# Samplers and optimisers as they are run on many data sets: shorter than on one.
_MANY = {"nuts": {"chains": 2, "warmup": 200, "draws": 256, "depth": 6}, "svi": {"steps": 1000}}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is played and fitted.

    Parameters
    ----------
    sets : int
        Data sets over the prior.
    users : tuple of int
        After how many users their posteriors are looked at.
    points, draws : int
        Fresh contexts of each, and draws of each posterior.
    sampler_sets, other_users : int
        Data sets for engines that cannot follow a stream (nuts, svi); and after how many users
        engines other than the one in use are looked at.
    every_engine : bool
        Whether engines other than the one in use are looked at too.
    replications, fits, rounds, design_users : int
        For the printed sets: data sets, those with a posterior, the largest n, and the most users.
    truth_sets, truth_users : int, tuple of int
        Data sets at the truth, and after how many users they are looked at.
    single_rounds : int
        Single outcomes for the models to be compared on.
    models : tuple of str
        Models that the one in use is compared with.
    sampler_draws : int
        Draws of each of the four chains of nuts on one data set, after half as many that adapt it.
    refit : float, optional
        How often a policy with a posterior fits it anew, in place of what it says itself.
    """

    sets: int = 200
    users: tuple[int, ...] = (10, 30, 100)
    points: int = 8
    draws: int = 511
    sampler_sets: int = 100
    other_users: int = 30
    every_engine: bool = True
    replications: int = 64
    fits: int = 24
    rounds: int = 100_000
    design_users: int = 30_000
    truth_sets: int = 32
    truth_users: tuple[int, ...] = (10, 30, 100, 300)
    single_rounds: int = 600
    models: tuple[str, ...] = tuple(outcomes.MODELS)
    sampler_draws: int = 1000
    refit: float | None = None

    def __post_init__(self) -> None:
        for name in ("sets", "sampler_sets", "replications", "truth_sets"):
            check_count(name, getattr(self, name), low=20, remedy="coverage is seen over data sets")
        for name, least, remedy in (
            ("points", 1, "σ²(x) is looked at there"),
            ("draws", 20, "intervals and ranks are over draws"),
            ("fits", 1, "the printed sets are held against posteriors too"),
            ("rounds", 10, "sets are looked at from 10 rounds on"),
            ("design_users", 1, "they make the rounds of a design"),
            ("single_rounds", 10, "models are compared on them"),
            ("sampler_draws", -(-_LEAST_DRAWS // 2), "leave-one-out weights are over draws"),
        ):
            check_count(name, getattr(self, name), low=least, remedy=remedy)
        for name in ("users", "truth_users"):
            _check_rising(name, getattr(self, name))
        check_count("other_users", self.other_users, remedy="engines are looked at after so many users")
        if self.every_engine and self.other_users > self.users[-1]:
            remedy = f"data sets have {self.users[-1]} users, the last of `users`"
            raise InvalidInput("other_users", f"must be at most {self.users[-1]}", self.other_users, remedy)
        for model in self.models:
            check_choice("models", model, tuple(outcomes.MODELS))
        if len(set(self.models)) < 2:
            raise InvalidInput(
                "models", "must be two or more", self.models, "they are compared with each other"
            )
        if self.refit is not None:
            check_number("refit", self.refit, low=1, remedy="1.5 fits anew whenever users have grown by half")


def _check_rising(name: str, numbers: tuple[int, ...]) -> None:
    for number in numbers:
        check_count(name, number, remedy="posteriors are looked at after so many users")
    if not numbers or list(numbers) != sorted(set(numbers)):
        remedy = "write them as (10, 30, 100)"
        raise InvalidInput(name, "must be numbers of users that rise", numbers, remedy)


DEFAULT = Sizes()
QUICK = Sizes(
    sets=32,
    users=(10, 30, 100),
    draws=255,
    sampler_sets=32,
    every_engine=False,
    replications=32,
    fits=8,
    rounds=316,
    design_users=101,
    truth_users=(10, 30, 100),
    models=("gaussian", "student-t"),
    sampler_draws=300,
    refit=1.5,
)
"""Enough to see that all works, too little for fine distinctions."""


class Study(NamedTuple):
    """What is diagnosed."""

    problem: Problem
    policy: Policy  # who gathers the data sets
    hr_ucb: Policy  # who picks the second design
    thompson: Policy  # who picks the third
    engine: Any  # whose posterior is held against the truth
    target: Target
    seed: int


class Diagnosis(NamedTuple):
    """What was found."""

    study: Study
    sizes: Sizes
    posteriors: dict[str, Posterior]  # by engine, of one data set
    health: xarray.Dataset
    sets: dict[str, xarray.Dataset]  # by design
    owed: dict[str, xarray.Dataset]
    unreached: dict[str, str]  # why a design has none
    places: xarray.Dataset
    coverage: xarray.Dataset
    ranks: dict[str, xarray.DataArray]  # by engine
    judged: dict[str, xarray.Dataset]
    predicted: dict[str, xarray.Dataset]  # by truths
    reliability: dict[str, xarray.Dataset]  # by truths
    scores: dict[str, xarray.Dataset]
    comparison: xarray.Dataset  # of models
    residuals: xarray.Dataset
    loo: xarray.Dataset
    reference: Any  # DataTree of the model in use
    estimates: dict[str, xarray.Dataset]  # by truths
    efficiency: dict[str, xarray.Dataset]
    verdicts: list[Verdict]


def study_of(
    problem: Problem,
    policies: Mapping[str, Policy] | None = None,
    *,
    policy: str | None = None,
    engine: Any = None,
    seed: int = 0,
) -> Study:
    """Return what is to be diagnosed.

    Parameters
    ----------
    problem : Problem
        What is played.
    policies : mapping of str to Policy, optional
        Who may play.
    policy : str, optional
        Which of them gathers the data. Unless given, the first with a posterior, or else Thompson
        sampling.
    engine : str, table or engine, optional
        Whose posterior is looked at; that of the policy unless given, or else ``laplace``.
    seed : int
        The seed of everything random.

    Examples
    --------
    >>> import hrprob
    >>> study = study_of(hrprob.Problem(), {"greedy": hrprob.Greedy()})
    >>> study.policy.kind, study.engine.kind
    ('thompson', 'laplace')
    """
    named = dict(policies or {})
    if policy is not None and policy not in named:
        known = ", ".join(repr(name) for name in named) or "none"
        raise InvalidInput("--policy", "must name a policy of FILE", policy, f"it has {known}")
    lazy = [one for one in named.values() if not one.eager]
    with_posterior = [one for one in lazy if hasattr(one, "engine")]
    chosen = named[policy] if policy is not None else (with_posterior or [Thompson()])[0]
    try:
        check_policy(_streaming(chosen))
    except InvalidInput as error:
        # It was asked for: unless told, nobody takes one that cannot gather.
        raise InvalidInput("--policy", error.must, policy, error.remedy) from None
    looked_at = make_engine(getattr(chosen, "engine", "laplace") if engine is None else engine)
    if looked_at.kind == "nuts":
        remedy = (
            f"ranks are over the draws of a chain, leave-one-out weights over {_LEAST_DRAWS} of all chains"
        )
        least = max(_LEAST_OF_CHAIN, -(-_LEAST_DRAWS // looked_at.chains))
        check_count("engine.draws", looked_at.draws, low=least, remedy=remedy)
    model = getattr(chosen, "model", None) or make_model("gaussian")
    prior = getattr(chosen, "prior", None) or make_prior("uniform")
    target = Target(model, prior, Setting.of(problem))
    return Study(
        problem,
        _streaming(chosen),
        next((one for one in lazy if isinstance(one, HRUCB)), HRUCB()),
        _streaming(next((one for one in (chosen, *lazy) if isinstance(one, Thompson)), Thompson())),
        looked_at,
        target,
        seed,
    )


def _streaming(policy: Policy) -> Policy:
    """Return the policy with an engine that fits within a compiled run: data are data, whoever asked for them."""
    if getattr(getattr(policy, "engine", None), "streaming", True):
        return policy
    return with_fields(policy, engine=make_engine("laplace"))


def _refitting(policy: Policy, refit: float) -> Policy:
    return with_fields(policy, refit=refit) if hasattr(policy, "engine") else policy


def diagnose(
    study: Study,
    sizes: Sizes = DEFAULT,
    *,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
    finished: Callable[[dict[str, Any]], None] = lambda found: None,
) -> Diagnosis:
    """Run all parts and return what they found.

    Parameters
    ----------
    study : Study
        What is diagnosed; see :func:`study_of`.
    sizes : Sizes
        How much is played and fitted.
    say : callable
        Told what has been done, a line at a time.
    progress : bool
        Show a progress bar.
    finished : callable
        Called in this thread, while other parts still run, with all that has been found so far, by
        the names that :class:`Diagnosis` has for it.
    """
    parts = (_over_the_prior, _at_the_truth, _printed_sets)
    if sizes.refit is not None:
        study = study._replace(
            policy=_refitting(study.policy, sizes.refit), thompson=_refitting(study.thompson, sizes.refit)
        )
    found: dict[str, Any] = {"study": study, "sizes": sizes}
    by_truths: dict[str, Any] = {}
    with (
        _Steps(say, progress, study, sizes) as steps,
        contextlib.closing(_side_by_side([part(study, sizes, steps) for part in parts], steps)) as coming,
    ):
        for news in coming:
            by_truths |= news.pop("by_truths", {})
            found |= news
            if len(by_truths) == 2 and "scores" not in found:
                found |= _of_both(by_truths)
            finished(dict(found))
    done = Diagnosis(verdicts=[], **found)
    return done._replace(verdicts=_verdicts(done))


def _side_by_side(
    parts: Sequence[Iterator[dict[str, Any]]], steps: _Steps
) -> Generator[dict[str, Any], None, None]:
    """Yield what the parts yield, as it comes, until all have ended or one has failed.

    Compiling is the work of one core: parts side by side keep all of them busy. What fails is told at
    once; steps that are under way then end by themselves, and nobody waits for them.
    """

    def run(part: Iterator[dict[str, Any]]) -> None:
        with double_precision():
            for found in part:
                steps.news.put(found)

    pool = ThreadPoolExecutor(len(parts))
    try:
        for part in parts:
            pool.submit(run, part).add_done_callback(steps.news.put)
        running = len(parts)
        while running:
            found = steps.news.get()
            if isinstance(found, dict):
                yield found
            elif isinstance(found, BaseException):
                raise found
            else:
                found.result()
                running -= 1
    finally:
        steps.stop()
        pool.shutdown(wait=False)


def _of_both(by_truths: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of predictions and estimates, over the prior and at the truth."""
    in_order = {truths: by_truths[truths] for truths in (OVER_PRIOR, AT_TRUTH)}
    return {
        "predicted": {truths: of for truths, (of, _) in in_order.items()},
        "reliability": {truths: reneging.reliability(of) for truths, (of, _) in in_order.items()},
        "scores": {truths: reneging.scores(of) for truths, (of, _) in in_order.items()},
        "estimates": {truths: of for truths, (_, of) in in_order.items()},
        "efficiency": {truths: estimates.efficiency(of) for truths, (_, of) in in_order.items()},
    }


class _Steps:
    """Tells what has been done; parts run side by side, and the bar counts all of them."""

    def __init__(self, say: Callable[[str], None], progress: bool, study: Study, sizes: Sizes) -> None:
        self._say, self._progress, self._lock = say, progress, threading.Lock()
        self._stopped = threading.Event()
        self.news: queue.SimpleQueue[dict[str, Any] | Future[None] | BaseException] = queue.SimpleQueue()
        # Data sets and fits over the prior and at the truth, three designs, nuts, other engines, models.
        self._total = 10 + len(_others(study, sizes)) + (0 if _own_noise(study) else 2)

    def __enter__(self) -> _Steps:
        from tqdm import tqdm

        # ArviZ warns of shapes k̂ that the report has anyway. Filters belong to the process, not to a
        # thread: they are set once for all parts.
        self._filters = warnings.catch_warnings()
        self._filters.__enter__()
        warnings.filterwarnings("ignore", category=UserWarning, module="arviz_stats")

        self._bar = tqdm(
            total=self._total,
            bar_format="{percentage:3.0f} %|{bar}| {elapsed}, {desc}",
            disable=not self._progress,
            leave=False,
        )
        self._started = time.perf_counter()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.close()
        self._filters.__exit__(*error)

    def stop(self) -> None:
        """Let nobody begin another step: what they would find is wanted no more."""
        self._stopped.set()

    @contextlib.contextmanager
    def step(self, what: str, users: float = math.inf) -> Iterator[Callable[[int], None]]:
        """Count what is done within as one step; of ``users`` that are served, what is yielded is told."""
        done = 0.0

        def served(number: int) -> None:
            nonlocal done
            share = min(number / users, 1.0 - done)
            done += share
            with self._lock:
                self._bar.update(share)

        self._check()
        with self._lock:
            self._bar.set_description_str(what)
        try:
            yield served
        except BaseException as error:
            self.news.put(error)
            raise
        self._check()
        with self._lock:
            self._bar.update(1.0 - done)
            self._say(f"[{time.perf_counter() - self._started:4.0f} s] {what}")

    def _check(self) -> None:
        if self._stopped.is_set():
            raise CancelledError


def _seed(study: Study, part: int) -> int:
    """Return a seed of its own for each part."""
    return int(np.random.SeedSequence([study.seed, part]).generate_state(1)[0])


def _over_the_prior(study: Study, sizes: Sizes, steps: _Steps) -> Iterator[dict[str, Any]]:
    """Yield calibration, ranks, predictions and estimates over truths from the prior."""
    target, most = study.target, sizes.users[-1]
    truths = draw_truths(target.prior, target.setting, sizes.sets, _seed(study, 0))

    def played(problem: Problem) -> DataSets:
        what, users = f"{study.policy.kind}: {sizes.sets} data sets {OVER_PRIOR}", most + 1
        with steps.step(what, users * sizes.sets) as served:
            return gather(
                problem,
                study.policy,
                truths,
                users=users,
                seed=_seed(study, 1),
                fresh=sizes.points,
                report=served,
            )

    def fitted(data: DataSets) -> dict[int, Posteriors]:
        with steps.step(f"{study.engine.kind}: posteriors {OVER_PRIOR}"):
            return _posteriors(study, study.engine, data, sizes, sizes.users)

    data = played(study.problem)
    followed = fitted(data)
    looked = {users: followed[users] for users in sizes.users}
    places = calibration.sigma2_places(study.problem, target, data, looked, _seed(study, 2))
    predicted = reneging.predict(study.problem, target, data, followed)
    estimated = estimates.compare_estimates(study.problem, data, looked)
    yield {
        "places": places,
        "coverage": calibration.coverage(places),
        "by_truths": {OVER_PRIOR: (predicted, estimated)},
    }
    modelled = study.problem
    if not _own_noise(study):
        modelled = with_fields(study.problem, noise=target.model.noise)
        data = played(modelled)
        followed = fitted(data)
    ranks = {}
    for engine in (study.engine, *_others(study, sizes)):
        wanted = {users: followed[users] for users in sizes.users}
        if engine is not study.engine:
            with steps.step(f"{engine.kind}: posteriors {OVER_PRIOR}"):
                wanted = _posteriors(study, engine, data, sizes, (sizes.other_users,), renewed=False)
        ranks[engine.kind] = sbc.ranks(modelled, target, data, wanted, _seed(study, 3))
    yield {"ranks": ranks, "judged": {engine: sbc.judge(of) for engine, of in ranks.items()}}


def _own_noise(study: Study) -> bool:
    """Say whether the problem's noise is the model's: if not, an engine is calibrated on the model's."""
    return bool(describe(study.problem.noise) == describe(study.target.model.noise))


def _others(study: Study, sizes: Sizes) -> list[Any]:
    """Return the engines that are looked at beside the one in use."""
    if not sizes.every_engine:
        return []
    return [make_engine(kind) for kind in ENGINES if kind != study.engine.kind]


def for_many(engine: Any) -> Any:
    """Return the engine as it is fitted to many data sets: what was not set by hand is shorter there.

    Examples
    --------
    >>> [for_many(make_engine(engine)).steps for engine in ("svi", {"kind": "svi", "steps": 50})]
    [1000, 50]
    """
    usual = type(engine)()
    shorter = {
        name: value
        for name, value in _MANY.get(engine.kind, {}).items()
        if getattr(engine, name) == getattr(usual, name)
    }
    return with_fields(engine, **shorter)


def _posteriors(
    study: Study, engine: Any, data: DataSets, sizes: Sizes, users: Sequence[int], renewed: bool = True
) -> dict[int, Posteriors]:
    """Return posteriors after some numbers of users, and with ``renewed`` whenever a prediction is made."""
    stops = sorted(users)
    rows = data.of_kind(study.target.model.data)
    if engine.streaming and renewed:
        stops = sorted({*stops, *reneging.checkpoints(stops[-1], stops[0])})
    if not engine.streaming:
        # They fit anew at every stop.
        engine = for_many(engine)
        rows = type(rows)(*(leaf[: sizes.sampler_sets] for leaf in rows))
    found = posteriors(engine, study.target, rows, stops, draws=sizes.draws, seed=_seed(study, 4))
    return dict(zip(stops, found, strict=True))


def _at_the_truth(study: Study, sizes: Sizes, steps: _Steps) -> Iterator[dict[str, Any]]:
    """Yield one data set looked at closely, and predictions and estimates at the problem's truth."""
    problem, target, most = study.problem, study.target, sizes.truth_users[-1]
    truths = Truths(*(np.tile(truth, (sizes.truth_sets, 1)) for truth in (problem.theta, problem.phi)))
    what, users = f"{study.policy.kind}: {sizes.truth_sets} data sets {AT_TRUTH}", most + 1
    with steps.step(what, users * sizes.truth_sets) as served:
        data = gather(problem, study.policy, truths, users=users, seed=_seed(study, 5), report=served)
    table = outcomes.table_of(data, 0, sizes.single_rounds)
    with ThreadPoolExecutor(3) as pool:
        # Samplers take longest to compile.
        sampling = pool.submit(_reference, study, sizes, steps, table)
        fitting = pool.submit(_engines, study, sizes, steps, table)
        with steps.step(f"{study.engine.kind}: posteriors {AT_TRUTH}"):
            followed = _posteriors(study, study.engine, data, sizes, sizes.truth_users)
        # What only one figure waits for comes last: the others can be drawn beside it.
        others = pool.submit(_other_models, study, sizes, steps, table)
        looked = {users: followed[users] for users in sizes.truth_users}
        predicted = reneging.predict(problem, target, data, followed)
        yield {"by_truths": {AT_TRUTH: (predicted, estimates.compare_estimates(problem, data, looked))}}
        fits = {"nuts": sampling.result()}
        yield {"posteriors": fits}
        fits = fits | fitting.result()
        yield {"posteriors": fits, "health": health.sampler_health(fits)}
        whole = fits["nuts"].to_datatree(pointwise=True, prior=False)
        places, p_value = outcomes.loo_places(whole)
        yield {
            "residuals": outcomes.residual_checks(whole, target.setting),
            "loo": xarray.Dataset({"place": ("round", places), "p_value": ((), p_value)}),
            "reference": whole,
        }
        name = target.model.kind
        yield {"comparison": outcomes.compare_models({name: whole} | others.result(), name)}


def _reference(study: Study, sizes: Sizes, steps: _Steps, table: Table) -> Posterior:
    """Return the posterior of one data set by nuts."""
    own = study.engine
    engine = own if own.kind == "nuts" else make_engine({"kind": "nuts"} | _shorter(sizes))
    with steps.step(f"nuts on one data set of {len(table)} rounds"):
        return _fit_one(study, engine, table)


def _engines(study: Study, sizes: Sizes, steps: _Steps, table: Table) -> dict[str, Posterior]:
    """Return the posterior of one data set by each engine other than nuts."""
    engines = [engine for engine in (study.engine, *_others(study, sizes)) if engine.kind != "nuts"]
    with steps.step(f"engines on one data set of {len(table)} rounds"):
        return {engine.kind: _fit_one(study, engine, table) for engine in engines}


def _fit_one(study: Study, engine: Any, table: Table) -> Posterior:
    target = study.target
    options: dict[str, Any] = {"model": target.model, "prior": target.prior, "seed": _seed(study, 6)}
    options |= {"link": target.setting.link, "bounds": target.setting.bounds}
    return fit(table, engine, **options)


def _other_models(study: Study, sizes: Sizes, steps: _Steps, table: Table) -> dict[str, Any]:
    """Return draws and pointwise log likelihoods of the models that the one in use is compared with."""
    with steps.step(f"models on one data set of {len(table)} rounds"), double_precision():
        models = {name: outcomes.MODELS[name] for name in sizes.models if name != study.target.model.kind}
        sampler = {"kind": "nuts", "chains": 2, "depth": 6} | _shorter(sizes)
        setting, prior = study.target.setting, study.target.prior
        found = outcomes.fit_models(table, setting, models, sampler, _seed(study, 6), prior)
        return {name: outcomes.log_likelihood_tree(posterior) for name, posterior in found.items()}


def _shorter(sizes: Sizes) -> dict[str, int]:
    return {"draws": sizes.sampler_draws, "warmup": -(-sizes.sampler_draws // 2)}


def _printed_sets(study: Study, sizes: Sizes, steps: _Steps) -> Iterator[dict[str, Any]]:
    """Yield the printed sets against data sets and posterior, by design."""
    planned = rho.designs(study.problem, sizes.rounds, sizes.design_users, study.hr_ucb, study.thompson)
    found, unreached = {}, {}
    for name, design in planned.items():
        what = f"printed sets, {name} design: {sizes.replications} data sets"
        with steps.step(what, design.users * sizes.replications) as served:
            try:
                found[name] = rho.compare_sets(
                    design,
                    delta=DELTA,
                    most=sizes.rounds,
                    replications=sizes.replications,
                    fits=sizes.fits,
                    seed=_seed(study, 7),
                    prior=study.target.prior,
                    report=served,
                )
            except rho.TooFewRounds as error:
                unreached[name] = str(error)  # a verdict says so; the other designs stand
    owed = {name: rho.owed(of, study.problem) for name, of in found.items()}
    yield {"sets": found, "owed": owed, "unreached": unreached}


def _verdicts(done: Diagnosis) -> list[Verdict]:
    """Return all verdicts, what matters most first."""
    found = [
        *words.on_calibration(done.coverage, done.study.engine.kind),
        words.on_regions(done.coverage),
        words.on_places(done.coverage),
        *(verdict for engine, judged in done.judged.items() for verdict in words.on_sbc(engine, judged)),
        *(
            words.on_health(name, done.health, health.health_concerns(posterior))
            for name, posterior in done.posteriors.items()
        ),
        *words.on_sets(done.sets, done.owed, done.unreached),
    ]
    for truths, table in done.reliability.items():
        found += words.on_reneging(truths, table, done.scores[truths])
    name = done.study.target.model.kind
    found += words.on_residuals(name, done.residuals, float(done.loo.p_value))
    found.append(words.on_models(done.comparison))
    return found + [words.on_estimates(truths, of) for truths, of in done.efficiency.items()]
