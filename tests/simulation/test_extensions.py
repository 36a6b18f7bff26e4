"""The extensions in the engine: values against realised stays, and accounting."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, Source, trial_keys
from hrprob.policies.base import Seen
from hrprob.simulation.arrivals import arrivals
from tests.simulation.extension_cases import ERRORS, NOISES, SEEDS, WORLDS, worlds

LEVELS = {
    "seen": (hrprob.FixedLevels(-0.6), lambda rng, n: np.full(n, -0.6)),
    "infinite": (hrprob.InfiniteLevels(), lambda rng, n: np.full(n, np.inf)),
    "hidden": (
        hrprob.HiddenLevels(hrprob.UniformLevels(-0.8, 1.0)),
        lambda rng, n: rng.uniform(-0.8, 1.0, size=n),
    ),
    "hidden normal": (
        hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.3)),
        lambda rng, n: rng.normal(0.0, 0.3, size=n),
    ),
    "hidden empirical": (
        hrprob.HiddenLevels(hrprob.EmpiricalLevels([-0.7, 0.1, 0.1])),
        lambda rng, n: rng.choice([-0.7, 0.1, 0.1], size=n),
    ),
}
OBJECTIVES = {
    "lifetime": (hrprob.Lifetime(), lambda r, u: np.ones_like(r)),
    "reward": (hrprob.Reward(), lambda r, u: r),
    # A round's risk is seen in its squared deviation.
    "mean-variance": (hrprob.MeanVariance(0.2), lambda r, u: r - 0.2 * (r - u) ** 2),
    "threshold": (hrprob.Threshold(0.9), lambda r, u: 1.0 * (r > 0.9)),
}


def realised(rng: Any, u: float, w: float, noise: Any, level: Any, earned: Any, redrawn: bool) -> np.ndarray:
    """What 20000 users brought until they left, each served one action throughout; plain NumPy."""
    n = 20_000
    total, there, beta = np.zeros(n), np.arange(n), level(rng, n)
    while there.size:
        r = u + math.sqrt(w) * noise(rng, there.size)
        total[there] += earned(r, u)
        limit = level(rng, there.size) if redrawn else beta[there]
        there = there[r >= limit]
    return total


def cases() -> list[tuple[str, str, str, bool]]:
    """Every noise, every kind of level and every objective, in turn with one another."""
    rows = [(noise, "seen", "lifetime", False) for noise in NOISES]
    rows += [
        ("normal", level, objective, False) for level in ("seen", "infinite") for objective in OBJECTIVES
    ]
    rows += [
        ("normal", level, "lifetime", redrawn) for level in list(LEVELS)[2:] for redrawn in (False, True)
    ]
    rows += [("mixture", "hidden", "reward", False), ("student-t", "hidden normal", "threshold", True)]
    return sorted(set(rows))


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "level", "objective", "redrawn"), cases())
def test_values_are_means_of_what_users_bring(noise: str, level: str, objective: str, redrawn: bool) -> None:
    rng = np.random.default_rng(11)
    satisfaction, draw_level = LEVELS[level]
    if redrawn:
        satisfaction = hrprob.RedrawnLevels(satisfaction.of)
    problem = hrprob.Problem(
        noise=NOISES[noise][0], objective=OBJECTIVES[objective][0], satisfaction=satisfaction
    )
    beta = satisfaction.support[0] if satisfaction.seen else math.nan
    for _ in range(3):
        u, w = rng.uniform(-0.5, 0.6), rng.uniform(0.7, 2.5)
        earned = realised(rng, u, w, NOISES[noise][1], draw_level, OBJECTIVES[objective][1], redrawn)
        error = earned.std() / math.sqrt(earned.size)
        assert abs(earned.mean() - float(problem.value(u, w, beta))) <= ERRORS * error


CHOSEN: dict[str, Any] = {"radius": "constant", "xi": 5.0, "growth": 1, "samples": "informative"}


def lost(problem: hrprob.Problem, policy: hrprob.Policy, users: int = 1000, trials: int = 20) -> np.ndarray:
    """Each user's regret minus what was lost, the oracle's value minus the lifetime, (trials, users)."""
    result = hrprob.simulate(problem, {"it": policy}, users=users, trials=trials, seed=9, keep="all")
    with double_precision():
        keys = trial_keys(9, np.arange(trials))
        best = np.asarray(arrivals(problem, keys, np.arange(1, users + 1)).best).T
    cost = np.diff(result.regret.values[0], axis=1, prepend=0.0)
    return cost - (best - result.lifetime.values[0])


def assert_mean_zero(surplus: np.ndarray) -> None:
    # Differences of a martingale are uncorrelated, so their mean has error sd/√n.
    assert abs(surplus.mean()) < ERRORS * surplus.std() / math.sqrt(surplus.size)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["hidden", "redrawn", *(pytest.param(name, marks=pytest.mark.study) for name in list(WORLDS)[2:])],
)
def test_the_oracles_value_is_the_mean_of_its_lifetimes(name: str) -> None:
    for seed in SEEDS:
        assert_mean_zero(lost(worlds(seed)[name], hrprob.Oracle()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("hidden", hrprob.Random(eager=True)),
        ("redrawn", hrprob.HRUCB(radius="constant", xi=5.0, eager=True)),
        pytest.param("hidden", hrprob.HRUCB(radius="constant", xi=5.0, eager=True), marks=pytest.mark.study),
        pytest.param("mixture", hrprob.Thompson(eager=True), marks=pytest.mark.study),
        pytest.param("redrawn", hrprob.Thompson(eager=True), marks=pytest.mark.study),
        pytest.param("hidden", hrprob.Thompson(eager=True), marks=pytest.mark.study),
        pytest.param("student-t", hrprob.Greedy(eager=True, noise="normal"), marks=pytest.mark.study),
        pytest.param("paper", hrprob.Thompson(eager=True), marks=pytest.mark.study),
        *(
            pytest.param(name, hrprob.HRUCB(radius="constant", xi=5.0, eager=True), marks=pytest.mark.study)
            for name in ("truncated", "drifting", "withholding", "sequence", "function")
        ),
        pytest.param("paper", hrprob.HRUCB(**CHOSEN, eager=True), marks=pytest.mark.study),
    ],
    ids=lambda part: part if isinstance(part, str) else part.kind,
)
def test_costs_of_rounds_are_what_was_lost(name: str, policy: hrprob.Policy) -> None:
    """Where actions change within a stay, costs add up to the oracle's value minus the lifetime."""
    assert_mean_zero(lost(WORLDS[name], policy))


