"""The policies beyond the paper: as their plain reference versions, and right where the answer is known."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, Source, trial_keys
from hrprob.comparison.coverage import coverage
from hrprob.estimation import glse, weighted
from hrprob.policies import DEFAULT, POLICIES
from hrprob.policies.contextual_ids import quasi_normal
from hrprob.policies.exact_optimism import largest_value
from hrprob.policies.ids import _between, best_mixture
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin
from tests.helpers import make

USERS, TRIALS, SEED = 26, 2, 3
PROBLEM = hrprob.Problem(
    theta=[0.5, -0.4, 0.2],
    phi=[0.9, 0.3, -1.0],
    link=hrprob.Affine(0.8, 2.0),
    contexts=hrprob.Sphere(5),
    satisfaction=hrprob.UniformLevels(-0.5, 1.0),
)
ONE_SET = hrprob.Problem(
    theta=[0.1, 0.2, 0.3, 0.45],
    phi=[-0.5, 0.3, 0.0, 0.2],
    contexts=hrprob.Finite([0.9 * np.eye(4)]),
    satisfaction=hrprob.FixedLevels(-0.2),
)


@pytest.fixture(scope="module")
def references() -> ModuleType:
    """The slow versions, reference_policies.py beside this file."""
    spec = importlib.util.spec_from_file_location(
        "reference_policies", Path(__file__).with_name("reference_policies.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ALL = {"growth": 1000.0}
VARIANTS: dict[str, tuple[str, dict[str, Any], hrprob.Problem]] = {
    "exact, constant": ("hr-ucb-exact", ALL | {"radius": "constant", "xi": 1.5}, PROBLEM),
    "exact, paper": ("hr-ucb-exact", ALL | {"radius": "paper"}, PROBLEM),
    "exact, corrected": ("hr-ucb-exact", ALL | {"radius": "corrected", "ridge": 0.5}, PROBLEM),
    "weighted": ("hr-ucb-weighted", {}, PROBLEM),
    "weighted, theory": ("hr-ucb-weighted", {"radius": "theory", "delta": 0.2}, PROBLEM),
    "weighted, greedy": ("hr-ucb-weighted", {"radius": "constant", "xi": 0.0}, PROBLEM),
    "contextual-ids": ("contextual-ids", {"points": 4}, PROBLEM),
    "contextual-ids, one set": ("contextual-ids", {}, ONE_SET),
    "greedy-first": ("greedy-first", {}, ONE_SET),
    "epsilon-greedy": ("epsilon-greedy", {}, PROBLEM),
    "explore-commit": ("explore-commit", {"explore": 10}, PROBLEM),
    "explore-commit, by T": ("explore-commit", {}, PROBLEM),
    "weighted-oful": ("weighted-oful", {}, PROBLEM),
    "weighted-oful, lifetime": ("weighted-oful", {"index": "lifetime", "radius": "calibrated"}, PROBLEM),
    "variance-thompson": ("variance-thompson", {}, PROBLEM),
    "variance-thompson, lifetime": ("variance-thompson", {"index": "lifetime"}, PROBLEM),
    "kl-ulcb": ("kl-ulcb", {"eager": False}, ONE_SET),
}


def check_against_reference(
    references: ModuleType, reference: type, policy: Any, problem: hrprob.Problem, users: int
) -> None:
    """Every action of a compiled run is the best by the twin's index, given the same past."""
    run = hrprob.simulate(problem, {"it": policy}, users=users, trials=TRIALS, seed=SEED, keep="all")
    with double_precision():
        keys = trial_keys(SEED, np.arange(TRIALS))
        numbers = np.arange(1, users + 1, dtype=np.uint32)
        arrived = arrivals(problem, keys, numbers)
        noise = np.asarray(problem.noise.draw(Source(keys, jnp.asarray(numbers)), 512))
        for trial in range(TRIALS):
            slow = reference(policy, problem, users)
            for place in range(users):
                contexts = np.asarray(arrived.contexts[place, :, :, trial])
                beta = float(arrived.beta[place, trial])
                action = int(run.action.values[0, trial, place])
                own = Source((keys[0][trial], keys[1][trial]), jnp.uint32(numbers[place]))
                index = slow.index(contexts, beta, own.key(Purpose.POLICY))
                # Indices closer than this are ties, which rounding decides.
                close = 1e-8 * max(1.0, abs(float(index.max())))
                assert index[action] >= index.max() - close, (trial, place, action, index)
                outcomes = arrived.mean[place, action, trial] + (
                    arrived.deviation[place, action, trial] * noise[place, :, trial]
                )
                length = int(run.lifetime.values[0, trial, place])
                assert length == int(np.argmax(np.asarray(outcomes) < beta)) + 1
                slow.stays.append(references.Stay(contexts, beta, action, np.asarray(outcomes)[:length]))


