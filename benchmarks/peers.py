"""An ordinary contextual bandit, in which everybody leaves after one round: other libraries on the same users.

The libraries keep one regression per arm on a context that all arms share. hrprob has one regression on a context per action, so
action a gets the user's context in block a of its own, d = arms × features, and the estimates are the same numbers. All
meet the same contexts; hrprob draws its own noise, of the same standard deviation. Two problems: 5 arms, on which regrets are compared (hrprob's d is 20 there), and
20 actions of d = 4, on which only costs are (every library computes 20 indices of 4 features; hrprob's share their θ).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import measured, second

__all__ = ["LIBRARIES", "run"]

ARMS, FEATURES, USERS, TRIALS = 5, 4, 2000, 20
_SD = 0.3


class Users(NamedTuple):
    """A problem of arms with a regression each, and who comes."""

    weights: np.ndarray  # (arms, features)
    contexts: np.ndarray  # (users, features), of norm 1
    noise: np.ndarray  # (users,)

    @classmethod
    def drawn(cls, arms: int, users: int, seed: int) -> Users:
        """Return random users of one fixed problem."""
        weights = np.random.default_rng(1).normal(size=(arms, FEATURES))
        weights *= 0.9 / np.linalg.norm(weights)
        rng = np.random.default_rng([2, seed])
        contexts = rng.normal(size=(users, FEATURES))
        return cls(
            weights, contexts / np.linalg.norm(contexts, axis=1, keepdims=True), _SD * rng.normal(size=users)
        )


class Library(NamedTuple):
    """A policy of another library: what to call for a decision and for an update."""

    decide: Callable[[np.ndarray], int]
    update: Callable[[np.ndarray, int, float], Any]


def _mabwiser(policy: str) -> Callable[[int], Library]:
    def make(arms: int) -> Library:
        from mabwiser.mab import MAB, LearningPolicy

        rule = getattr(LearningPolicy, policy)(alpha=1.0, l2_lambda=1.0)
        mab = MAB(list(range(arms)), rule, seed=0)
        # It must be fitted before it decides; one round of every arm on a context of zeros adds nothing.
        mab.fit(np.arange(arms), np.zeros(arms), np.zeros((arms, FEATURES)))
        return Library(lambda x: mab.predict(x[None]), lambda x, arm, r: mab.partial_fit([arm], [r], x[None]))

    return make


def _river(arms: int) -> Library:
    from river.bandit import LinUCBDisjoint

    policy, numbers = LinUCBDisjoint(alpha=1.0, beta=1.0, seed=0), list(range(arms))
    named = lambda x: dict(enumerate(x.tolist()))  # noqa: E731
    return Library(
        lambda x: policy.pull(numbers, context=named(x)),
        lambda x, arm, r: policy.update(arm, named(x), r),
    )


def _bayesianbandits(arms: int) -> Library:
    from bayesianbandits import Arm, ContextualAgent, NormalRegressor, ThompsonSampling

    made = [Arm(arm, learner=NormalRegressor(alpha=1.0, beta=1.0)) for arm in range(arms)]
    agent = ContextualAgent(made, ThompsonSampling(), random_seed=0)

    def update(x: np.ndarray, arm: int, r: float) -> None:
        agent.select_for_update(arm).update(x[None], np.array([r]))

    return Library(lambda x: agent.pull(x[None])[0], update)


def _contextualbandits(arms: int) -> Library:
    from contextualbandits.online import LinUCB

    # It takes no seed of 0.
    policy = LinUCB(nchoices=arms, alpha=1.0, lambda_=1.0, fit_intercept=False, random_state=1)
    policy.fit(np.zeros((arms, FEATURES)), np.arange(arms), np.zeros(arms))
    return Library(
        lambda x: int(policy.predict(x[None])[0]),
        lambda x, arm, r: policy.partial_fit(x[None], np.array([arm]), np.array([r])),
    )


LIBRARIES: dict[str, Callable[[int], Library]] = {
    "MABWiser LinUCB": _mabwiser("LinUCB"),
    "MABWiser LinTS": _mabwiser("LinTS"),
    "river LinUCBDisjoint": _river,
    "bayesianbandits Thompson": _bayesianbandits,
    "contextualbandits LinUCB": _contextualbandits,
}


def run() -> dict[str, Any]:
    """Measure, and return what the tables need."""
    libraries: dict[str, Any] = {}
    for name, make in LIBRARIES.items():
        try:
            libraries[name] = {
                "5 arms": _library(make, ARMS, trials=5),
                "20 actions": _library(make, 20, trials=1),
            }
        except ImportError as error:
            libraries[name] = {"missing": str(error)}
    return {
        "libraries": libraries,
        "hrprob": {
            "5 arms": {name: _hrprob_blocks(policy) for name, policy in _policies().items()},
            "20 actions": {name: _hrprob_actions(policy) for name, policy in _policies().items()},
            "live": {name: _live(policy) for name, policy in _live_policies().items()},
        },
    }


def _library(make: Callable[[int], Library], arms: int, trials: int) -> dict[str, float]:
    """Return microseconds per user, median and 99th percentile of decision and update, and the regret."""
    regrets, times = [], []

    def play(seed: int) -> None:
        users, (decide, update), regret = Users.drawn(arms, USERS, seed), make(arms), 0.0
        for x, noise in zip(users.contexts, users.noise, strict=True):
            means = users.weights @ x
            start = time.perf_counter()
            arm = decide(x)
            update(x, arm, float(means[arm] + noise))
            times.append(time.perf_counter() - start)
            regret += means.max() - means[arm]
        regrets.append(regret)

    cost = measured(lambda: [play(seed) for seed in range(trials)])
    return {
        "microseconds": cost.cpu / trials / USERS * 1e6,
        "median": float(np.median(times)) * 1e6,
        "p99": float(np.quantile(times, 0.99)) * 1e6,
        **_mean(np.array(regrets)),
    }


def _mean(regrets: np.ndarray) -> dict[str, float]:
    if len(regrets) < 2:
        return {"regret": float(regrets.mean())}
    return {"regret": float(regrets.mean()), "regret_se": float(regrets.std(ddof=1) / np.sqrt(len(regrets)))}


def _policies() -> dict[str, Any]:
    import hrprob

    return {
        "linucb": hrprob.LinUCB(alpha=1.0, ridge=1.0),
        "thompson, variance known": hrprob.ThompsonKnownVariance(),
    }


def _hrprob_blocks(policy: Any) -> dict[str, float]:
    """Return the cost and the regret on the contexts that the libraries meet."""
    import hrprob

    def play(seed: int) -> float:
        problem = _block_problem(seed)
        return float(
            hrprob.simulate(problem, policy, users=USERS, trials=1, seed=seed, keep=USERS).regret[0, 0, -1]
        )

    play(0)
    regrets: list[float] = []
    cost = measured(lambda: regrets.extend(play(seed) for seed in range(5)))
    return {"microseconds": cost.cpu / 5 / USERS * 1e6, **_mean(np.array(regrets))}


def _block_problem(seed: int) -> Any:
    """Return the problem of 5 arms as one regression: the user's context in the block of each action."""
    import hrprob

    users = Users.drawn(ARMS, USERS, seed)
    blocks = np.einsum("ab,uk->uabk", np.eye(ARMS), users.contexts).reshape(USERS, ARMS, -1)
    return hrprob.Problem(
        theta=users.weights.reshape(-1),
        phi=np.zeros(ARMS * FEATURES),
        link=hrprob.Affine(slope=1.0, offset=_SD**2),
        bounds=hrprob.Bounds(theta=1.0, phi=_SD**2),
        contexts=hrprob.ContextSequence(blocks),
        satisfaction=hrprob.InfiniteLevels(),
        objective=hrprob.Reward(),
    )