def endless(objective: Any, level: float) -> hrprob.Problem:
    """Two actions of variances 3.71 and 0.29; the outcomes of the second are above −1.1."""
    return hrprob.Problem(
        theta=[0.1, 0.0],
        phi=[1.9, 0.0],
        contexts=hrprob.Finite([[[0.9, 0.0], [-0.9, 0.0]]]),
        noise=hrprob.TruncatedNormal(1.0),
        objective=objective,
        satisfaction=hrprob.FixedLevels(level),
    )


@pytest.mark.parametrize("objective", [hrprob.Reward(), hrprob.MeanVariance(0.5)], ids=lambda o: o.kind)
def test_costs_of_rounds_where_nobody_leaves_what_earns_less_than_nothing(objective: Any) -> None:
    """A random action every round loses v* − ḡ/p̄ per user: 0.363 of reward."""
    problem = endless(objective, -1.5)
    result = hrprob.simulate(problem, hrprob.Random(eager=True), users=50, trials=40, seed=1)
    u, w = np.array([0.09, -0.09]), np.array([3.71, 0.29])
    p = stats.truncnorm.cdf((-1.5 - u) / np.sqrt(w) * stats.truncnorm.std(-1.0, 1.0), -1.0, 1.0)
    g = u if isinstance(objective, hrprob.Reward) else u - 0.5 * w
    assert p[1] == 0
    wanted = g[0] / p[0] - g.mean() / p.mean()
    if isinstance(objective, hrprob.Reward):
        assert wanted == pytest.approx(0.363, abs=5e-4)
    a_user = result.regret.isel(user=-1).to_numpy().ravel() / 50
    error = a_user.std(ddof=1) / math.sqrt(a_user.size)
    assert abs(a_user.mean() - wanted) < ERRORS * error