# One of each kind is played every time.
FIRST = list({kind: variant for variant, (kind, _, _) in reversed(VARIANTS.items())}.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, marks=[] if variant in FIRST else [pytest.mark.study], id=variant)
        for variant in VARIANTS
    ],
)
def test_compiled_is_as_the_plain_loop(references: ModuleType, variant: str) -> None:
    kind, parameters, problem = VARIANTS[variant]
    users = 44 if kind == "greedy-first" else USERS
    check_against_reference(
        references, references.REFERENCE_POLICIES[kind], make(kind, parameters), problem, users
    )


@pytest.mark.slow
def test_calibrated_is_as_the_plain_loop(references: ModuleType) -> None:
    """Up to 20 users quantiles are due after each of them."""
    policy = make("hr-ucb-exact", ALL | {"radius": "calibrated"})
    check_against_reference(references, references.HRUCBCalibrated, policy, PROBLEM, 18)


def test_every_kind_here_has_a_reference(references: ModuleType) -> None:
    assert set(references.REFERENCE_POLICIES) == {kind for kind, _, _ in VARIANTS.values()}


# Known answers.

BEYOND = [
    *dict.fromkeys(kind for kind, _, _ in VARIANTS.values()),
    pytest.param("ids", marks=pytest.mark.study),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", BEYOND)
def test_one_action_costs_nothing(kind: str) -> None:
    problem = ONE_SET.replace(contexts=hrprob.Finite([[[0.4, 0.1, 0.3, -0.2]]]))
    run = hrprob.simulate(problem, make(kind, {}), users=12, trials=2)
    assert np.all(run.regret == 0)
    assert np.all(run.action == 0)


def told_the_truth(policy: Any, problem: hrprob.Problem) -> Any:
    """The state of a policy that is sure of θ* and φ*."""
    d, sure = problem.dimension, 1e-20 * jnp.eye(problem.dimension)
    state = policy.init()

    theta, phi = jnp.asarray(problem.theta), jnp.asarray(problem.phi)
    if hasattr(state, "believed"):
        every = [jnp.broadcast_to(vector, (policy.draws, d)) for vector in (theta, phi)]
        return state._replace(theta=every[0], phi=every[1])

    def known(part: Any) -> Any:
        if isinstance(part, weighted.Estimates):
            return weighted.Estimates(weighted.Belief(theta, sure), weighted.Belief(phi, sure))
        return glse.Estimates(theta, phi, sure) if isinstance(part, glse.Estimates) else part

    estimates = (weighted.Estimates, glse.Estimates)
    return jax.tree.map(known, state, is_leaf=lambda part: isinstance(part, estimates))


SURE = {
    "hr-ucb-exact": {},
    "hr-ucb-weighted": {},
    "contextual-ids": {},
    "greedy-first": {},
    "epsilon-greedy": {"epsilon": 0.0},
    "explore-commit": {"explore": 0},
    "weighted-oful": {"index": "lifetime"},
    "variance-thompson": {"index": "lifetime"},
}


@pytest.mark.parametrize("kind", [*SURE, pytest.param("ids", marks=pytest.mark.study)])
def test_who_knows_the_truth_serves_the_best_action(kind: str) -> None:
    oracle = hrprob.Oracle()
    with double_precision():
        policy = make(kind, SURE.get(kind, {})).bind(PROBLEM, 100)
        best = oracle.bind(PROBLEM, 100)
        state = told_the_truth(policy, PROBLEM)
        keys = trial_keys(0, np.arange(1))
        arrived = arrivals(PROBLEM, keys, np.arange(1, 41, dtype=np.uint32))
        for place in range(40):
            contexts, beta = arrived.contexts[place, :, :, 0], arrived.beta[place, 0]
            chosen = policy.select(state, jax.random.key(place), contexts, beta)
            assert int(chosen) == int(best.select((), jax.random.key(0), contexts, beta))


def test_with_a_known_variance_the_weighted_estimator_is_ridge() -> None:
    """With φ held to 0 every round counts 1/offset: θ̂ is ridge with λ = (d + 2)·offset/R²."""
    rng = np.random.default_rng(1)
    X, offset, bounds = rng.normal(size=(50, 3)) / 3, 1.7, hrprob.Bounds(theta=1.5, phi=1e-9)
    r = X @ [0.5, -0.4, 0.2] + math.sqrt(offset) * rng.normal(size=50)
    found = weighted.fit(X, r, hrprob.Affine(1.0, offset), bounds)
    ridge = 5 * offset / 1.5**2
    V = X.T @ X + ridge * np.eye(3)
    np.testing.assert_allclose(found.theta.mean, np.linalg.solve(V, X.T @ r), rtol=1e-7)
    np.testing.assert_allclose(found.theta.covariance, offset * np.linalg.inv(V), rtol=1e-7)
    np.testing.assert_allclose(found.phi.mean, 0.0, atol=1e-8)


@pytest.mark.study
def test_weights_pay() -> None:
    """On strongly heteroscedastic rounds the weighted estimator errs less, in mean square over data sets.

    The ratios of mean squares are about 0.6 (θ) and 0.7 (φ) with 5 % standard error over 200 sets.
    """
    rng = np.random.default_rng(0)
    theta, phi, link = np.array([0.6, -0.3]), np.array([1.3, 1.3]), hrprob.Affine(1.0, 2.0)
    errors: dict[str, list[Any]] = {"glse": [], "weighted": []}
    for _ in range(200):
        X = rng.normal(size=(400, 2))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        r = X @ theta + np.sqrt(link(X @ phi)) * rng.normal(size=400)
        plain = hrprob.GLSE(ridge=1.0, link=link).fit(X, r)
        found = weighted.fit(X, r, link, hrprob.Bounds(1.0, 2.0))
        errors["glse"].append([np.sum((plain.theta_ - theta) ** 2), np.sum((plain.phi_ - phi) ** 2)])
        errors["weighted"].append(
            [np.sum((found.theta.mean - theta) ** 2), np.sum((found.phi.mean - phi) ** 2)]
        )
    ratio = np.mean(errors["weighted"], axis=0) / np.mean(errors["glse"], axis=0)
    assert np.all(ratio < 0.85)


def test_the_largest_value_is_the_maximum_over_the_box() -> None:
    rng = np.random.default_rng(0)
    with double_precision():
        known = PROBLEM.known(10)
        contexts = rng.normal(size=(6, 3))
        contexts *= rng.uniform(size=(6, 1)) / np.linalg.norm(contexts, axis=1, keepdims=True)
        length = np.linalg.norm(contexts, axis=1)
        for beta in (-1.0, 0.1, 0.9):
            u, w = (
                (rng.uniform(-0.5, 0.5, 6), rng.uniform(0, 0.4, 6)),
                (rng.uniform(1, 3, 6), rng.uniform(0, 1, 6)),
            )
            got = largest_value(known, jnp.asarray(contexts), beta, u, w, 0.01)
            low_w, high_w = (np.clip(w[0] + s * w[1], 2 - 1.6 * length, 2 + 1.6 * length) for s in (-1, 1))
            low_u, high_u = (np.clip(u[0] + s * u[1], -length, length) for s in (-1, 1))
            grid = [
                hrprob.h(low_u + a * (high_u - low_u), low_w + b * (high_w - low_w), beta)
                for a in np.linspace(0, 1, 21)
                for b in np.linspace(0, 1, 21)
            ]
            np.testing.assert_allclose(got, np.max(grid, axis=0), rtol=1e-12)


def test_best_mixture_is_the_least_of_a_grid() -> None:
    rng = np.random.default_rng(2)
    probabilities = np.linspace(0, 1, 401)
    for _ in range(20):
        regret, gain = rng.uniform(0.1, 2, 4), rng.uniform(0.01, 1, 4)
        with double_precision():
            a, b, q = (np.asarray(part) for part in best_mixture(jnp.asarray(regret), jnp.asarray(gain)))
        got = (q * regret[a] + (1 - q) * regret[b]) ** 2 / (q * gain[a] + (1 - q) * gain[b])
        least = min(
            np.min(
                (probabilities * regret[i] + (1 - probabilities) * regret[j]) ** 2
                / (probabilities * gain[i] + (1 - probabilities) * gain[j])
            )
            for i in range(4)
            for j in range(4)
        )
        assert got <= least * (1 + 1e-12)
        assert got >= least * (1 - 1e-3)


def test_information_of_the_best_action_is_the_variance_between_groups() -> None:
    rng = np.random.default_rng(3)
    best, numbers = rng.integers(3, size=50), rng.normal(size=(50, 3))
    means = np.array([numbers[best == k].mean(axis=0) for k in range(3)])
    shares = np.array([np.mean(best == k) for k in range(3)])
    direct = np.sum(shares[:, None] * (means - numbers.mean(axis=0)) ** 2, axis=0)
    with double_precision():
        got = _between(jnp.asarray(1.0 * (best[:, None] == np.arange(3))), jnp.asarray(numbers))
    np.testing.assert_allclose(got, direct, rtol=1e-12)


def test_quasi_random_points_are_normal() -> None:
    with double_precision():
        points = np.asarray(quasi_normal(0, 4096, 4))
        np.testing.assert_allclose(quasi_normal(100, 5, 4), points[100:105], rtol=1e-9)
    # Errors of a sequence of low discrepancy fall like ln(n)/n: far below the 0.016 of random draws.
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.004)
    # One pair of coordinates has a correlation of 0.026 at this length, which falls as it grows.
    np.testing.assert_allclose(np.cov(points.T), np.eye(4), atol=0.03)


