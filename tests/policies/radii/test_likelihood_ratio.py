"""The radius "likelihood-ratio": the policy's set is that of the data it saw, and optimism is the largest value in it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.models import Stays
from hrprob.policies import Seen
from tests.policies.problems import PROBLEM


@jax.jit
def step(bound: Any, state: Any, seen: Seen) -> Any:
    """Update a policy by a user's stay."""
    return bound.depart(bound.update(state, seen), seen.user)


def served(bound: Any, users: int, seed: int = 0) -> Any:
    """Show a policy stays of users under random actions, and return its state and the stays."""
    rng, rows = np.random.default_rng(seed), []
    state = jax.tree.map(jnp.asarray, bound.init())
    for user in range(1, users + 1):
        contexts = rng.normal(size=(5, 3))
        contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
        x, m = contexts[2], float(rng.integers(1, 5))
        r = x @ PROBLEM.theta + np.sqrt(2 + 0.8 * x @ PROBLEM.phi) * rng.normal(size=int(m))
        rows.append((x, m, r.sum(), (r**2).sum()))
        seen = Seen(
            jnp.asarray(float(user)), contexts, jnp.asarray(2), x, jnp.zeros(()), jnp.asarray(m), jnp.asarray(True),
            jnp.asarray(m), jnp.asarray(r.sum()), jnp.asarray((r**2).sum()), jnp.zeros(16),
        )  # fmt: skip
        state = step(bound, state, seen)
    return state, Stays(*(np.array(column) for column in zip(*rows, strict=True)))


@pytest.fixture(scope="module")
def played() -> Any:
    """An exact policy that has served 300 users, and the set of the same stays."""
    users = 300
    with double_precision():
        bound = hrprob.HRUCBExact(radius="likelihood-ratio", growth=None).bind(PROBLEM, users)
        # A fit is due after the last user too, so that both have the same stays.
        bound.width.due[users] = True
        state, stays = served(bound, users)
    return bound, state, hrprob.LikelihoodRatioSet(link=PROBLEM.link, bounds=PROBLEM.bounds).update(stays)


def test_the_policys_set_is_that_of_its_stays(played: Any) -> None:
    _, state, known = played
    assert float(state.width.log_q) == pytest.approx(known.log_q_.sum(), rel=1e-10)
    # Both searches end within a tenth of a standard deviation of the same maximum, from different starts.
    ours, theirs = (jax.tree.map(np.asarray, one) for one in (state.width.region, known._region))
    for name in ("theta", "phi"):
        away = getattr(ours, name) - getattr(theirs, name)
        assert float(away @ np.linalg.solve(getattr(theirs, f"{name}_covariance"), away)) < 0.02
    assert float(ours.squared_radius) == pytest.approx(float(theirs.squared_radius), abs=0.05)


def test_optimism_is_about_the_largest_lifetime_in_the_set(played: Any) -> None:
    bound, state, known = played
    rng = np.random.default_rng(9)
    contexts = rng.normal(size=(5, 3))
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    largest = jax.jit(lambda bound, *arguments: bound.width.largest_values(bound, *arguments))
    for beta in (-0.4, 0.6):
        with double_precision():
            values = largest(bound, state, contexts, beta)
        exact = np.array([known.lifetime_interval(x, beta).high for x in contexts])
        # The closed form contains the set and is a little wider; on the scale of ln h by up to a half.
        assert np.all(np.log(values) > np.log(exact) - 1e-6)
        assert np.all(np.log(values) < 1.5 * np.log(exact) + 0.05)


def test_the_radius_scales_and_only_this_one() -> None:
    with double_precision():
        bound = hrprob.HRUCB(radius="likelihood-ratio", scale=0.4).bind(PROBLEM, 60)
        bound.width.due[60] = True
        few, enough = (served(bound, users)[0].width.region for users in (10, 60))
        # Sixty users have some 150 rounds: enough for the narrow set (128·3·0.16 = 61), not for the whole one.
        rows = served(bound, 60)[1]
    known = hrprob.LikelihoodRatioSet(link=PROBLEM.link, bounds=PROBLEM.bounds).update(rows)
    quadratic = 2.0 * known._search.excess
    assert float(few.squared_radius) == 2.0
    assert float(enough.squared_radius) / 0.16 == pytest.approx(quadratic + 0.5, abs=0.5)
    assert float(known._region.squared_radius) == 2.0
    with pytest.raises(InvalidInput, match=r'`scale` must be 1 unless radius = "likelihood-ratio"'):
        hrprob.HRUCB(scale=0.4)
    with pytest.raises(InvalidInput, match="`scale` must be at least 0"):
        hrprob.HRUCB(radius="likelihood-ratio", scale=-1)


def test_another_noise_is_refused_unless_normal_is_assumed() -> None:
    heavy = PROBLEM.replace(noise=hrprob.StudentT(5.0))
    with pytest.raises(InvalidInput, match=r"`noise` must be assumed normal with radius"):
        hrprob.HRUCB(radius="likelihood-ratio").bind(heavy, 10)
    hrprob.HRUCB(radius="likelihood-ratio", noise="normal").bind(heavy, 10)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"eager": True}, {"warmup": 3}])
def test_eager_policies_and_warm_up_users_are_served_too(options: Any) -> None:
    policies = {
        "index": hrprob.HRUCB(radius="likelihood-ratio", **options),
        "exact": hrprob.HRUCBExact(radius="likelihood-ratio", **options),
    }
    result = hrprob.simulate(PROBLEM, policies, users=60, trials=2, seed=3)
    assert np.all(np.isfinite(result.regret))
    assert np.all(result.regret.diff("user") >= 0)
