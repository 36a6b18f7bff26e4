"""Why an extension gains or loses what it does: values with the truth known, and runs in which one thing is changed.

Values with the truth known are means over the users of ``TRIALS`` trials of an experiment, with standard errors.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.io import config
from hrprob.problem import ContextSequence, HiddenLevels, LevelSequence, Lifetime
from hrprob.problem.levels import EmpiricalLevels
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.play import look_at_states

FOLDER = Path(__file__).parents[2] / "experiments" / "extensions"
TRIALS = 4
ORDERS = 8


def explanations(folder: Path) -> dict:
    """Return every value that the README's explanations quote, by experiment."""
    return {name: explain() for name, explain in EXPLAINED.items()}


def experiment(name: str) -> config.Experiment:
    """Return an experiment by its file's name."""
    return config.read(FOLDER / f"{name}.toml")


class Users(NamedTuple):
    """Users of an experiment, and what each of their actions is truly worth."""

    problem: Any
    beta: np.ndarray  # (n, 1)
    mean: np.ndarray  # (n, actions)
    variance: np.ndarray  # (n, actions)
    value: np.ndarray  # (n, actions)

    def valued(self, **changes: Any) -> np.ndarray:
        """Return the values that a problem with some parts changed would give the same actions; (n, actions)."""
        with double_precision():
            value = self.problem.replace(**changes).value
            return np.asarray(value(*map(jnp.asarray, (self.mean, self.variance, self.beta))))

    def costs(self, scores: np.ndarray) -> np.ndarray:
        """Return what the action of the largest score costs each user; (n,)."""
        return self.value.max(axis=1) - at(self.value, scores)

    def error(self, scores: np.ndarray, users: int) -> dict:
        """Return how often the action of the largest score is not the best, and what that costs."""
        costs = self.costs(scores)
        return {"share": float((costs > 0).mean()), "cost": total(costs, users), "rate": total(costs, 1000)}


