"""Problems and policies for which the engine is compared with the plain loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import hrprob
from hrprob.policies import POLICIES

__all__ = [
    "ALL_VARIANTS",
    "BELIEFS",
    "EXTENSIONS",
    "MORE_SINGLE",
    "MORE_VARIANTS",
    "SINGLE",
    "TRIALS",
    "USERS",
    "VARIANTS",
    "WORLDS",
    "policies",
    "problems",
]

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
