"""The extensions in the engine: values against realised stays, accounting, what policies see and take."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source, trial_keys
from hrprob._core.records import with_fields
from hrprob.policies.base import Seen
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin

# A statistic further from its mean than this has a probability of 6e-5, and the seeds are fixed.
ERRORS = 4.0
NOISES = {
    "normal": (hrprob.Normal(), lambda rng, n: rng.normal(size=n)),
    "student-t": (hrprob.StudentT(4.0), lambda rng, n: rng.standard_t(4.0, size=n) * math.sqrt(0.5)),
    "truncated": (
        hrprob.TruncatedNormal(2.5),
        lambda rng, n: (
            stats.truncnorm.rvs(-2.5, 2.5, size=n, random_state=rng) / stats.truncnorm.std(-2.5, 2.5)
        ),
    ),
    "mixture": (hrprob.Mixture(0.2, 2.0, 0.5), lambda rng, n: _mixture(rng, n, 0.2, 2.0, 0.5)),
}
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


def _mixture(rng: Any, n: int, p: float, gap: float, ratio: float) -> np.ndarray:
    upper = math.sqrt((1 - p * (1 - p) * gap**2) / (p * ratio**2 + 1 - p))
    first = rng.uniform(size=n) < p
    mean, deviation = np.where(first, -(1 - p) * gap, p * gap), np.where(first, ratio * upper, upper)
    return mean + deviation * rng.normal(size=n)


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


def turning(key: Any, user: Any) -> Any:
    """Contexts that a user might write."""
    return 0.55 * jnp.cos(0.1 * user + jax.random.uniform(key, (5, 1)) + jnp.arange(3.0))


def rising(key: Any, user: Any) -> Any:
    """Levels that a user might write."""
    return -0.8 + jax.random.uniform(key) * jnp.minimum(user / 200.0, 1.0)


def worlds(seed: int) -> dict[str, hrprob.Problem]:
    """Every extension of a problem whose truth, and whatever else is not drawn as users come, is drawn here."""
    rng = np.random.default_rng(seed)
    theta, phi = rng.normal(size=(2, 3))
    common = {
        "theta": 0.8 * theta / np.linalg.norm(theta),
        "phi": 1.1 * phi / np.linalg.norm(phi),
        "contexts": hrprob.Ball(5),
        "satisfaction": hrprob.UniformLevels(-0.8, 1.0),
    }
    changes: dict[str, dict[str, Any]] = {
        "hidden": {"satisfaction": hrprob.HiddenLevels(hrprob.UniformLevels(-0.8, 1.0))},
        "redrawn": {"satisfaction": hrprob.RedrawnLevels(hrprob.NormalLevels(0.0, 0.5))},
        "mixture": {"noise": hrprob.Mixture(0.2, 2.0, 0.5)},
        "student-t": {"noise": hrprob.StudentT(4.0)},
        "truncated": {"noise": hrprob.TruncatedNormal(4.0)},
        "drifting": {"contexts": hrprob.Drifting(5, 2.0, 300.0)},
        "withholding": {"contexts": hrprob.Withholding(5, users=300, coordinates=1)},
        "sequence": {
            "contexts": hrprob.ContextSequence(rng.uniform(-0.55, 0.55, size=(60, 5, 3))),
            "satisfaction": hrprob.LevelSequence(rng.uniform(-0.8, 1.0, size=70)),
        },
        "function": {
            "contexts": hrprob.ContextFunction(turning, 5),
            "satisfaction": hrprob.LevelFunction(rising),
        },
        "paper": {},
    }
    return {name: hrprob.Problem(**common | change) for name, change in changes.items()}


SEEDS = (5, 6, 7)
WORLDS = worlds(SEEDS[0])


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
            costs.append(plain._values_and_costs(problem, user)[1][actions].sum())
            served.append(actions)
    engine = result.sel(policy="it").isel(trial=trial)
    assert engine.action.values.tolist() == [actions[0] for actions in served]
    assert engine.lifetime.values.tolist() == [len(actions) for actions in served]
    np.testing.assert_allclose(engine.regret, np.cumsum(costs), rtol=1e-8)
    # Actions do change within stays, or this would show nothing.
    assert any(len(set(actions)) > 1 for actions in served)


class Log(NamedTuple):
    selected: jax.Array
    seen: jax.Array


@hrprob.register("extension-probe")
class Probe(hrprob.Policy):
    """Notes whether it ever saw a level."""

    def init(self) -> Log:
        return Log(jnp.zeros(()), jnp.zeros(()))

    def select(self, state: Log, key: Any, contexts: Any, beta: Any) -> Any:
        return jnp.where(jnp.isnan(beta), 0, 1)

    def update(self, state: Log, seen: Any) -> Log:
        return Log(state.selected, state.seen + jnp.where(jnp.isnan(seen.beta), 0.0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "eager"),
    [
        ("hidden", False),
        pytest.param("hidden", True, marks=pytest.mark.study),
        pytest.param("redrawn", False, marks=pytest.mark.study),
        pytest.param("redrawn", True, marks=pytest.mark.study),
        pytest.param("mixture", False, marks=pytest.mark.study),
    ],
)
def test_no_policy_sees_a_hidden_level(name: str, eager: bool) -> None:
    problem, policy = WORLDS[name], Probe(eager=eager, warmup=2)
    with double_precision():
        bound, keys = policy.bind(problem, 20), trial_keys(0, np.arange(2))
        arrived = arrivals(problem, keys, np.r_[WARMUP_USERS + np.arange(2), np.arange(1, 21)])
        carry, played = advance(problem.rules, bound, keys, begin(bound, keys), arrived, warms=True)
    hidden = name != "mixture"
    assert np.all(np.asarray(played.served.action)[2:] == (0 if hidden else 1))
    assert np.all((np.asarray(carry.learning.state.seen) == 0) == hidden)
    assert np.all(np.isfinite(arrived.beta))


def test_cmdp_cannot_split_by_a_level_that_is_not_seen() -> None:
    with pytest.raises(hrprob.InvalidInput, match="not seen"):
        hrprob.simulate(WORLDS["hidden"], hrprob.CMDP(with_beta=True), users=5, trials=1)


@pytest.mark.parametrize(
    "problem",
    [
        hrprob.Problem(objective=hrprob.Reward()),
        hrprob.Problem(satisfaction=hrprob.RedrawnLevels()),
        hrprob.Problem(satisfaction=hrprob.NormalLevels()),
    ],
    ids=["reward", "redrawn", "normal"],
)
def test_constants_of_another_value_are_not_computed(problem: hrprob.Problem) -> None:
    with pytest.raises(hrprob.InvalidInput, match="c3"):
        hrprob.HRUCB(radius="paper", c3="computed").bind(problem, 100)


# The sample set.


def samples(policy: hrprob.Policy, users: int = 400, trials: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """|S| after each user, and V⁻¹ after the last; in the ball, contexts inform more or less by their norm."""
    problem = hrprob.Problem(contexts=hrprob.Ball(20))
    with double_precision():
        bound, keys = policy.bind(problem, users), trial_keys(0, np.arange(trials))
        carry, taken = begin(bound, keys), []
        for user in range(1, users + 1):
            carry, _ = advance(problem.rules, bound, keys, carry, arrivals(problem, keys, np.array([user])))
            taken.append(np.asarray(carry.learning.sample_size))
        return np.array(taken), np.asarray(carry.learning.state.inverse)


@pytest.mark.slow
def test_a_chosen_sample_set_keeps_to_the_budget_spends_it_and_informs_more() -> None:
    growth, users = 1.0, 400
    width = {"radius": "constant", "xi": 10.0, "growth": growth}
    first, plain_inverse = samples(hrprob.HRUCB(**width), users)
    chosen, inverse = samples(hrprob.HRUCB(samples="informative", **width), users)
    budget = growth * np.arange(1, users + 1)[:, None]
    for taken in (first, chosen):
        assert np.all(taken <= np.ceil(budget))
    # All but some 10K rounds are spent in the end, and a user's stay may add a few.
    assert np.all(chosen[-1] >= budget[-1] - 25 * growth)
    # The same number of rounds, or fewer, and a smaller V⁻¹: of log-determinants, paired by trials.
    size = [np.linalg.slogdet(np.moveaxis(matrix, -1, 0))[1] for matrix in (plain_inverse, inverse)]
    gain = size[0] - size[1]
    assert gain.mean() > ERRORS * gain.std(ddof=1) / math.sqrt(gain.size)


@pytest.mark.slow
def test_with_room_for_all_every_round_is_in_the_sample_set() -> None:
    width = {"radius": "constant", "xi": 10.0, "growth": 50.0}
    first, _ = samples(hrprob.HRUCB(**width), 60)
    chosen, _ = samples(hrprob.HRUCB(samples="informative", **width), 60)
    np.testing.assert_array_equal(first, chosen)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: hrprob.HRUCB(samples="best"), "samples"),
        (lambda: hrprob.Greedy(samples="informative"), "growth"),
        (lambda: hrprob.Thompson(samples="informative", growth=5), "samples"),
        (lambda: hrprob.HRUCB(noise="gauss"), "noise"),
        (lambda: hrprob.HRUCB(noise={"kind": "student-t", "df": 1}), "noise.df"),
        (lambda: hrprob.HRUCB(noise=3), "noise"),
        (lambda: hrprob.Thompson(noise="normal"), "noise"),
    ],
)
def test_bad_samples_and_beliefs_are_named(make: Any, field: str) -> None:
    with pytest.raises(hrprob.InvalidInput) as caught:
        make()
    assert caught.value.field == field


# Beliefs.


@pytest.mark.slow
def test_where_levels_are_seen_the_best_action_does_not_depend_on_the_noise() -> None:
    """h = 1/Ψ(z) falls with z = (β − u)/√w whatever Ψ is, so the best action is that of the least z."""
    rng = np.random.default_rng(2)
    u, w = rng.normal(size=(40, 6)), rng.uniform(0.5, 3.0, size=(40, 6))
    best = [np.argmax(noise.reciprocal_cdf((0.2 - u) / np.sqrt(w)), axis=1) for noise, _ in NOISES.values()]
    for other in best[1:]:
        np.testing.assert_array_equal(best[0], other)


@pytest.mark.slow
def test_a_wrong_belief_is_another_policy_and_is_reported() -> None:
    problem = WORLDS["mixture"].replace(objective=hrprob.Threshold(0.5))
    policies = {
        "right": hrprob.Greedy(),
        "told": hrprob.Greedy(noise=problem.noise),
        "wrong": hrprob.Greedy(noise="normal"),
    }
    result = hrprob.simulate(problem, policies, users=200, trials=3, keep="all")
    regret = result.regret
    np.testing.assert_array_equal(regret.sel(policy="right"), regret.sel(policy="told"))
    assert np.any(regret.sel(policy="right") != regret.sel(policy="wrong"))
    assert json.loads(result.attrs["misspecified"]) == {"wrong": {"noise": {"kind": "normal"}}}


def test_beliefs_that_differ_in_numbers_share_a_program() -> None:
    problem = hrprob.Problem(noise=hrprob.StudentT(4.0))
    trees = [
        jax.tree.structure(hrprob.Greedy(noise=noise).bind(problem, 10))
        for noise in (None, {"kind": "student-t", "df": 9.0})
    ]
    assert trees[0] == trees[1]


# β = ∞.


@pytest.mark.slow
def test_with_an_infinite_level_hr_ucb_on_reward_is_linucb() -> None:
    """Q = θ̂ᵀx + ξ‖x‖: LinUCB with α = ξ and the same ridge."""
    problem = hrprob.Problem(objective=hrprob.Reward(), satisfaction=hrprob.InfiniteLevels())
    policies = {
        "HR-UCB": hrprob.HRUCB(radius="constant", xi=1.5, growth=1),
        "LinUCB": hrprob.LinUCB(alpha=1.5, ridge=1.0),
    }
    result = hrprob.simulate(problem, policies, users=300, trials=4, keep="all")
    np.testing.assert_array_equal(result.action.values[0], result.action.values[1])
    assert np.all(result.lifetime == 1)
    assert result.regret.attrs["units"] == "reward"


def test_a_bound_policy_sees_what_it_believes() -> None:
    problem = hrprob.Problem(noise=hrprob.StudentT(4.0))
    assert hrprob.Greedy().bind(problem, 10).known.noise.kind == "student-t"
    bound = hrprob.Greedy(noise="normal").bind(problem, 10)
    assert bound.known.noise.kind == "normal"
    # The belief is part of `known` now, so that a second `bind` cannot apply it twice.
    assert with_fields(bound, growth=3.0).noise is None