def exploring(problem: hrprob.Problem, users: int) -> np.ndarray:
    with double_precision():
        policy = make("greedy-first", {}).bind(problem, users)
        keys = trial_keys(0, np.arange(8))
        arrived = arrivals(problem, keys, np.arange(1, users + 1, dtype=np.uint32))
        carry, _ = advance(problem.rules, policy, keys, begin(policy, keys), arrived)
    return np.asarray(carry.learning.state.exploring)


@pytest.mark.study
def test_greedy_first_explores_where_greedy_locks_in_and_only_there() -> None:
    assert np.all(exploring(ONE_SET, 300) == 1)
    assert np.all(exploring(hrprob.Problem(), 300) == 0)


@pytest.mark.slow
def test_nothing_is_learned_after_committing() -> None:
    policy = make("explore-commit", {"explore": 30})
    run = hrprob.simulate(ONE_SET, policy, users=200, trials=4, keep="all")
    # One set and one level: the same estimates make the same choice.
    late = run.action.values[0][:, 30:]
    assert np.all(late == late[:, :1])
    assert all(len(set(row)) > 1 for row in run.action.values[0][:, :30])


def test_kl_ulcb_tries_every_arm_first() -> None:
    run = hrprob.simulate(ONE_SET, make("kl-ulcb", {"eager": False}), users=4, trials=3, keep="all")
    assert run.action.values[0].tolist() == [[0, 1, 2, 3]] * 3


