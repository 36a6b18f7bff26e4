"""The engine against the plain loop of plain.py: every action, every lifetime, the regret."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, trial_keys
from hrprob.policies import POLICIES
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin

# The machine code that users run is what is compared.
pytestmark = pytest.mark.optimised

USERS, TRIALS = 30, 2

# Shapes and kinds are part of a compiled program (seconds each), numbers are not: few shapes, many numbers.
WORLDS = {
    "sphere": {"d": 4, "actions": 8, "contexts": "sphere", "satisfaction": "uniform"},
    "ball": {"d": 2, "actions": 5, "contexts": "ball", "satisfaction": "fixed"},
    "wide": {"d": 6, "actions": 3, "contexts": "ball", "satisfaction": "uniform"},
    "sets": {"d": 3, "actions": 4, "contexts": "finite", "satisfaction": "uniform"},
    "line": {"d": 1, "actions": 3, "contexts": "finite", "satisfaction": "infinite"},
    "alone": {"d": 5, "actions": 1, "contexts": "sphere", "satisfaction": "fixed"},
}
# The extensions, several at a time; all else is as in the paper.
PAPER = {"d": 4, "actions": 6, "contexts": "sphere", "satisfaction": "uniform"}
EXTENDED = {
    "hidden": PAPER | {"satisfaction": "hidden uniform", "noise": "student-t", "objective": "reward"},
    "redrawn": PAPER | {"satisfaction": "redrawn uniform", "noise": "truncated", "objective": "threshold"},
    "drifting": PAPER
    | {"contexts": "drifting", "satisfaction": "sequence", "noise": "mixture", "objective": "mean-variance"},
    "withheld": PAPER | {"contexts": "withholding", "satisfaction": "infinite", "objective": "reward"},
}
# Each by itself.
SINGLE = {
    "student-t": PAPER | {"noise": "student-t"},
    "truncated": PAPER | {"noise": "truncated"},
    "mixture": PAPER | {"noise": "mixture"},
    "hidden uniform": PAPER | {"satisfaction": "hidden uniform"},
    "hidden normal": PAPER | {"satisfaction": "hidden normal"},
    "hidden empirical": PAPER | {"satisfaction": "hidden empirical"},
    "redrawn normal": PAPER | {"satisfaction": "redrawn normal"},
    "reward": PAPER | {"objective": "reward"},
    "mean-variance": PAPER | {"objective": "mean-variance"},
    "threshold": PAPER | {"objective": "threshold"},
    "drifting contexts": PAPER | {"contexts": "drifting"},
    "withheld contexts": PAPER | {"contexts": "withholding"},
    "context sequence": PAPER | {"contexts": "sequence"},
    "context function": PAPER | {"contexts": "function"},
    "level function": PAPER | {"satisfaction": "function"},
}
# Further ones, each by itself, as studies only.
MORE_SINGLE = {
    "redrawn uniform": PAPER | {"satisfaction": "redrawn uniform"},
    "redrawn empirical": PAPER | {"satisfaction": "redrawn empirical"},
    "infinite": PAPER | {"satisfaction": "infinite", "objective": "reward"},
    "normal levels": PAPER | {"satisfaction": "normal"},
    "empirical levels": PAPER | {"satisfaction": "empirical"},
    "level sequence": PAPER | {"satisfaction": "sequence"},
}

numbers = st.floats  # with bounds: neither NaN nor infinity
warmups = st.integers(0, 3)
growths = st.one_of(st.integers(1, 6), numbers(1, 6))
ridges = numbers(0.05, 5)
deltas = numbers(0.01, 0.9)
maxima = st.one_of(st.none(), numbers(0.5, 6))


def _with_radius(radius: str, **more: Any) -> dict[str, Any]:
    width = {"xi": numbers(0, 30)} if radius == "constant" else {}
    constants = {name: numbers(0.1, 3) for name in ("c1", "c2", "c3", "c4")}
    return {
        "radius": st.just(radius),
        "growth": growths,
        "ridge": ridges,
        "delta": deltas,
        "variance_max": maxima,
        **constants,
        **width,
        **more,
    }


EITHER_GROWTH = st.one_of(st.none(), growths)
GLSE = {"growth": EITHER_GROWTH, "ridge": ridges, "variance_floor": numbers(0.001, 0.3)}
RIDGE = {"growth": EITHER_GROWTH, "ridge": ridges, "alpha": numbers(0, 3)}
EAGER = {"eager": st.just(True)}

# Every registered kind and every option that is part of a program: name → kind, parameters, world.
VARIANTS = {
    "hr-ucb released": ("hr-ucb", _with_radius("released"), "sphere"),
    "hr-ucb constant": ("hr-ucb", _with_radius("constant"), "sphere"),
    "hr-ucb paper": ("hr-ucb", _with_radius("paper"), "wide"),
    "hr-ucb eager": ("hr-ucb", _with_radius("released", **EAGER), "ball"),
    "greedy": ("greedy", GLSE, "sets"),
    "linucb": ("linucb", RIDGE, "line"),
    "linucb without ridge": ("linucb", RIDGE | {"ridge": st.just(0)}, "line"),
    "sigma-max-ucb": ("sigma-max-ucb", _with_radius("released", divide_by=st.just("sigma")), "ball"),
    "sigma-max-ucb as released": (
        "sigma-max-ucb",
        _with_radius("constant", divide_by=st.just("variance")),
        "ball",
    ),
    "cmdp": ("cmdp", {"partition": st.just("sets"), "discount": numbers(0.1, 0.99)}, "sets"),
    "oracle": ("oracle", {}, "sphere"),
    "random": ("random", {}, "ball"),
    "random eager": ("random", EAGER, "ball"),
}
MORE_VARIANTS = {
    "hr-ucb corrected": ("hr-ucb", _with_radius("corrected"), "sets"),
    "hr-ucb eager paper": ("hr-ucb", _with_radius("paper", **EAGER), "sets"),
    "greedy eager": ("greedy", GLSE | EAGER, "sphere"),
    "linucb eager": ("linucb", RIDGE | EAGER, "sets"),
    "sigma-max-ucb paper": ("sigma-max-ucb", _with_radius("paper"), "line"),
    "sigma-max-ucb eager": ("sigma-max-ucb", _with_radius("corrected", **EAGER), "sphere"),
    "cmdp by users": (
        "cmdp",
        {"cells": st.just(2), "tries": st.just("users"), "eager": st.just(False)},
        "line",
    ),
    "cmdp with levels": ("cmdp", {"cells": st.just(4), "with_beta": st.just(True)}, "sphere"),
    "cmdp arbitrary": ("cmdp", {"partition": st.just("arbitrary"), "cells": st.just(3)}, "ball"),
    "oracle eager": ("oracle", EAGER, "sphere"),
}
INFORMATIVE = {"samples": st.just("informative")}
WRONG = {"noise": st.just({"kind": "mixture", "weight": 0.2, "gap": 1.5})}
EXTENSIONS = {
    "hr-ucb eager, wrong noise": ("hr-ucb", _with_radius("constant", **EAGER, **WRONG), "hidden"),
    "hr-ucb informative": ("hr-ucb", _with_radius("constant", **INFORMATIVE), "redrawn"),
    "greedy eager informative": ("greedy", GLSE | EAGER | INFORMATIVE | {"growth": growths}, "drifting"),
    "linucb informative": ("linucb", RIDGE | INFORMATIVE | {"growth": growths}, "withheld"),
}
UNIFORM = {"kind": "uniform", "low": -1.0, "high": 1.0}
# What the README of the extensions compares with: policies that assume other levels or another objective.
BELIEFS = {
    "hr-ucb, mean level": (
        "hr-ucb",
        _with_radius(
            "constant",
            satisfaction=st.just({"kind": "hidden", "of": {"kind": "empirical", "levels": [0.0]}}),
        ),
        "hidden uniform",
    ),
    "hr-ucb, level kept": (
        "hr-ucb",
        _with_radius("constant", satisfaction=st.just({"kind": "hidden", "of": UNIFORM})),
        "redrawn uniform",
    ),
    "greedy eager, level not seen": (
        "greedy",
        GLSE | EAGER | {"satisfaction": st.just({"kind": "redrawn", "of": UNIFORM})},
        "sphere",
    ),
    "greedy for lifetime": ("greedy", GLSE | {"objective": st.just("lifetime")}, "reward"),
    "sigma-max-ucb for reward": (
        "sigma-max-ucb",
        _with_radius("constant", objective=st.just("reward")),
        "mean-variance",
    ),
}
ALL_VARIANTS = VARIANTS | MORE_VARIANTS | EXTENSIONS | BELIEFS


def turning(key: Any, user: Any) -> Any:
    """Contexts that a user might write."""
    angles = 0.1 * user + jax.random.uniform(key, (6, 1)) + jnp.arange(4.0)
    return 0.5 * jnp.cos(angles)


def rising(key: Any, user: Any) -> Any:
    """Levels that a user might write."""
    return -1.0 + jax.random.uniform(key) * jnp.minimum(user / 20.0, 1.0)


@st.composite
def problems(draw: Any, world: str) -> hrprob.Problem:
    """Problems of one shape. The least variance is 0.4, so that no stay is longer than thousands."""
    shape = {"noise": "normal", "objective": "lifetime"} | (WORLDS | EXTENDED | SINGLE | MORE_SINGLE)[world]
    d, actions = shape["d"], shape["actions"]
    slope, offset = draw(numbers(0.3, 2)), draw(numbers(0.5, 3))
    phi_bound = (offset - 0.4) / slope
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def within(bound: float) -> np.ndarray:
        direction = rng.normal(size=d)
        return direction / np.linalg.norm(direction) * bound * draw(numbers(0, 1))

    low = draw(numbers(-1, 1))
    uniform = hrprob.UniformLevels(low, draw(numbers(low, 2)))
    normal = hrprob.NormalLevels(low, draw(numbers(0.05, 0.5)))
    levels = hrprob.EmpiricalLevels(rng.uniform(low, 2, size=7))
    sets = rng.normal(size=(3, actions, d))
    sets *= rng.uniform(size=(3, actions, 1)) / np.linalg.norm(sets, axis=2, keepdims=True)
    return hrprob.Problem(
        theta=within(1.0),
        phi=within(phi_bound),
        link=hrprob.Affine(slope, offset),
        bounds=hrprob.Bounds(1.0, phi_bound),
        noise={
            "normal": hrprob.Normal(),
            "student-t": hrprob.StudentT(draw(numbers(2.5, 30))),
            # Wide enough for every user to leave some day.
            "truncated": hrprob.TruncatedNormal(draw(numbers(4, 6))),
            "mixture": hrprob.Mixture(draw(numbers(0.1, 0.9)), draw(numbers(0, 1.9)), draw(numbers(0.5, 2))),
        }[shape["noise"]],
        objective={
            "lifetime": hrprob.Lifetime(),
            "reward": hrprob.Reward(),
            "mean-variance": hrprob.MeanVariance(draw(numbers(0, 0.5))),
            "threshold": hrprob.Threshold(draw(numbers(-1, 1))),
        }[shape["objective"]],
        contexts={
            "sphere": lambda: hrprob.Sphere(actions),
            "ball": lambda: hrprob.Ball(actions),
            "finite": lambda: hrprob.Finite(sets),
            "sequence": lambda: hrprob.ContextSequence(sets),
            "function": lambda: hrprob.ContextFunction(turning, actions),
            "drifting": lambda: hrprob.Drifting(actions, draw(numbers(0, 4)), draw(numbers(2, 100))),
            "withholding": lambda: hrprob.Withholding(actions, draw(st.integers(0, USERS)), 1),
        }[shape["contexts"]](),
        satisfaction={
            "uniform": uniform,
            "normal": normal,
            "empirical": levels,
            "fixed": hrprob.FixedLevels(low),
            "infinite": hrprob.InfiniteLevels(),
            "sequence": hrprob.LevelSequence(rng.uniform(low, 2, size=7)),
            "function": hrprob.LevelFunction(rising),
            "hidden uniform": hrprob.HiddenLevels(uniform),
            "hidden normal": hrprob.HiddenLevels(normal),
            "hidden empirical": hrprob.HiddenLevels(levels),
            "redrawn uniform": hrprob.RedrawnLevels(uniform),
            "redrawn normal": hrprob.RedrawnLevels(normal),
            "redrawn empirical": hrprob.RedrawnLevels(levels),
        }[shape["satisfaction"]],
    )


def policies(variant: str, one_program: bool = False) -> st.SearchStrategy[hrprob.Policy]:
    """Policies of a variant; all of ``one_program`` if asked for.

    A run without warm-up users, and a policy without ``growth``, are programs of their own. One program then
    has one of these, a different one for different variants.
    """
    kind, parameters, _ = ALL_VARIANTS[variant]
    given = {"warmup": warmups} | parameters
    if one_program:
        number = list(ALL_VARIANTS).index(variant)
        given["warmup"] = st.just(0) if number % 3 == 0 else st.integers(1, 3)
        if parameters.get("growth") is EITHER_GROWTH:
            given["growth"] = st.none() if number % 2 else growths
    return st.builds(POLICIES.kinds()[kind], **given)


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
    "ids",
    "thompson",
    "thompson-homoscedastic",
    "thompson-known-variance",
}
# These have plain versions of their own, in tests/policies/reference.
BEYOND = {
    "contextual-ids",
    "epsilon-greedy",
    "explore-commit",
    "greedy-first",
    "hr-ucb-exact",
    "hr-ucb-weighted",
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


@pytest.mark.parametrize("variant", [_marked(variant) for variant in (*VARIANTS, *EXTENSIONS)])
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_engine_equals_plain_loop(plain: Any, variant: str, data: Any, seed: int) -> None:
    world = ALL_VARIANTS[variant][2]
    compare(plain, data.draw(problems(world)), data.draw(policies(variant)), seed)


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
            carry, played = advance(problem.rules, bound, keys, carry, arrived, warms=True)
            if user >= WARMUP_USERS:
                continue
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
