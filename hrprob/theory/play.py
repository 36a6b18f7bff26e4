"""Gather the data of all designs and evaluate every inequality on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.records import with_fields
from hrprob.diagnostics.designs import Design, designs
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.lifetime import h
from hrprob.noise.sub_gaussian import scale_of
from hrprob.observations import Stays
from hrprob.policies import HRUCB, Random
from hrprob.policies.radii.theory_constants import confidence_sets
from hrprob.problem import Problem
from hrprob.problem.objectives.base import counts_rounds
from hrprob.simulation.data_sets import DataSets, Truths, gather
from hrprob.simulation.engine import simulate
from hrprob.theory.findings import Finding, evaluate
from hrprob.theory.inequalities import INEQUALITIES
from hrprob.theory.quantities import Quantities, cut_users, quantities_along
from hrprob.theory.regret import Decomposition, Rates, decompose, rates

__all__ = ["QUICK", "SIZES", "Sizes", "Theory", "check_theory"]

DELTA = 0.1
RIDGE = 1.0
GROWTH = 5.0
VARIANCE_FLOOR = 0.01
AT = (10, 100, 1000)
"""Numbers of users after which inequalities are reported, besides the last one."""

VERSIONS = ("paper", "corrected", "explicit")


class Sizes(NamedTuple):
    """How much is played."""

    rounds: int  # of the fixed design
    users: int  # of the adaptive design
    replications: int  # of each
    trials: int  # of the runs whose regret is decomposed; at most ``replications``


SIZES = Sizes(rounds=2000, users=1000, replications=1024, trials=96)
"""The sizes of a full report."""

QUICK = Sizes(rounds=300, users=200, replications=96, trials=32)
"""The sizes of a quick one: it shows that everything works."""


class Theory(NamedTuple):
    """Every inequality on data."""

    problem: Problem
    sizes: Sizes
    seed: int
    noise_scale: float
    findings: list[Finding]
    quantities: dict[str, Quantities]  # by design
    cuts: dict[str, np.ndarray]  # by design, numbers of users
    sets: dict[str, ConfidenceSets]  # by version
    decompositions: dict[str, Decomposition]  # by radius of HR-UCB
    rates: dict[str, Rates]  # by version
    random_cost: float  # mean regret of a random choice per user


def check_theory(
    problem: Problem | None = None,
    *,
    sizes: Sizes = SIZES,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> Theory:
    """Return every inequality of the paper on replications, under a fixed and an adaptive design.

    Parameters
    ----------
    problem : Problem, optional
        What is played; the paper's by default. Its noise must have a sub-Gaussian scale.
    sizes : Sizes
        How much is played.
    seed : int
        Seed of all random numbers.
    say : callable
        Called with a line about what is being done.

    Examples
    --------
    >>> small = Sizes(rounds=20, users=10, replications=8, trials=8)
    >>> done = check_theory(sizes=small)  # slow
    >>> sorted(done.quantities)
    ['adaptive', 'fixed']
    """
    problem = Problem() if problem is None else problem
    check_count("replications", sizes.replications, low=8, remedy="failures are counted over replications")
    check_count("trials", sizes.trials, low=2, high=sizes.replications, remedy="they are replications")
    _check_problem(problem)
    scale = scale_of(problem.noise)
    policy = HRUCB(growth=GROWTH, delta=DELTA, ridge=RIDGE, variance_floor=VARIANCE_FLOOR)
    sets = {version: _sets(problem, policy, sizes.users, version) for version in VERSIONS}
    planned = designs(problem, sizes.rounds + 1, sizes.users + 1, policy)
    findings: list[Finding] = []
    quantities, cuts, gathered = {}, {}, {}
    for name, design in (("fixed", planned["fixed"]), ("adaptive", planned["hr-ucb"])):
        say(f"{name} design: {sizes.replications} replications of {design.users - 1} users")
        data = gathered[name] = _gather(design, sizes.replications, seed)
        cuts[name] = cut_users(design.users - 1, AT)
        beta = _levels(problem, (sizes.replications, len(cuts[name])), seed)
        quantities[name] = quantities_along(data.stays, problem, RIDGE, cuts[name], beta, VARIANCE_FLOOR)
        at = tuple(dict.fromkeys([*(one for one in AT if one < design.users - 1), design.users - 1]))
        for inequality in INEQUALITIES:
            findings += evaluate(
                inequality,
                quantities[name],
                sets,
                delta=DELTA,
                design=name,
                cuts=cuts[name],
                at=at,
                seed=seed,
            )
    say(f"regret: {sizes.trials} trials of {sizes.users} users")
    decompositions, random_cost = _decompositions(problem, policy, sizes, seed, gathered["adaptive"])
    by_version = {
        version: rates(sets[version], growth=GROWTH, delta=DELTA, random_cost=random_cost)
        for version in VERSIONS
    }
    return Theory(
        problem, sizes, seed, scale, findings, quantities, cuts, sets, decompositions, by_version, random_cost
    )


def _check_problem(problem: Problem) -> None:
    """Raise unless the theory is about this problem: expected lifetimes, levels that are seen and bounded."""
    if not counts_rounds(problem.objective) or not problem.satisfaction.seen:
        given = {"objective": problem.objective.kind, "satisfaction": problem.satisfaction.kind}
        remedy = "the paper's theorems are about expected lifetimes at levels that are seen on arrival"
        raise InvalidInput(
            "problem", "must have the objective lifetime and levels that are seen", given, remedy
        )
    problem.check_still("the paper's theorems are about one truth")
    low, high = problem.satisfaction.support
    if not (math.isfinite(low) and math.isfinite(high)):
        remedy = "values are compared at levels drawn from their range; take uniform levels"
        raise InvalidInput("satisfaction", "must have bounded levels", problem.satisfaction.kind, remedy)


def _sets(problem: Problem, policy: HRUCB, users: int, version: str) -> ConfidenceSets:
    """Return the confidence sets that the policy would have in this version."""
    return confidence_sets(policy, policy.bind(problem, users).known, version)


def _gather(design: Design, replications: int, seed: int) -> DataSets:
    problem = design.problem
    truths = Truths(
        *(np.tile(np.asarray(truth), (replications, 1)) for truth in (problem.theta, problem.phi))
    )
    return gather(problem, design.policy, truths, users=design.users, seed=seed, cap=math.inf)


def _levels(problem: Problem, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Return levels uniform over the range of the problem's own."""
    low, high = problem.satisfaction.support
    return np.random.default_rng([seed, 18]).uniform(low, high, shape)


