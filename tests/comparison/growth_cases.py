"""Policies whose growth is known, played often enough to measure the error rates of the growth tests.

================================  =========  =====================================================================
policy                            growth     why
================================  =========  =====================================================================
best-mean oracle                  linear     it never learns
random                            linear     it never learns
ε-greedy, ε = 0.1 for ever        linear     a tenth of the users is served at random
LinUCB                            linear     it converges to the best mean
σ_max-UCB (released)              linear     it converges to the best mean
CMDP on cells without meaning     linear     no action stays best in a cell that says nothing about the context
greedy on one set of contexts     linear     some trials serve a wrong action for ever
oracle                            sublinear  no regret at all
HR-UCB (released)                 sublinear  Theorem 3, and the width is constant
greedy, contexts vary             sublinear  random contexts explore for it
HR-UCB on the ten discrete sets   sublinear  as above
================================  =========  =====================================================================

The first two are compared with themselves by the test for linear regret. Cut off after 7501 users, LinUCB, σ_max-UCB,
HR-UCB and greedy show what the tests make of a policy that still explores.

Replications of 20 trials are cut from one long simulation per problem. On the sphere 800 trials of 30 000 users (the
size at which the reproduction decides) serve five times, in five random partitions into 40 replications; elsewhere 4000
trials of fewer users make 200 replications that share no trial. ``python -m tests.comparison.growth_cases`` plays all of
them (about ten minutes of computing) and writes the table that reports quote.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray

import hrprob
from hrprob._core.records import record
from hrprob.comparison.growth import GrowthTest, linear, sublinear
from hrprob.io.json_files import write_json
from hrprob.policies.base import Policy, Seen
from hrprob.reproduce.parts import experiment_of
from hrprob.simulation.results import kept_users

__all__ = ["TABLE", "Case", "cases", "error_rates", "replications"]

TRIALS = 20
REPLICATIONS = 200
# The place of user 7501 in the runs on the sphere.
_SHORT = int(np.searchsorted(kept_users(30000, 250, rows=1), 7501))
TABLE = Path(__file__).parents[2] / "experiments" / "reference" / "growth_test_rates.json"


class Case(NamedTuple):
    """A policy of known growth, and its limit on the same users; regrets are cumulative."""

    policy: str
    problem: str
    growth: str  # "linear" or "sublinear"
    users: np.ndarray  # (points,)
    regret: np.ndarray  # (trials, points)
    limit: np.ndarray  # (trials, points)


@record()
class Always(Policy):
    """Select one action for ever."""

    kind: ClassVar[str] = "always"

    action: Any = 0

    def init(self) -> tuple[()]:
        """Return an empty state."""
        return ()

    def select(self, state: tuple[()], key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action."""
        return jnp.asarray(self.action, dtype=jnp.int32)

    def update(self, state: tuple[()], seen: Seen) -> tuple[()]:
        """Return the state unchanged."""
        return state


def cases(scale: float = 1.0) -> list[Case]:
    """Return all cases, with this share of the trials."""
    return with_shorter_runs(
        [*_on_the_sphere(scale), *_on_discrete_sets(scale), *_on_two_actions(scale), *_on_one_set(scale)]
    )


def with_shorter_runs(played: list[Case]) -> list[Case]:
    """Return the cases, and some of them cut off while the policy still explores."""
    cut = [
        case._replace(
            users=case.users[: _SHORT + 1],
            regret=case.regret[:, : _SHORT + 1],
            limit=case.limit[:, : _SHORT + 1],
        )
        for case in played
        if case.users[-1] == 30000 and case.policy in ("LinUCB", "σ_max-UCB", "HR-UCB", "greedy")
    ]
    return [*played, *cut]


def replications(case: Case, seed: int = 0) -> list[np.ndarray]:
    """Return which trials make up each replication."""
    trials = len(case.regret) // TRIALS * TRIALS
    rng = np.random.default_rng(seed)
    groups: list[np.ndarray] = []
    while len(groups) < REPLICATIONS:
        groups.extend(rng.permutation(trials).reshape(-1, TRIALS))
    return groups[:REPLICATIONS]


def error_rates(played: list[Case]) -> dict[str, Any]:
    """Return how often each test gave each verdict, and the share of wrong ones, by case."""
    rows = []
    for case in played:
        sublinear_right = "holds" if case.growth == "sublinear" else "fails"
        linear_right = "holds" if case.growth == "linear" else "fails"
        rows.append(
            {
                "policy": case.policy,
                "problem": case.problem,
                "growth": case.growth,
                "users": int(case.users[-1]),
                "distinct_trials": len(case.regret),
                "linear": _rates(case, linear, linear_right),
                "sublinear": _rates(case, sublinear, sublinear_right),
            }
        )
    return {"replications": REPLICATIONS, "trials": TRIALS, "cases": rows}


