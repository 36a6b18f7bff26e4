"""Many users at once, compared with a plain model of what must happen."""

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from tests.live.traffic import ACTIONS, DIMENSION, make_agent

RIDGE, GROWTH, FLOOR, OFFSET = 1.0, 2.0, 0.01, 2.0


class PlainModel:
    """Greedy on the GLSE in NumPy, with every rule of serving written out."""

    def __init__(self):
        self.rows = []  # (x, r) in the sample set of users who have left
        self.users = self.samples = 0
        self.stays = {}

    def estimates(self):
        x = np.array([x for x, _ in self.rows]).reshape(-1, DIMENSION)
        r = np.array([r for _, r in self.rows])
        inverse = np.linalg.inv(x.T @ x + RIDGE * np.eye(DIMENSION))
        theta = inverse @ x.T @ r
        return theta, inverse @ x.T @ ((r - x @ theta) ** 2 - OFFSET)

    def select(self, user, contexts, beta, offered):
        self.users += 1
        theta, phi = self.estimates()
        value = hrprob.h(contexts @ theta, np.maximum(contexts @ phi + OFFSET, FLOOR), beta)
        place = int(np.argmax(value))
        quota = GROWTH * self.users - self.samples
        budget = self.samples + quota
        self.stays[user] = {"x": contexts[place], "beta": beta, "quota": quota, "budget": budget, "rows": []}
        return offered[place], value

    def update(self, user, outcome):
        stay = self.stays[user]
        if len(stay["rows"]) < stay["quota"] and self.samples < stay["budget"]:
            stay["rows"].append((stay["x"], outcome))
            self.samples += 1
        if outcome < stay["beta"]:
            self.leave(user)
            return False
        return True

    def leave(self, user):
        self.rows += self.stays.pop(user)["rows"]


def one_interleaving(agent, seed, users=50):
    rng, plain = np.random.default_rng(seed), PlainModel()
    waiting = [f"{seed}-{number}" for number in range(users)]
    while waiting or plain.stays:
        if waiting and (rng.random() < 0.5 or not plain.stays):
            offered = sorted(rng.choice(ACTIONS, rng.integers(1, ACTIONS + 1), replace=False).tolist())
            contexts = rng.uniform(-0.5, 0.5, size=(len(offered), DIMENSION))
            user, beta = waiting.pop(), float(rng.uniform(-1, 1))
            decision = agent.select(user, contexts, beta, actions=offered)
            action, value = plain.select(user, contexts, beta, offered)
            # An exact tie may be broken by rounding.
            assert decision.action == action or np.ptp(np.sort(value)[-2:]) < 1e-9
            assert decision.probability == 1.0
            np.testing.assert_allclose(decision.lifetime, value[offered.index(action)], rtol=1e-8)
        else:
            user = str(rng.choice(sorted(plain.stays)))
            if rng.random() < 0.1:
                agent.leave(user)
                plain.leave(user)
            else:
                outcome = float(rng.normal())
                assert (agent.update(user, outcome) is not None) == plain.update(user, outcome)
        assert (agent.users, agent.samples) == (plain.users, plain.samples)
        assert sorted(agent.present) == sorted(plain.stays)
    return plain


def check_interleavings(tmp_path, seeds):
    fresh = make_agent(hrprob.Greedy(growth=GROWTH, ridge=RIDGE, variance_floor=FLOOR))
    fresh.save(tmp_path / "fresh.zip")
    for seed in seeds:
        agent = hrprob.Agent.load(tmp_path / "fresh.zip")
        plain = one_interleaving(agent, seed)
        theta, phi = plain.estimates()
        np.testing.assert_allclose(agent.state.estimates.theta, theta, atol=1e-10)
        np.testing.assert_allclose(agent.state.estimates.phi, phi, atol=1e-9)


def test_interleavings_of_fifty_users(tmp_path):
    check_interleavings(tmp_path, range(4))


@pytest.mark.study
def test_two_hundred_interleavings_of_fifty_users(tmp_path):
    check_interleavings(tmp_path, range(200))


