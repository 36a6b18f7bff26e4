"""The extensions in the engine: what policies see, what enters the sample set, and what policies believe."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, trial_keys
from hrprob._core.records import with_fields
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin, warm
from tests.simulation.extension_cases import ERRORS, NOISES, WORLDS


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
        carry = warm(problem.rules, bound, keys, begin(bound, keys), arrived, 0, 2)
        carry, played = advance(problem.rules, bound, keys, carry, arrived, 2)
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