def _decompositions(
    problem: Problem, policy: HRUCB, sizes: Sizes, seed: int, released: DataSets
) -> tuple[dict[str, Decomposition], float]:
    """Return the decomposed regret of HR-UCB, with ξ by the released formula and with ξ corrected, and a random choice's cost."""
    # One user more than is looked at, as in the adaptive design: all share the programs that make the arrivals.
    users = sizes.users + 1
    run = simulate(problem, Random(), users=users, trials=sizes.trials, seed=seed, keep="all")
    best = run.best.transpose("trial", "user").values
    corrected = with_fields(policy, radius="corrected", warmup=0)
    constant = float(_sets(problem, policy, users, "paper").alpha1(GROWTH * users, DELTA))
    sets = _sets(problem, policy, users, "corrected")
    widths: dict[str, Callable[[np.ndarray], ArrayLike]] = {
        "released": lambda n: np.full_like(n, constant),
        "corrected": lambda n: sets.xi(n, DELTA),
    }
    played = {
        "released": released,
        "corrected": _gather(Design(problem, corrected, users), sizes.trials, seed),
    }
    made = {}
    for radius, data in played.items():
        first = (np.asarray(leaf)[: sizes.trials, : sizes.users] for leaf in data.stays)
        stays = Stays(*first)  # type: ignore[arg-type]
        cost = best[:, : sizes.users] - _values(problem, data)[: sizes.trials, : sizes.users]
        made[radius] = decompose(stays, cost, sets, widths[radius], growth=GROWTH, delta=DELTA)
    return made, float(run.regret.isel(user=-1).mean()) / users


def _values(problem: Problem, data: DataSets) -> np.ndarray:
    """Return the expected lifetime of what each user was served, (sets, users)."""
    x = np.asarray(data.stays.x)
    mean, variance = x @ np.asarray(problem.theta), problem.link(x @ np.asarray(problem.phi))
    return np.asarray(h(mean, variance, np.asarray(data.beta), problem.noise))