def test_a_decision_can_be_asked_for_twice():
    agent = make_agent(hrprob.Greedy())
    first = agent.select(7, np.full((4, 3), 0.1), 0.0)
    assert agent.select(7) == first
    with pytest.raises(InvalidInput, match="`contexts` must be left out"):
        agent.select(7, np.full((4, 3), 0.1), 0.0)
    with pytest.raises(InvalidInput, match="`user` must be present, got 'ann'"):
        agent.update("ann", 0.3)
    with pytest.raises(InvalidInput, match="`user` must be text or a whole number"):
        agent.select(2.5, np.full((4, 3), 0.1), 0.0)
    with pytest.raises(InvalidInput, match="`actions` must be different numbers from 0 to 3"):
        agent.select("ann", np.full((2, 3), 0.1), 0.0, actions=[1, 1])
    assert (agent.users, agent.present) == (1, (7,))


def test_outcomes_that_come_together_count_all_or_none():
    agent = make_agent(hrprob.Greedy())
    for user in ("ann", "bob"):
        agent.select(user, np.full((4, 3), 0.1), 0.0)
    with pytest.raises(InvalidInput, match="`outcome`"):
        agent.update_many([("ann", 0.5), ("bob", -1.0), ("ann", float("nan"))])
    with pytest.raises(InvalidInput, match="`outcomes` must be"):
        agent.update_many([("ann",)])
    assert (agent.samples, agent.present) == (0, ("ann", "bob"))
    decisions = agent.update_many([("ann", 0.5), ("bob", -1.0), ("ann", 0.2)])
    assert [decision and decision.round for decision in decisions] == [2, None, 3]
    assert agent.samples == 3


@pytest.mark.parametrize(("silence", "departures"), [("censored", 0.0), ("reneged", 1.0)])
def test_silence_means_what_was_said(silence, departures):
    agent = make_agent(
        hrprob.CMDP(partition="arbitrary", cells=1, eager=False), timeout=10.0, silence=silence
    )
    agent.select("ann", np.full((4, 3), 0.1), 0.0, time=0.0)
    agent.update("ann", 0.5, time=5.0)
    agent.select("bob", np.full((4, 3), 0.1), 0.0, time=9.0)
    assert agent.expire(15.0) == ()
    assert agent.expire(15.5) == ("ann",)
    assert agent.present == ("bob",)
    assert (np.sum(np.asarray(agent.state.departures)), np.sum(np.asarray(agent.state.rounds))) == (
        departures,
        1.0 + departures,
    )
    with pytest.raises(InvalidInput, match="`timeout` must be given"):
        make_agent(hrprob.Greedy(), timeout=None).expire()


def test_warm_up_users_are_served_at_random():
    agent = make_agent(hrprob.Greedy(warmup=200))
    served = [agent.select(user, np.full((2, 3), 0.1), 0.0, actions=[1, 3]) for user in range(200)]
    assert {decision.probability for decision in served} == {0.5}
    assert all(decision.warmup for decision in served)
    # Binomial(200, ½) lies within 100 ± 4·7.1 but for a probability of 6e-5.
    assert abs(sum(decision.action == 1 for decision in served) - 100) < 29
    assert not agent.select("first", np.full((4, 3), 0.1), 0.0).warmup


@pytest.mark.parametrize("policy", [hrprob.EpsilonGreedy(epsilon=0.6, decay=0.0), hrprob.Random()])
def test_probabilities_are_frequencies(policy):
    agent, offered = make_agent(policy), [0, 2, 3]
    contexts = np.random.default_rng(1).uniform(-0.5, 0.5, size=(3, 3))
    served = [agent.select(user, contexts, 0.0, actions=offered) for user in range(900)]
    # The action is kept: in later rounds there is nothing to choose.
    assert agent.update(0, 1.0).probability == 1.0
    said = {decision.action: decision.probability for decision in served}
    assert set(said) == set(offered)
    assert sum(said.values()) == pytest.approx(1.0)
    for action, probability in said.items():
        count = sum(decision.action == action for decision in served)
        # Four standard deviations of a binomial count.
        assert abs(count - 900 * probability) < 4 * (900 * probability * (1 - probability)) ** 0.5


@pytest.mark.slow
def test_estimated_probabilities_are_frequencies():
    agent = make_agent(hrprob.ThompsonHomoscedastic(), propensity_draws=200)
    contexts = np.random.default_rng(1).uniform(-0.5, 0.5, size=(4, 3))
    served = [agent.select(user, contexts, 0.0) for user in range(600)]
    for action in range(4):
        said = [decision.probability for decision in served if decision.action == action]
        share = len(said) / len(served)
        # The count and the mean of the estimates (of 1/p: Σ 1/p̂ is unbiased for the number of users) agree.
        assert abs(np.sum(1.0 / np.array(said)) / len(served) - 1.0) < 4 * ((1 - share) / share / 600) ** 0.5