def _rates(
    case: Case, test: Callable[[np.ndarray, np.ndarray, np.ndarray], GrowthTest], right: str
) -> dict[str, float]:
    verdicts = [
        test(case.users, case.regret[group], case.limit[group]).verdict for group in replications(case)
    ]
    shares = {end: verdicts.count(end) / len(verdicts) for end in ("holds", "fails", "undecided")}
    return shares | {"wrong": shares["fails" if right == "holds" else "holds"]}


def _case(
    run: xarray.Dataset, policy: str, problem: str, growth: str, limit: np.ndarray, name: str = ""
) -> Case:
    return Case(policy, problem, growth, run.user.values, run.regret.sel(policy=name or policy).values, limit)


def _on_the_sphere(scale: float) -> list[Case]:
    released = experiment_of("released", ["hr-ucb-k5", "linucb", "sigma-max-ucb", "greedy"])
    policies = released.policies | {
        "mean-oracle": hrprob.MeanOracle(),
        "random": hrprob.Random(),
        "epsilon-greedy": hrprob.EpsilonGreedy(epsilon=0.1, decay=0.0),
    }
    run = hrprob.simulate(
        released.problem, policies, users=30000, trials=round(800 * scale), seed=1, keep=250
    )
    mean, random = (run.regret.sel(policy=name).values for name in ("mean-oracle", "random"))
    where = "the paper's sphere"
    return [
        _case(run, "best-mean oracle", where, "linear", mean, "mean-oracle"),
        _case(run, "random", where, "linear", random, "random"),
        _case(run, "ε-greedy, ε = 0.1", where, "linear", 0.1 * random, "epsilon-greedy"),
        _case(run, "LinUCB", where, "linear", mean, "linucb"),
        _case(run, "σ_max-UCB", where, "linear", mean, "sigma-max-ucb"),
        Case("oracle", where, "sublinear", run.user.values, np.zeros_like(mean), mean),
        _case(run, "HR-UCB", where, "sublinear", mean, "hr-ucb-k5"),
        _case(run, "greedy", where, "sublinear", mean, "greedy"),
    ]


def _on_discrete_sets(scale: float) -> list[Case]:
    released = experiment_of("released-d", ["hr-ucb-k5"])
    # On these sets the best mean is the best action whatever β, so that only a random choice has a rate to be below.
    policies = released.policies | {"random": hrprob.Random()}
    run = hrprob.simulate(
        released.problem, policies, users=8000, trials=round(4000 * scale), seed=2, keep=250
    )
    random = run.regret.sel(policy="random").values
    return [_case(run, "HR-UCB", "ten discrete sets", "sublinear", random, "hr-ucb-k5")]


def _on_two_actions(scale: float) -> list[Case]:
    released = experiment_of("released-b-cmdp", ["cmdp", "coin-toss"])
    run = hrprob.simulate(
        released.problem, released.policies, users=4000, trials=round(4000 * scale), seed=3, keep=250
    )
    random = run.regret.sel(policy="coin-toss").values
    return [_case(run, "CMDP on arbitrary cells", "two actions", "linear", random, "cmdp")]


def _on_one_set(scale: float) -> list[Case]:
    contexts = 0.9 * np.eye(4)[None]
    problem = hrprob.Problem(
        theta=[0.1, 0.2, 0.3, 0.45],
        phi=[-0.5, 0.3, 0.0, 0.2],
        contexts=hrprob.Finite(contexts),
        satisfaction=hrprob.UniformLevels(-1.0, 0.5),
    )
    policies: dict[str, Policy] = {str(action): Always(action) for action in range(4)}
    run = hrprob.simulate(
        problem,
        policies | {"greedy": hrprob.Greedy()},
        users=4000,
        trials=round(4000 * scale),
        seed=4,
        keep=10,
    )
    # The limit of a trial is the action that it served most often to the last users before the late window.
    actions = run.action.sel(policy="greedy", user=slice(1500, 2000)).values
    settled = np.array([np.bincount(row, minlength=4).argmax() for row in actions])
    always = run.regret.sel(policy=[str(action) for action in range(4)]).values
    limit = always[settled, np.arange(len(settled))]
    return [_case(run, "greedy", "one set of contexts", "linear", limit)]


if __name__ == "__main__":
    write_json(TABLE, error_rates(cases()))