def at(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the value of the action of the largest score; (n,)."""
    return np.take_along_axis(values, scores.argmax(axis=1)[:, None], axis=1)[:, 0]


def arrived(name: str, users: int | None = None, trials: int = TRIALS) -> Users:
    """Return the first users of an experiment, by default all."""
    played = experiment(name)
    with double_precision():
        keys = trial_keys(played.seed, np.arange(trials))
        found = arrivals(played.problem, keys, np.arange(1, (users or played.users) + 1))
    mean, sd, value = (
        np.moveaxis(np.asarray(each), -1, 0).reshape(-1, each.shape[1])
        for each in (found.mean, found.sd, found.value)
    )
    return Users(played.problem, np.asarray(found.beta).T.reshape(-1, 1), mean, sd**2, value)


def total(costs: np.ndarray, users: int = 1) -> dict:
    """Return the mean cost of so many users, with its standard error."""
    return {"mean": users * float(costs.mean()), "se": users * float(costs.std(ddof=1) / len(costs) ** 0.5)}


def over_trials(result: Any, policy: str, user: int | None = None) -> dict:
    """Return the mean regret and its standard error, by default after the last user."""
    curve = result.regret.sel(policy=policy)
    return total((curve.isel(user=-1) if user is None else curve.sel(user=user)).values)


def rerun(name: str, policies: dict[str, Any], **changes: Any) -> Any:
    """Play an experiment with other policies, and perhaps another problem or fewer users."""
    played = experiment(name).replace(policies=policies, **changes)
    return hrprob.simulate(
        played.problem,
        played.policies,
        users=played.users,
        trials=played.trials,
        seed=played.seed,
        keep=played.users,
    )


def scaled(name: str, policy: str, factor: float) -> Any:
    """Return HR-UCB of an experiment with its ξ times a factor."""
    played = experiment(name)
    own = played.policies[policy]
    xi = float(own.bind(played.problem, played.users).width.value)
    return dataclasses.replace(own, radius="constant", xi=factor * xi)


def noise(name: str, runs: bool = True) -> Callable[[], dict]:
    """Return how much more the values of a user's actions differ under a noise, and what exchanging that factor does."""

    def explain() -> dict:
        users = arrived(name)
        normal = users.valued(noise=hrprob.Normal())
        ratio = float(np.median(users.value.std(axis=1) / normal.std(axis=1)))
        if not runs:
            return {"ratio": ratio}
        policies = {
            "normal": scaled(name, "HR-UCB, normal ψ", 1 / ratio),
            "known": scaled(name, "HR-UCB, ψ known", ratio),
        }
        result = rerun(name, policies)
        return {"ratio": ratio, **{policy: over_trials(result, policy) for policy in policies}}

    return explain


def hidden() -> dict:
    users = arrived("hidden")
    return users.error(users.valued(satisfaction=HiddenLevels(EmpiricalLevels([0.0]))), 30000)


def redrawn() -> dict:
    users = arrived("redrawn")
    return users.error(users.valued(satisfaction=HiddenLevels(users.problem.satisfaction.of)), 20000)


def reward() -> dict:
    """Return the error of maximising lifetime, and what the two choices give where they differ."""
    users = arrived("reward")
    rounds = users.valued(objective=Lifetime())
    differ = users.costs(rounds) > 0
    given = {"mean": users.mean, "variance": users.variance, "rounds": rounds, "reward": users.value}
    chosen = {
        choice: {name: float(at(values, scores)[differ].mean()) for name, values in given.items()}
        for choice, scores in (("longest", rounds), ("largest", users.value))
    }
    low = float((users.beta[differ] < 0).mean())
    return {**users.error(rounds, 30000), **chosen, "low": low}


def within_user() -> dict:
    """Return what a random action costs per user, among all and among the best three, drawn per round or per user."""
    users = arrived("within-user")
    ordered = -np.sort(-users.value, axis=1)
    return {
        name: {
            "round": total(ordered[:, 0] - 1 / (1 / ordered[:, :best]).mean(axis=1)),
            "user": total(ordered[:, 0] - ordered[:, :best].mean(axis=1)),
        }
        for name, best in (("all", None), ("three", 3))
    }


def learned(name: str, policies: list[str], user: int) -> dict:
    """Return the error of θ̂ and the least eigenvalue of V, means over trials, by policy."""
    played = experiment(name)

    def one(policy: Any, state: Any) -> tuple[jax.Array, jax.Array]:
        (belief, _), _ = policy.confidence_sets(state)
        inverse = jnp.linalg.eigvalsh(belief.covariance)[-1]
        return jnp.linalg.norm(belief.mean - played.problem.theta), 1 / inverse

    look = jax.jit(jax.vmap(one, (None, -1), -1))
    found = {}
    for policy in policies:
        with double_precision():
            away, weakest = look_at_states(
                played.problem, played.policies[policy], look, [user], played.trials, played.seed
            )
        found[policy] = {"error": total(away[0]), "eigenvalue": total(weakest[0])}
    return found


def active() -> dict:
    found = learned("active", ["HR-UCB (K=1), informative", "HR-UCB (K=1), first come"], 30000)
    chosen, first = found.values()
    more = chosen["eigenvalue"]["mean"] / first["eigenvalue"]["mean"] - 1
    return {"informative": chosen, "first": first, "more": more}


def by_means(name: str) -> dict:
    users = arrived(name)
    return users.error(users.mean, 30000)


def threshold() -> dict:
    users = arrived("threshold")
    probability = {
        "largest mean": at(users.value, users.mean),
        "best": users.value.max(axis=1),
        "random": users.value.mean(axis=1),
    }
    return {**by_means("threshold"), **{name: float(each.mean()) for name, each in probability.items()}}


def mean_oracle(name: str, users: int) -> dict:
    """Return what the largest mean costs the first users."""
    first = arrived(name, users)
    return total(first.costs(first.mean), users)


def random_cost(name: str, users: int) -> dict:
    """Return what a random choice costs per user, of the first users."""
    first = arrived(name, users, trials=20)
    return total(first.value.max(axis=1) - first.value.mean(axis=1))


def infinite() -> dict:
    users = arrived("infinite")
    return {"random": total(users.value.max(axis=1) - users.value.mean(axis=1), 30000)}


def drifting() -> dict:
    users = 2500
    rates = {name: random_cost(name, users) for name in ("drifting", "independent")}
    ratio = rates["drifting"]["mean"] / rates["independent"]["mean"]
    narrow = rerun("drifting", {"narrow": scaled("drifting", "HR-UCB", ratio)}, users=users)
    names = ("drifting", "independent")
    return {
        "error": {name: learned(name, ["HR-UCB"], 1000)["HR-UCB"]["error"] for name in names},
        "random": rates,
        "ratio": ratio,
        "narrow": over_trials(narrow, "narrow"),
        "largest mean": {name: mean_oracle(name, 30000) for name in names},
    }


def withholding() -> dict:
    return {name: mean_oracle(name, 5000) for name in ("withholding", "independent")}


def function() -> dict:
    """Return the correlation, over catalogues, between LinUCB's loss and that of the largest mean."""
    played = experiment("function")
    policies = {"linucb": played.policies["LinUCB"], "limit": hrprob.MeanOracle()}
    result = hrprob.simulate(
        played.problem, policies, users=played.users, trials=played.trials, seed=played.seed, keep="all"
    )
    # Catalogue k serves users 500k to 500k + 499; user 0 does not exist, the last catalogue has one user.
    ends = result.regret.sel(user=np.arange(4999, 30000, 500)).mean("trial")
    losses = ends.diff("user")
    return {
        "correlation": float(np.corrcoef(losses.sel(policy="linucb"), losses.sel(policy="limit"))[0, 1]),
        "catalogues": losses.sizes["user"],
    }


def sequence() -> dict:
    """Return how far ahead the best action is, and the regrets in other orders of the same users."""
    played = experiment("sequence")
    policies = {name: played.policies[name] for name in ("HR-UCB", "Greedy", "LinUCB")}
    regrets: dict[str, list[float]] = {name: [] for name in policies}
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(100)
        problem = played.problem.replace(
            contexts=ContextSequence(played.problem.contexts.users[order]),
            satisfaction=LevelSequence(played.problem.satisfaction.levels[order]),
        )
        result = rerun("sequence", policies, problem=problem)
        for name, means in regrets.items():
            means.append(over_trials(result, name)["mean"])
    return {
        "lead": {
            "sequence": _lead(arrived("sequence", 100, trials=1)),
            "independent-few": _lead(arrived("independent-few")),
        },
        "orders": {
            name: {**total(np.array(means)), "least": min(means), "most": max(means)}
            for name, means in regrets.items()
        },
    }


def _lead(users: Users) -> dict:
    ordered = np.sort(users.value, axis=1)
    return total(ordered[:, -1] - ordered[:, -2])


EXPLAINED = {
    "noise-mixture": noise("noise-mixture"),
    "noise-student-t": noise("noise-student-t"),
    "noise-truncated": noise("noise-truncated", runs=False),
    "hidden": hidden,
    "redrawn": redrawn,
    "reward": reward,
    "within-user": within_user,
    "active": active,
    "infinite": infinite,
    "mean-variance": lambda: by_means("mean-variance"),
    "threshold": threshold,
    "drifting": drifting,
    "withholding": withholding,
    "function": function,
    "sequence": sequence,
}
