"""The engine against the plain loop of plain.py: every action, every lifetime, the regret."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, trial_keys
from hrprob.policies import POLICIES
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin, warm
from tests.simulation.plain_cases import (
    ALL_VARIANTS,
    BELIEFS,
    EXTENSIONS,
    MORE_SINGLE,
    MORE_VARIANTS,
    SINGLE,
    TRIALS,
    USERS,
    VARIANTS,
    WORLDS,
    policies,
    problems,
)

# Every kind of policy is compared in the machine code that users run. In other worlds, with beliefs and with single
# extensions it is the engine's logic that is compared, and the quick code has the same.


def compare(plain: Any, problem: hrprob.Problem, policy: hrprob.Policy, seed: int) -> None:
    result = hrprob.simulate(problem, {"it": policy}, users=USERS, trials=TRIALS, seed=seed, keep="all")
    result = result.sel(policy="it")
    played = plain.play(policy, problem, users=USERS, trials=TRIALS, seed=seed, engine=result.action.values)
    assume(not played.undecided)
    np.testing.assert_array_equal(result.action, played.action)
    np.testing.assert_array_equal(result.lifetime, played.lifetime)
    # Costs are differences of lifetimes up to 1e3.
    np.testing.assert_allclose(result.regret, played.regret, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result.mean_lifetime, played.lifetime.mean(axis=1), rtol=1e-12)


def _has_posterior(cls: type) -> bool:
    modules = ("hrprob.policies.bayes", "hrprob.policies.thompson")
    return any(base.__module__.startswith(modules) for base in cls.__mro__)


# They act on draws from a posterior; what they believe is tested where posteriors are.
POSTERIOR = {
    "bayes-greedy",
    "bayes-ucb",
    "feel-good-thompson",
    "ids",
    "thompson",
    "thompson-homoscedastic",
    "thompson-known-variance",
}
# These have plain versions of their own, in tests/policies/reference.
BEYOND = {
    "contextual-ids",
    "ensemble-sampling",
    "epsilon-greedy",
    "explore-commit",
    "greedy-first",
    "hr-ucb-exact",
    "hr-ucb-weighted",
    "huber-ucb",
    "kl-ulcb",
    "variance-thompson",
    "weighted-oful",
}


# Oracles that ignore part of the truth are tested beside the claims that they serve.
LIMITS = {"average-oracle", "mean-oracle"}


def test_every_kind_has_a_plain_version(plain: Any) -> None:
    ours = {kind for kind, cls in POLICIES.kinds().items() if cls.__module__.startswith("hrprob.")} - LIMITS
    assert ours - POSTERIOR - BEYOND == set(plain.PLAIN)
    assert ours - POSTERIOR - BEYOND == {kind for kind, _, _ in VARIANTS.values()}


# Eager and active policies equal their loops in the paper's setting and with extensions, which is tested
# in any case; these are the variants that take longest.
SLOW = {
    "cmdp",
    "hr-ucb eager",
    "hr-ucb paper",
    "linucb",
    "linucb informative",
    "oracle",
    "random",
    "random eager",
    "sigma-max-ucb",
    "sigma-max-ucb as released",
}
STUDIES = {"greedy eager informative", "hr-ucb eager, wrong noise", "hr-ucb informative"}
# Variants that are studies elsewhere: in all worlds, or in one.
STUDIES_ELSEWHERE = {
    "cmdp arbitrary": ["sets"],
    "cmdp by users": ["alone"],
    "greedy eager": WORLDS,
    "greedy eager informative": WORLDS,
    "hr-ucb corrected": ["alone", "sets"],
    "hr-ucb eager": WORLDS,
    "hr-ucb eager paper": WORLDS,
    "hr-ucb eager, wrong noise": WORLDS,
    "linucb eager": WORLDS,
    "linucb informative": WORLDS,
    "oracle eager": WORLDS,
    "random eager": WORLDS,
    "sigma-max-ucb": ["alone"],
    "sigma-max-ucb eager": WORLDS,
    "sigma-max-ucb paper": ["line"],
}


def _marked(variant: str) -> Any:
    marks = [pytest.mark.slow] if variant in SLOW | STUDIES else []
    return pytest.param(variant, marks=[*marks, pytest.mark.study] if variant in STUDIES else marks)


@pytest.mark.optimised
@pytest.mark.parametrize("variant", [_marked(variant) for variant in (*VARIANTS, *EXTENSIONS)])
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_engine_equals_plain_loop(plain: Any, variant: str, data: Any, seed: int) -> None:
    world = ALL_VARIANTS[variant][2]
    compare(plain, data.draw(problems(world)), data.draw(policies(variant)), seed)


@pytest.mark.optimised
@pytest.mark.parametrize("growth", [pytest.param(1, marks=pytest.mark.slow), 2, 3.5])
def test_sample_set_and_estimates(plain: Any, growth: float) -> None:
    problem = hrprob.Problem(contexts=hrprob.Sphere(8), satisfaction=hrprob.UniformLevels(-1, 0))
    policy = hrprob.HRUCB(growth=growth, warmup=3)
    seed, action, samples = 5, [], []
    with double_precision():
        bound, keys = policy.bind(problem, USERS), trial_keys(seed, np.arange(TRIALS))
        carry = begin(bound, keys)
        for user in [*range(WARMUP_USERS, WARMUP_USERS + policy.warmup), *range(1, USERS + 1)]:
            arrived = arrivals(problem, keys, np.array([user], dtype=np.uint32))
            if user >= WARMUP_USERS:
                carry = warm(problem.rules, bound, keys, carry, arrived)
                continue
            carry, played = advance(problem.rules, bound, keys, carry, arrived)
            action.append(np.asarray(played.served.action[0]))
            samples.append(np.asarray(carry.learning.sample_size))
            np.testing.assert_array_equal(carry.learning.state.sample_size, carry.learning.sample_size)
    played = plain.play(policy, problem, users=USERS, trials=TRIALS, seed=seed, engine=np.array(action).T)
    np.testing.assert_array_equal(np.array(samples).T, played.samples)
    most = np.ceil(growth * (policy.warmup + np.arange(1, USERS + 1)))
    assert np.all(played.samples <= most)
    for trial, past in enumerate(played.past):
        theta, phi, V = plain.estimates(policy, problem, past)
        got = [np.asarray(leaf)[..., trial] for leaf in carry.learning.state.estimates]
        for one, other in zip(got, (theta, phi, np.linalg.inv(V)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    # The stays are long enough for the bound to bind, or this would show nothing.
    assert np.any(played.samples == most)
    assert np.any(played.samples < most) or growth == 1


def _elsewhere() -> list[Any]:
    """Every variant in a few of the worlds, in turn, and the further ones where they belong."""
    pairs = []
    for i, (variant, (_, parameters, own)) in enumerate((VARIANTS | MORE_VARIANTS | EXTENSIONS).items()):
        for j, (world, shape) in enumerate(WORLDS.items()):
            by_sets = variant == "cmdp" and shape["contexts"] != "finite"
            by_level = "with_beta" in parameters and shape["satisfaction"] == "infinite"
            chosen = (i + j) % 6 == 0 or (variant in MORE_VARIANTS and world == own)
            if chosen and not by_sets and not by_level:
                study = world in STUDIES_ELSEWHERE.get(variant, ())
                pairs.append(pytest.param(variant, world, marks=[pytest.mark.study] if study else []))
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "world"), _elsewhere())
@settings(max_examples=12)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_engine_equals_plain_loop_elsewhere(
    plain: Any, variant: str, world: str, data: Any, seed: int
) -> None:
    compare(plain, data.draw(problems(world)), data.draw(policies(variant, one_program=True)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("variant", BELIEFS)
@settings(max_examples=4)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_engine_equals_plain_loop_with_a_wrong_belief(plain: Any, variant: str, data: Any, seed: int) -> None:
    world = ALL_VARIANTS[variant][2]
    compare(plain, data.draw(problems(world)), data.draw(policies(variant, one_program=True)), seed)


def _singly() -> list[Any]:
    """Every extension with these variants: one of them in turn, and all of them as a study."""
    variants = ["hr-ucb constant", "hr-ucb eager", "sigma-max-ucb", "oracle eager"]
    long = ("oracle eager", "hidden empirical")
    return [
        pytest.param(
            variant,
            world,
            marks=[]
            if world in SINGLE and (i + j) % len(variants) == 0 and (variant, world) != long
            else [pytest.mark.study],
        )
        for j, world in enumerate(SINGLE | MORE_SINGLE)
        for i, variant in enumerate(variants)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "world"), _singly())
@settings(max_examples=10)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_engine_equals_plain_loop_with_one_extension(
    plain: Any, variant: str, world: str, data: Any, seed: int
) -> None:
    compare(plain, data.draw(problems(world)), data.draw(policies(variant, one_program=True)), seed)
