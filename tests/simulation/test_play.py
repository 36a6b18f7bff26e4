"""One policy on one block of trials: pieces, stops, observers, warm-up users."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.policies.base import Seen
from hrprob.simulation import schedule as schedules
from hrprob.simulation.play import Piece, Play, play_block
from hrprob.simulation.programs import advance, warm
from hrprob.simulation.schedule import Schedule

PROBLEM = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.9], contexts=hrprob.Ball(actions=3))
USERS, TRIALS, SEED = 20, 3, 2
POLICY = hrprob.Greedy(warmup=2)


def keep_stay(seen: Seen, state: Any) -> tuple[jax.Array, jax.Array]:
    """Keep the rounds played and the size of the sample set."""
    return seen.played, state.sample_size


def play(policy: hrprob.Policy = POLICY, **options: Any) -> tuple[list[Piece], list[Any]]:
    """Return the pieces, and the state after each."""
    with double_precision():
        keys, bound = trial_keys(SEED, np.arange(TRIALS)), policy.bind(PROBLEM, USERS)
        schedule = Schedule(PROBLEM, users=USERS, trials=range(TRIALS), warmup=policy.warmup)
        playing, pieces, states = Play(PROBLEM, bound, keys, USERS, **options), [], []
        for _, piece in play_block(PROBLEM, playing, keys, schedule, TRIALS):
            pieces.append(piece)
            states.append(jax.tree.map(np.asarray, playing.state))
    return pieces, states


@pytest.fixture(scope="module")
def whole() -> tuple[Piece, Any]:
    pieces, states = play(observe=keep_stay)
    assert [piece.users for piece in pieces] == [range(1, USERS + 1)]
    return pieces[0], states[0]


def test_a_play_is_a_simulation(whole: tuple[Piece, Any]) -> None:
    run = hrprob.simulate(PROBLEM, POLICY, users=USERS, trials=TRIALS, seed=SEED).isel(policy=0)
    for name in ("action", "lifetime", "regret"):
        np.testing.assert_array_equal(getattr(whole[0], name).T, run[name].values)


def test_costs_are_those_of_single_users_and_add_up_to_the_regret(whole: tuple[Piece, Any]) -> None:
    np.testing.assert_allclose(np.cumsum(whole[0].cost, axis=0), whole[0].regret, rtol=1e-12)


def test_pieces_end_at_stops_and_change_nothing(whole: tuple[Piece, Any]) -> None:
    pieces, states = play(observe=keep_stay, stops=[7, 3])
    assert [piece.users for piece in pieces] == [range(1, 4), range(4, 8), range(8, USERS + 1)]
    for name in ("action", "lifetime", "cost", "regret"):
        joined = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(whole[0], name))
    jax.tree.map(np.testing.assert_array_equal, states[-1], whole[1])
    for piece, state in zip(pieces, states, strict=True):
        np.testing.assert_array_equal(piece.observed[1][-1], state.sample_size)


def test_an_observer_sees_the_stay_and_the_state_after_it(whole: tuple[Piece, Any]) -> None:
    played, samples = whole[0].observed
    np.testing.assert_array_equal(played, whole[0].lifetime)
    np.testing.assert_array_equal(samples[-1], whole[1].sample_size)
    assert np.all(np.diff(samples, axis=0) >= 0)
    # The two warm-up users are in the sample set already.
    assert np.all(samples[0] >= 3)


def test_nothing_can_be_observed_of_a_stay_under_several_actions() -> None:
    with pytest.raises(InvalidInput, match="set eager = false"):
        play(hrprob.Greedy(eager=True), observe=keep_stay)


@pytest.mark.slow
@pytest.mark.parametrize("eager", [False, True])
def test_a_warm_up_longer_than_a_chunk(monkeypatch: pytest.MonkeyPatch, eager: bool) -> None:
    policy = hrprob.Greedy(warmup=20, eager=eager)
    (whole,), _ = play(policy)
    monkeypatch.setattr(schedules, "MOST_CONTEXT_NUMBERS", 1)
    pieces, _ = play(policy)
    assert [piece.users for piece in pieces] == [range(1, 13), range(13, USERS + 1)]
    for name in ("action", "lifetime", "regret"):
        joined = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(whole, name))


def test_policies_with_and_without_warm_up_users_share_a_program() -> None:
    play(hrprob.Greedy())
    serving, warming = advance.count, warm.count
    play(hrprob.Greedy(warmup=3))
    assert advance.count == serving
    assert warm.count <= warming + 1
    keys = trial_keys(SEED, np.arange(TRIALS))
    schedule = Schedule(PROBLEM, users=USERS, trials=range(TRIALS), warmup=2)
    counts = []
    for policy in (hrprob.Greedy(), POLICY):
        with double_precision():
            counts.append(
                len(Play(PROBLEM, policy.bind(PROBLEM, USERS), keys, USERS).programs(PROBLEM, schedule))
            )
    assert counts == [1, 2]


@pytest.mark.slow
def test_programs_that_were_compiled_before_are_those_that_play() -> None:
    policy = hrprob.Greedy(warmup=2)
    with double_precision():
        keys, bound = trial_keys(SEED, np.arange(TRIALS)), policy.bind(PROBLEM, 2 * USERS)
        schedule = Schedule(PROBLEM, users=2 * USERS, trials=range(TRIALS), warmup=2)
        playing = Play(PROBLEM, bound, keys, 2 * USERS)
        for compile_one in playing.programs(PROBLEM, schedule):
            compile_one().result()
        counts = advance.count, warm.count
        for _ in play_block(PROBLEM, playing, keys, schedule, TRIALS):
            pass
    assert (advance.count, warm.count) == counts
