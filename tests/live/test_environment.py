"""The environment of Gymnasium: its contract, and that it plays what the engine plays."""

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput

gymnasium = pytest.importorskip("gymnasium")
environment = pytest.importorskip("hrprob.live.environment")

PROBLEM = hrprob.Problem(theta=[0.5, 0.2], phi=[0.4, -0.3], satisfaction=hrprob.UniformLevels(-2.0, 1.0))

FOUR = hrprob.Problem(
    theta=[0.1, 0.2, 0.3, 0.45],
    phi=[-0.5, 0.3, 0.0, 0.2],
    contexts=hrprob.Finite([0.9 * np.eye(4)]),
    satisfaction=hrprob.UniformLevels(-1.0, 0.5),
)


def test_it_passes_the_checks_of_gymnasium():
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make("hrprob/Reneging-v0", problem=PROBLEM).unwrapped)


def test_an_agent_in_it_does_what_the_engine_does():
    users = 60
    run = hrprob.simulate(PROBLEM, hrprob.HRUCB(growth=2), users=users, trials=1, seed=4)
    agent = hrprob.Agent(hrprob.HRUCB(growth=2), dimension=2, actions=20, users=users)
    env = gymnasium.make("hrprob/Reneging-v0", problem=PROBLEM)
    served = environment.serve(env, agent, users, seed=4)
    assert served.tolist() == run.lifetime.isel(policy=0, trial=0).values.astype(int).tolist()
    # Stays longer than the noise that is drawn at first are among them.
    assert served.max() > 16


@pytest.mark.parametrize("levels", [hrprob.HiddenLevels(), hrprob.RedrawnLevels()])
def test_hidden_levels_are_not_observed(levels):
    env = environment.RenegingEnv(PROBLEM.replace(satisfaction=levels), reward="outcome")
    observation, _ = env.reset(seed=1)
    assert set(observation) == {"contexts"}
    total = rounds = 0
    for _ in range(20):
        left = False
        while not left:
            _, reward, left, truncated, info = env.step(0)
            assert (reward, truncated) == (info["outcome"], False)
            total, rounds = total + reward, rounds + 1
        with pytest.raises(InvalidInput, match="`step` must follow `reset`"):
            env.step(0)
        env.reset()
    assert rounds > 20


def test_it_is_vectorised():
    envs = gymnasium.make_vec("hrprob/Reneging-v0", num_envs=3, problem=PROBLEM)
    observation, _ = envs.reset(seed=[5, 6, 5])
    assert observation["contexts"].shape == (3, 20, 2)
    np.testing.assert_array_equal(observation["contexts"][0], observation["contexts"][2])
    _, reward, left, _, info = envs.step(np.zeros(3, int))
    assert reward.tolist() == [1.0] * 3
    assert left[0] == left[2] == (info["outcome"][0] < observation["beta"][0, 0])
    envs.close()


def test_wrong_use_is_named():
    with pytest.raises(InvalidInput, match="`reward` must be one of"):
        environment.RenegingEnv(PROBLEM, reward="lifetime")
    with pytest.raises(InvalidInput, match="`problem` must be a problem"):
        environment.RenegingEnv("paper")
    env = environment.RenegingEnv(PROBLEM)
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match="`action` must be a whole number from 0 to 19"):
        env.step(20)


def test_an_agent_of_another_library_learns():
    bandit = pytest.importorskip("river.bandit")
    env, users = gymnasium.make("hrprob/Reneging-v0", problem=FOUR), 1200

    def play(choose, learn):
        rounds = np.zeros(users)
        for user in range(users):
            observation, _ = env.reset(seed=1 if user == 0 else None)
            context = {"one": 1.0, "level": float(observation["beta"][0])}
            action, left = choose(context), False
            while not left:
                _, reward, left, _, _ = env.step(action)
                rounds[user] += reward
            learn(action, context, rounds[user])
        return rounds

    linucb, rng = bandit.LinUCBDisjoint(alpha=1.0, seed=0), np.random.default_rng(0)
    learned = play(lambda context: linucb.pull(range(4), context=context), linucb.update)
    gain = learned - play(lambda context: int(rng.integers(4)), lambda *_: None)
    # Paired by user; three standard errors above 0 happen to one of 740 agents that learn nothing.
    assert gain.mean() > 3.0 * gain.std(ddof=1) / np.sqrt(users)
