"""An agent on real outcomes is the engine on simulated ones."""

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, arrivals
from tests.helpers import make


@pytest.mark.parametrize(
    "policy",
    [
        hrprob.HRUCB(growth=2),
        hrprob.HRUCB(growth=2, eager=True),
        pytest.param(hrprob.Greedy(), marks=pytest.mark.slow),
        pytest.param(hrprob.LinUCB(), marks=pytest.mark.slow),
    ],
)
def test_agent_acts_as_the_engine_does(policy):
    users = 60
    problem = hrprob.Problem(theta=[0.5, 0.2], phi=[0.4, -0.3], satisfaction=hrprob.UniformLevels(0.0, 1.0))
    run = hrprob.simulate(problem, policy, users=users, trials=1, seed=4).isel(policy=0, trial=0)
    with double_precision():
        came = arrivals(problem, trial_keys(4, np.arange(1)), np.arange(1, users + 1))
        came = jax.tree.map(np.asarray, came)
    agent = hrprob.Agent(policy, dimension=2, actions=20, users=users)
    for user in range(users):
        action = agent.arrive(came.contexts[user, :, :, 0], float(came.beta[user, 0]))
        assert action == int(run.action[user])
        for played in range(BLOCK_OF_ROUNDS):
            outcome = came.mean[user, action, 0] + came.sd[user, action, 0] * came.noise[user, played, 0]
            action = agent.observe(float(outcome))
            if action is None:
                assert played + 1 == int(run.lifetime[user])
                break
        else:
            pytest.fail("a stay was longer than the noise drawn for this test: take another seed")


def test_wrong_use_is_named():
    agent = hrprob.Agent(hrprob.Greedy(), dimension=2, actions=2)
    with pytest.raises(InvalidInput, match="`observe` must follow `arrive`"):
        agent.observe(0.0)
    with pytest.raises(InvalidInput, match="norms of at most 1"):
        agent.arrive([[2.0, 0.0], [0.0, 1.0]], beta=0.0)
    with pytest.raises(InvalidInput, match="finite array"):
        agent.arrive([[1.0, 0.0]], beta=0.0)
    agent.arrive([[1.0, 0.0], [0.0, 1.0]], beta=0.0)
    with pytest.raises(InvalidInput, match="must wait"):
        agent.arrive([[1.0, 0.0], [0.0, 1.0]], beta=0.0)
    with pytest.raises(InvalidInput, match="outcome"):
        agent.observe(float("nan"))
    agent.leave()
    assert agent.users == 1
    with pytest.raises(InvalidInput, match="needs the truth"):
        hrprob.Agent(hrprob.Oracle(), dimension=2, actions=2)
    with pytest.raises(InvalidInput, match="needs the truth"):
        hrprob.Agent(make("thompson-known-variance", {}), dimension=2, actions=2)
    with pytest.raises(InvalidInput, match="`actions` must be 20, as of contexts"):
        hrprob.Agent(hrprob.Greedy(), dimension=2, actions=2, contexts=hrprob.Sphere(20))
    seen = hrprob.Agent(hrprob.Greedy(), dimension=1, actions=1)
    seen.arrive([[1.0]], beta=0.0)
    with pytest.raises(InvalidInput, match="`left` must be left out"):
        seen.observe(1.0, left=False)


def test_hidden_levels():
    hidden = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 0.5))
    agent = hrprob.Agent(hrprob.Greedy(), dimension=2, actions=2, satisfaction=hidden)
    with pytest.raises(InvalidInput, match="`beta` must be left out"):
        agent.arrive([[1.0, 0.0], [0.0, 1.0]], beta=0.0)
    agent.arrive([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidInput, match="`left` must be given"):
        agent.observe(0.1)
    assert agent.observe(-3.0, left=False) is not None
    assert agent.observe(3.0, left=True) is None
    assert (agent.users, agent.samples) == (1, 2)


def test_what_is_taken_for_granted():
    agent = hrprob.Agent(
        hrprob.Greedy(), dimension=2, actions=2, noise=hrprob.StudentT(df=5.0), objective=hrprob.Reward()
    )
    assert agent.policy.known.noise.kind == "student-t"
    assert agent.policy.known.objective.kind == "reward"