def _hrprob_actions(policy: Any) -> dict[str, float]:
    """Return the cost per user on 20 actions of d = 4, in simulation."""
    import hrprob

    problem = hrprob.Problem(satisfaction=hrprob.InfiniteLevels(), objective=hrprob.Reward())
    users = 30000
    play = lambda: hrprob.simulate(problem, policy, users=users, trials=TRIALS, keep=1000, workers=1)  # noqa: E731
    first, later = second(play)
    return {"microseconds": later.cpu / users / TRIALS * 1e6, "compilation": first.cpu - later.cpu}


def _live_policies() -> dict[str, Any]:
    import hrprob

    return {"hr-ucb": hrprob.HRUCB(), "linucb": hrprob.LinUCB(), "greedy": hrprob.Greedy()}


def _live(policy: Any) -> dict[str, float]:
    """Return median and 99th percentile of a decision with its update, one user at a time."""
    import hrprob

    agent = hrprob.Agent(policy, dimension=FEATURES, actions=20)
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(USERS, 20, FEATURES))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    outcomes, times = rng.normal(size=USERS), []
    for x, outcome in zip(contexts, outcomes.tolist(), strict=True):
        start, cpu = time.perf_counter(), time.process_time()
        agent.arrive(x, beta=float("inf"))
        agent.observe(outcome)
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    # CPU time is not disturbed by what else wants a core, and includes Python's garbage collection.
    wall, cpu_seconds = np.array(times[100:]).T * 1e6
    p99, cpu_p99 = np.quantile(wall, 0.99), np.quantile(cpu_seconds, 0.99)
    return {"median": float(np.median(wall)), "p99": float(p99), "cpu_p99": float(cpu_p99)}
