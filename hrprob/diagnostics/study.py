"""What is diagnosed, and how much is simulated and fitted for it."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.records import with_fields
from hrprob._core.types import Decoded
from hrprob.diagnostics.mismatch import Mismatch, make_mismatch
from hrprob.diagnostics.model_comparison import MODELS
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.automatic import Choice, choose_engine, is_auto
from hrprob.models import Setting, make_model, make_prior
from hrprob.policies import HRUCB, Thompson
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.data_sets import check_policy

__all__ = ["DEFAULT", "DELTA", "QUICK", "REFERENCE", "Sizes", "Study", "make_study"]

DELTA = 0.1
"""δ of the paper's confidence sets, as they are diagnosed."""

REFERENCE = "nuts"
"""The engine whose posterior of one data set others are compared with."""

# Draws of a chain, and of all chains together, at least: ArviZ computes nothing from fewer.
_LEAST_DRAWS_OF_CHAIN, _LEAST_DRAWS = 20, 100
# The random numbers of each purpose are a stream of their own. Other purposes have later numbers.
_STREAMS = (
    "truths over the prior",
    "data over the prior",
    "calibration",
    "sbc",
    "posteriors",
    "data at the truth",
    "one data set",
    "rho",
)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is simulated and fitted.

    Parameters
    ----------
    sets : int
        Data sets over the prior.
    users : tuple of int
        Numbers of users after which their posteriors are examined.
    points, draws : int
        Fresh contexts per data set, and draws per posterior.
    sampler_sets, other_users : int
        Data sets for engines that are not streaming (nuts, svi); and the number of users after which
        engines other than the one in use are examined.
    every_engine : bool
        Whether engines other than the one in use are examined too.
    replications, fits, rounds, design_users : int
        For the printed confidence sets: data sets, how many of them a posterior is fitted to, the largest
        n, and the most users.
    truth_sets, truth_users : int, tuple of int
        Data sets at the truth, and numbers of users after which they are examined.
    single_rounds : int
        Single outcomes that models are compared on.
    models : tuple of str
        Models that the one in use is compared with.
    sampler_draws : int
        Draws of each of the four chains of nuts on one data set, after half as many for its adaptation.
    refit : float, optional
        A policy with a posterior refits it when the number of users has grown by this factor, instead of its own.
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
    models: tuple[str, ...] = tuple(MODELS)
    sampler_draws: int = 1000
    refit: float | None = None

    def __post_init__(self) -> None:
        for name in ("sets", "sampler_sets", "replications", "truth_sets"):
            check_count(name, getattr(self, name), low=20, remedy="coverage is a share of data sets")
        for name, least, remedy in (
            ("points", 1, "intervals for σ²(x) are checked there"),
            ("draws", 20, "intervals and ranks are computed from draws"),
            ("fits", 1, "the printed sets are compared with posteriors too"),
            ("rounds", 10, "the smallest sample size is 10 rounds"),
            ("design_users", 1, "their rounds make up a design"),
            ("single_rounds", 10, "models are compared on them"),
            ("sampler_draws", -(-_LEAST_DRAWS // 2), "leave-one-out weights are computed from draws"),
        ):
            check_count(name, getattr(self, name), low=least, remedy=remedy)
        for name in ("users", "truth_users"):
            _check_rising(name, getattr(self, name))
        check_count(
            "other_users",
            self.other_users,
            remedy="it is the number of users after which engines are examined",
        )
        if self.every_engine and self.other_users > self.users[-1]:
            remedy = f"data sets have {self.users[-1]} users, the last of `users`"
            raise InvalidInput("other_users", f"must be at most {self.users[-1]}", self.other_users, remedy)
        for model in self.models:
            check_choice("models", model, tuple(MODELS))
        if len(set(self.models)) < 2:
            raise InvalidInput(
                "models", "must be two or more", self.models, "they are compared with each other"
            )
        if self.refit is not None:
            check_number(
                "refit", self.refit, low=1, remedy="1.5 refits whenever the number of users has grown by half"
            )


def _check_rising(name: str, numbers: tuple[int, ...]) -> None:
    for number in numbers:
        check_count(name, number, remedy="it is a number of users after which posteriors are examined")
    if not numbers or list(numbers) != sorted(set(numbers)):
        remedy = "write them as (10, 30, 100)"
        raise InvalidInput(name, "must be numbers of users that rise", numbers, remedy)


DEFAULT = Sizes()
"""The sizes of ``hrprob diagnose``."""

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
"""Enough to see that everything works, too little to detect small differences."""


class Study(NamedTuple):
    """What is diagnosed."""

    problem: Problem
    policy: Policy  # gathers the data sets
    hr_ucb: Policy  # picks the contexts of the second design
    thompson: Policy  # picks the contexts of the third
    engine: Engine  # its posterior is compared with the truth
    mismatch: Mismatch  # what is fitted to the data
    truth_target: Target  # model, prior and setting that truths are drawn from
    seed: int
    why: str = ""  # why this engine, where it was chosen by rules

    @property
    def target(self) -> Target:
        """What is fitted."""
        return self.mismatch.target

    @property
    def fitted_as(self) -> str:
        """What the data are fitted as, in words, where that is not what they are."""
        return self.mismatch.words

    def seed_for(self, purpose: str) -> int:
        """Return a seed for one purpose, independent of those for other purposes."""
        known = (
            _STREAMS.index(purpose) if purpose in _STREAMS else len(_STREAMS) + zlib.crc32(purpose.encode())
        )
        return int(np.random.SeedSequence([self.seed, known]).generate_state(1)[0])

    def refitting(self, refit: float | None) -> Study:
        """Return the study with policies that refit their posteriors when users have grown by this factor."""
        if refit is None:
            return self
        return self._replace(
            policy=_with_refit(self.policy, refit), thompson=_with_refit(self.thompson, refit)
        )


def make_study(
    problem: Problem,
    policies: Mapping[str, Policy] | None = None,
    *,
    policy: str | None = None,
    engine: object = None,
    seed: int = 0,
    fit_as: Mapping[str, Decoded] | None = None,
) -> Study:
    """Return what is to be diagnosed.

    Parameters
    ----------
    problem : Problem
        What is played.
    policies : mapping of str to Policy, optional
        The policies to choose from.
    policy : str, optional
        The one that gathers the data. By default the first with a posterior, or else Thompson
        sampling.
    engine : str, table or engine, optional
        The engine whose posterior is examined; by default that of the policy, or else ``laplace``. "auto" chooses by
        model and dimension (:mod:`hrprob.fitting.automatic`); the diagnosis then says whether it was right.
    seed : int
        The seed of all random numbers.
    fit_as : mapping, optional
        What is fitted instead of what the problem generates; see :mod:`.mismatch`.

    Examples
    --------
    >>> import hrprob
    >>> study = make_study(hrprob.Problem(), {"greedy": hrprob.Greedy()})
    >>> study.policy.kind, study.engine.kind
    ('thompson', 'laplace')
    """
    named = dict(policies or {})
    if policy is not None and policy not in named:
        known = ", ".join(repr(name) for name in named) or "none"
        raise InvalidInput("policy", "must be the name of one of the policies", policy, f"there are {known}")
    lazy = [one for one in named.values() if not one.eager]
    with_posterior = [one for one in lazy if hasattr(one, "engine")]
    chosen = named[policy] if policy is not None else (with_posterior or [Thompson()])[0]
    try:
        check_policy(_streaming(chosen))
    except InvalidInput as error:
        # It was named: the default is always a policy that can gather data sets.
        raise InvalidInput("policy", error.must, policy, error.remedy) from None
    model = getattr(chosen, "model", None) or make_model("gaussian")
    prior = getattr(chosen, "prior", None) or make_prior("uniform")
    mismatch = make_mismatch(problem, model, prior, fit_as)
    choice = choose_engine(mismatch.target, refined=False) if is_auto(engine) else Choice("", "")
    examined = make_engine(
        choice.engine or (getattr(chosen, "engine", "laplace") if engine is None else engine)
    )
    _check_draws(examined)
    return Study(
        problem,
        _streaming(chosen),
        _for_design("hr-ucb", lazy) or HRUCB(),
        _streaming(_for_design("thompson", [chosen, *lazy]) or Thompson()),
        examined,
        mismatch,
        Target(model, prior, Setting.of(problem)),
        seed,
        choice.why,
    )


def _for_design(design: str, policies: Iterable[Policy]) -> Policy | None:
    """Return the first policy that stands for a design; None if there is none."""
    return next((one for one in policies if one.design == design), None)


def _check_draws(engine: Engine) -> None:
    """Raise if an engine makes so few draws of its own that ranks and weights cannot be computed."""
    if engine.total_draws is None:
        return
    chains = getattr(engine, "chains", 1)
    remedy = f"ranks are over the draws of a chain, leave-one-out weights over {_LEAST_DRAWS} of all chains"
    least = max(_LEAST_DRAWS_OF_CHAIN, -(-_LEAST_DRAWS // chains))
    check_count("engine.draws", engine.total_draws // chains, low=least, remedy=remedy)


def _streaming(policy: Policy) -> Policy:
    """Return the policy with an engine that fits inside a compiled run: any policy's data will do."""
    if getattr(getattr(policy, "engine", None), "streaming", True):
        return policy
    return with_fields(policy, engine=make_engine("laplace"))


def _with_refit(policy: Policy, refit: float) -> Policy:
    return with_fields(policy, refit=refit) if hasattr(policy, "engine") else policy
