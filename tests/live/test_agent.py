"""An agent on real outcomes is the engine on simulated ones."""

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.live import decisions
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


def test_assumed_noise_and_objective_can_be_given():
    agent = hrprob.Agent(
        hrprob.Greedy(), dimension=2, actions=2, noise=hrprob.StudentT(df=5.0), objective=hrprob.Reward()
    )
    assert agent.policy.known.noise.kind == "student-t"
    assert agent.policy.known.objective.kind == "reward"


def agent_and_its_state():
    agent = hrprob.Agent(hrprob.Greedy(), dimension=2, actions=2)
    agent.arrive([[1.0, 0.0], [0.0, 1.0]], beta=0.0)
    return agent, (agent.users, agent.samples, agent.state)


def test_an_outcome_that_would_overflow_is_refused_and_counts_nothing():
    agent, before = agent_and_its_state()
    for outcome in (1e200, -1e101, [1.0], None):
        with pytest.raises(InvalidInput, match="`outcome` must lie in"):
            agent.observe(outcome)
    assert (agent.users, agent.samples, agent.state) == before
    assert agent.observe(0.5) is not None
    assert agent.samples == 1


def test_a_call_that_fails_changes_nothing(monkeypatch):
    agent, before = agent_and_its_state()

    def fail(*arguments, **options):
        raise RuntimeError("out of order")

    monkeypatch.setattr(agent._decisions, "learn", fail)
    with pytest.raises(RuntimeError):
        agent.observe(-1.0)
    assert (agent.users, agent.samples, agent.state) == before
    monkeypatch.undo()
    assert agent.observe(-1.0) is None
    assert (agent.users, agent.samples) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 2**63}, "`seed` must be a whole number of at most"),
        ({"policy": hrprob.Greedy}, "`policy` must be a policy, .*call it: Greedy"),
        ({"policy": "greedy"}, "`policy` must be a policy"),
        ({"users": 0}, "`users` must be"),
        ({"actions": 2.5}, "`actions` must be"),
    ],
)
def test_an_agent_that_cannot_be_made_says_why(changes, words):
    arguments = {"policy": hrprob.Greedy(), "dimension": 2, "actions": 2} | changes
    with pytest.raises(InvalidInput, match=words):
        hrprob.Agent(arguments.pop("policy"), **arguments)


def test_a_level_is_one_number():
    agent = hrprob.Agent(hrprob.Greedy(), dimension=2, actions=2)
    for beta in (np.array([0.1, 0.2]), "low", None):
        with pytest.raises(InvalidInput, match="`beta` must be a finite number"):
            agent.arrive([[1.0, 0.0], [0.0, 1.0]], beta=beta)
    assert agent.users == 0


def test_threads_wait_for_each_other():
    agent, _ = agent_and_its_state()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(agent.observe, [0.1] * 40))
    assert agent.samples == agent._stays[None].sampled == 40


@pytest.mark.parametrize("eager", [False, True])
def test_everything_is_compiled_when_the_agent_is_made(eager):
    agent = hrprob.Agent(hrprob.HRUCB(growth=2, eager=eager), dimension=2, actions=2)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: (
            compiled.append(event) if event.endswith("backend_compile_duration") else None
        )
    )
    try:
        for outcome in (0.4, 0.2, -0.9):
            agent.arrive([[0.6, 0.0], [0.0, 0.6]], beta=0.0)
            while agent.observe(outcome) is not None:
                outcome -= 0.3
        agent.arrive([[0.6, 0.0], [0.0, 0.6]], beta=0.0)
        agent.leave()
    finally:
        jax.monitoring.clear_event_listeners()
    assert not compiled
    # Two agents of one kind share their programs.
    before = decisions._choose.count, decisions._learn.count
    hrprob.Agent(hrprob.HRUCB(growth=3, eager=eager), dimension=2, actions=2)
    assert (decisions._choose.count, decisions._learn.count) == before