@pytest.mark.slow
def test_where_the_best_stay_never_ends_any_other_round_costs_a_stay() -> None:
    policies = {"lazy": hrprob.Random(), "eager": hrprob.Random(eager=True)}
    result = hrprob.simulate(endless(hrprob.Reward(), -6.0), policies, users=3, trials=1, seed=1)
    assert result.regret.isel(user=-1).to_numpy().tolist() == [[math.inf], [math.inf]]


@pytest.mark.study
def test_costs_of_rounds_under_another_objective(plain: Any) -> None:
    """Total reward, a new action every round: costs against v* minus the outcomes, which the plain loop has."""
    problem = WORLDS["mixture"].replace(objective=hrprob.Reward())
    policy, users, trials = hrprob.Random(eager=True), 200, 4
    result = hrprob.simulate(problem, {"it": policy}, users=users, trials=trials, seed=3, keep="all")
    played = plain.play(policy, problem, users=users, trials=trials, seed=3, engine=result.action.values[0])
    np.testing.assert_allclose(result.regret.values[0], played.regret, rtol=1e-8, atol=1e-8)
    cost = np.diff(played.regret, axis=1, prepend=0.0)
    assert cost.min() >= -1e-12
    earned = np.zeros((trials, users))
    for trial, past in enumerate(played.past):
        for one in past.rounds:
            earned[trial, one.user.place] += one.outcome
    assert_mean_zero(cost - (result.best.values - earned))


def stay(problem: hrprob.Problem, select: Any, update: Any, state: Any, user: Any, key: Any) -> Any:
    """Play out one user, round by round, with a policy's own functions; return its state and the actions."""
    actions: list[int] = []
    left = False
    while not left:
        i, contexts, beta = len(actions), user.contexts, user.beta
        a = int(select(state, jax.random.fold_in(key, np.uint32(i)), contexts, beta))
        x, number = contexts[a], 1.0 + user.place
        outcome = problem.theta @ x + math.sqrt(problem.link(problem.phi @ x)) * user.noise(i)
        left = bool(outcome < beta)
        told = (np.float64(number), contexts, np.int32(a), x, beta, 1.0, left)
        state = update(state, Seen(*told, 1.0, outcome, outcome**2, np.array([outcome])))
        actions.append(a)
    return state, actions


@pytest.mark.study
@pytest.mark.parametrize("trial", [0, 1])
def test_thompson_with_a_draw_per_round_equals_a_plain_loop(plain: Any, trial: int) -> None:
    problem, policy, users, seed = WORLDS["paper"], hrprob.Thompson(eager=True), 12, 4
    result = hrprob.simulate(problem, {"it": policy}, users=users, trials=2, seed=seed, keep="all")
    draws, costs, served = plain.Draws(problem, seed, users, 2), [], []
    with double_precision():
        bound, keys = policy.bind(problem, users), trial_keys(seed, np.arange(2))
        select, update, depart = (jax.jit(part) for part in (bound.select, bound.update, bound.depart))
        state = bound.init()
        for place in range(users):
            user = draws.user(place, trial, warm=False)
            source = Source((keys[0][trial], keys[1][trial]), jnp.uint32(place + 1))
            state, actions = stay(problem, select, update, state, user, source.key(Purpose.POLICY))
            state = depart(state, np.float64(place + 1))
            costs.append(plain.values_and_costs(problem, user)[1][actions].sum())
            served.append(actions)
    engine = result.sel(policy="it").isel(trial=trial)
    assert engine.action.values.tolist() == [actions[0] for actions in served]
    assert engine.lifetime.values.tolist() == [len(actions) for actions in served]
    np.testing.assert_allclose(engine.regret, np.cumsum(costs), rtol=1e-8)
    # Actions do change within stays, or this would show nothing.
    assert any(len(set(actions)) > 1 for actions in served)