@pytest.mark.parametrize(
    ("problem", "field"),
    [
        (ONE_SET.replace(satisfaction=hrprob.UniformLevels(-1, 0)), "satisfaction"),
        (ONE_SET.replace(contexts=hrprob.Sphere(4)), "contexts.sets"),
        (ONE_SET.replace(contexts=hrprob.Finite([0.9 * np.eye(4), 0.5 * np.eye(4)])), "contexts.sets"),
    ],
)
def test_kl_ulcb_is_refused_where_it_is_not_defined(problem: hrprob.Problem, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make("kl-ulcb", {}).bind(problem, 10)
    assert caught.value.field == field


def test_a_rare_error_cannot_be_calibrated() -> None:
    with pytest.raises(InvalidInput, match="delta"):
        make("hr-ucb", {"radius": "calibrated", "delta": 0.005}).bind(PROBLEM, 10)


def test_there_is_a_default() -> None:
    assert POLICIES.kinds()[DEFAULT.kind] is DEFAULT
    assert not DEFAULT.knows_truth


@pytest.mark.study
def test_the_default_where_greedy_is_linear() -> None:
    """One set of actions: greedy ends near 3000 ± 400 (20 trials), the default near 200 ± 60."""
    problem = ONE_SET.replace(satisfaction=hrprob.UniformLevels(-1.0, 0.5))
    policies = {"default": DEFAULT(), "greedy": hrprob.Greedy()}
    run = hrprob.simulate(problem, policies, users=10000, trials=20, seed=0, keep=1000)
    last = run.regret.isel(user=-1).mean("trial")
    assert float(last.sel(policy="default")) < 400
    assert float(last.sel(policy="greedy")) > 1500
    late = run.regret.sel(policy="default")
    first, second = late.sel(user=5001), late.isel(user=-1) - late.sel(user=5001)
    assert float(second.mean()) < 0.5 * float(first.mean())


@pytest.mark.study
@pytest.mark.parametrize(("contexts", "most"), [("paper", 250), ("discrete", 20)])
def test_the_default_in_the_settings_of_the_paper(contexts: str, most: float) -> None:
    sets = Path(hrprob.__file__).parent / "experiments" / "reference" / "discrete_contexts.csv"
    problem = hrprob.Problem() if contexts == "paper" else hrprob.Problem(contexts=hrprob.Finite(sets))
    run = hrprob.simulate(problem, DEFAULT(), users=29001, trials=20, seed=0, keep=1000)
    assert float(run.regret.isel(user=-1).mean()) <= most


@pytest.mark.study
@pytest.mark.parametrize(
    ("kind", "parameters", "least", "most"),
    [
        # 1 − δ = 0.9 was asked for. A share of 400 trials has a standard error of 0.015; three of them.
        ("hr-ucb", {"radius": "calibrated", "growth": None}, 0.855, 0.955),
        # Stays are counted with a variance one deviation up, so these sets hold a little more often.
        ("hr-ucb-weighted", {}, 0.855, 0.99),
    ],
)
def test_calibrated_sets_hold_what_they_promise(
    kind: str, parameters: dict[str, Any], least: float, most: float
) -> None:
    """From about a hundred users on, one n at a time; earlier the estimates cannot stand for the truth."""
    held = coverage(hrprob.Problem(), make(kind, parameters), users=[100, 300], trials=400).held
    assert float(held.min()) > least
    assert float(held.max()) < most


def test_coverage_is_of_policies_with_sets() -> None:
    with pytest.raises(InvalidInput, match="confidence sets"):
        coverage(PROBLEM, hrprob.Greedy(), users=[5])
    with pytest.raises(InvalidInput, match="users"):
        coverage(PROBLEM, hrprob.HRUCB(), users=[])
