"""The simulation once more, slowly: plain NumPy in float64.

Every sample is stored, every estimate is computed from all of them by ``numpy.linalg`` just
before it is used, Algorithm 1's sample set is kept literally, and users are played out round by
round. Only the random numbers are shared with the engine, so the two can be compared action by
action.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source, trial_keys
from hrprob.simulation.arrivals import arrivals

__all__ = ["PLAIN", "Played", "estimates", "play"]

_BLOCK = 16
# Indices closer than this are ties: rounding decides between them, so the engine's choice is used.
TIE = 1e-9


class Played(NamedTuple):
    """How a policy played, each array (trials, users)."""

    action: np.ndarray
    lifetime: np.ndarray
    regret: np.ndarray  # cumulative
    samples: np.ndarray  # |S| after the user
    past: list[Past]  # of each trial, at the end
    undecided: bool  # a tie in a round whose action the engine does not report


def play(policy: Any, problem: Any, *, users: int, trials: int, seed: int, engine: np.ndarray) -> Played:
    """Play ``policy``; where indices tie, ``engine`` (trials, users) says what the first round chose."""
    draws = Draws(problem, seed, users, trials)
    rows = [_play_trial(policy, problem, users, draws, trial, engine[trial]) for trial in range(trials)]
    *arrays, past, undecided = zip(*rows, strict=True)
    return Played(*(np.array(array) for array in arrays), list(past), any(undecided))


# What a user brings. These random numbers, and nothing else, come from hrprob.


class Draws:
    """Contexts, levels, noise and random choices of all users and warm-up users of some trials."""

    def __init__(self, problem: Any, seed: int, users: int, trials: int) -> None:
        with double_precision():
            self._keys = trial_keys(seed, np.arange(trials))
            self._numbers = {
                False: np.arange(1, users + 1, dtype=np.uint32),
                # As many as there are users, so that no other program is compiled.
                True: np.uint32(WARMUP_USERS) + np.arange(users, dtype=np.uint32),
            }
            self._arrived = {
                warm: arrivals(problem, self._keys, self._numbers[warm]) for warm in (False, True)
            }
        self._problem, self._actions = problem, problem.contexts.actions
        self._blocks: dict[Any, np.ndarray] = {}

    def user(self, place: int, trial: int, warm: bool) -> User:
        arrived = self._arrived[warm]
        contexts = np.asarray(arrived.contexts[place, :, :, trial])
        return User(self, place, trial, warm, contexts, float(arrived.beta[place, trial]))

    def at(self, what: str, user: User, round: int) -> Any:
        block = round // _BLOCK
        name = (what, user.warm, block)
        if name not in self._blocks:
            with double_precision():
                numbers = self._numbers[user.warm]
                start = np.uint32(block * _BLOCK)
                self._blocks[name] = np.asarray(
                    _BULK[what](self._problem, self._keys, numbers, start, self._actions)
                )
        return self._blocks[name][user.place, round % _BLOCK, user.trial]


class User(NamedTuple):
    """One user of one trial."""

    draws: Draws
    place: int
    trial: int
    warm: bool
    contexts: np.ndarray  # (actions, d)
    beta: float

    def noise(self, round: int) -> float:
        return self.draws.at("noise", self, round)

    def level(self, problem: Any, round: int) -> float:
        """β in this round."""
        redrawn = problem.satisfaction.kind == "redrawn"
        return self.draws.at("level", self, round) if redrawn else self.beta

    def warmup_action(self, round: int) -> int:
        return int(len(self.contexts) * self.draws.at("warmup", self, round))

    def choice(self, round: int, eager: bool) -> int:
        """A uniformly random action, one per user or one per round."""
        return int(self.draws.at("eager choice" if eager else "choice", self, round if eager else 0))

    def lottery(self, round: int, eager: bool) -> np.ndarray:
        """A uniform number for every action, drawn once per user or once per round."""
        return self.draws.at("eager lottery" if eager else "lottery", self, round if eager else 0)


@functools.partial(jax.jit, static_argnums=4)
def _noise(problem: Any, keys: Any, users: Any, start: Any, actions: int) -> jax.Array:
    return problem.noise.draw(Source(keys, users), _BLOCK, start)


@functools.partial(jax.jit, static_argnums=4)
def _level(problem: Any, keys: Any, users: Any, start: Any, actions: int) -> jax.Array:
    return problem.satisfaction.of.draw(Source(keys, users), (_BLOCK,), start)


@functools.partial(jax.jit, static_argnums=4)
def _warmup(problem: Any, keys: Any, users: Any, start: Any, actions: int) -> jax.Array:
    return Source(keys, users).uniform(Purpose.WARMUP, (_BLOCK,), start)


def _policy_draws(
    problem: Any, keys: Any, users: Any, start: Any, actions: int, *, eager: bool, lottery: bool
) -> jax.Array:
    def one(round: Any, user: Any, first: Any, second: Any) -> jax.Array:
        key = Source((first, second), user).key(Purpose.POLICY)
        key = jax.random.fold_in(key, round) if eager else key
        return jax.random.uniform(key, (actions,)) if lottery else jax.random.randint(key, (), 0, actions)

    over_trials = jax.vmap(one, (None, None, 0, 0))
    over_rounds = jax.vmap(over_trials, (0, None, None, None))
    over_users = jax.vmap(over_rounds, (None, 0, None, None))
    return over_users(start + jnp.arange(_BLOCK, dtype=jnp.uint32), users, *keys)


def _compiled(**options: bool) -> Any:
    return jax.jit(functools.partial(_policy_draws, **options), static_argnums=4)


_BULK = {
    "noise": _noise,
    "level": _level,
    "warmup": _warmup,
    "choice": _compiled(eager=False, lottery=False),
    "eager choice": _compiled(eager=True, lottery=False),
    "lottery": _compiled(eager=False, lottery=True),
    "eager lottery": _compiled(eager=True, lottery=True),
}


# The loop.


class Round(NamedTuple):
    """One round that was played."""

    user: User
    action: int
    outcome: float
    left: bool


class Past(NamedTuple):
    """All that a policy has seen."""

    rounds: list[Round]
    samples: list[Round]  # S


def _play_trial(
    policy: Any, problem: Any, users: int, draws: Draws, trial: int, engine: np.ndarray
) -> tuple[list[int], list[int], list[float], list[int], Past, bool]:
    # What is computed before the first user (cells, context sets) is used as it is.
    index_of = functools.partial(PLAIN[policy.kind], policy.bind(problem, users), policy, problem, users)
    past = Past([], [])
    actions, lifetimes, costs, samples = [], [], [], []
    undecided = False

    for t in range(1, policy.warmup + 1):
        user = draws.user(t - 1, trial, warm=True)
        i, left = 0, False
        while not left:
            a = user.warmup_action(i)
            left = _play_round(policy, problem, user, a, i, past, t)
            i += 1

    for number in range(1, users + 1):
        t = policy.warmup + number
        user = draws.user(number - 1, trial, warm=False)
        values, costs_of = _values_and_costs(problem, user)
        i, left, cost = 0, False, 0.0
        while not left:
            if i == 0 or policy.eager:
                index = index_of(past, user, i)
                a = int(np.argmax(index))
                ties = _ties(index)
                if i == 0:
                    if engine[number - 1] != a:
                        assert ties[engine[number - 1]], (number, engine[number - 1], index)
                        a = int(engine[number - 1])
                    actions.append(a)
                else:
                    undecided = undecided or bool(np.any(index[ties] != index.max()))
            cost += costs_of[a]
            if i == 0 or policy.eager:
                # Under the lazy update S is chosen by what was known when the user came.
                design = Past([], list(past.samples))
            left = _play_round(policy, problem, user, a, i, past, t, design)
            i += 1
        lifetimes.append(i)
        costs.append(cost if policy.eager else values.max() - values[a])
        samples.append(len(past.samples))
    return actions, lifetimes, list(np.cumsum(costs)), samples, past, undecided


def _play_round(
    policy: Any, problem: Any, user: User, a: int, i: int, past: Past, t: int, design: Any = None
) -> bool:
    """Play round ``i``, let it into S if S takes it, and say whether the user left."""
    x = user.contexts[a]
    outcome = problem.theta @ x + math.sqrt(_variance(problem, problem.phi, x)) * user.noise(i)
    played = Round(user, a, outcome, outcome < user.level(problem, i))
    past.rounds.append(played)
    if _takes(policy, past, past if design is None else design, x, t):
        past.samples.append(played)
    return played.left


def _takes(policy: Any, past: Past, design: Past, x: np.ndarray, t: int) -> bool:
    """Whether S takes a round: |S| < Γ(t), and with a chosen S a leverage above the threshold."""
    growth = getattr(policy, "growth", None)
    if growth is None:
        return True
    if len(past.samples) >= growth * t:
        return False
    if policy.samples == "first":
        return True
    n, d = len(design.samples), len(x)
    _, _, V = _samples(design, d, max(policy.ridge, 1e-6))
    threshold = (
        d / (n + d) * min(10 * growth, growth * t / 10) / (growth * t - n) if n < growth * t else math.inf
    )
    return x @ np.linalg.solve(V, x) >= threshold


def _ties(index: np.ndarray) -> np.ndarray:
    best = index.max()
    return index == best if np.isinf(best) else index >= best - TIE * max(1.0, abs(best))


def _variance(problem: Any, phi: np.ndarray, x: np.ndarray) -> Any:
    return problem.link.slope * (x @ phi) + problem.link.offset


# What an action is worth. Distribution functions are SciPy's, means over levels sums over many panels.


def _log_cdf(noise: Any, z: np.ndarray) -> np.ndarray:
    if noise.kind == "normal":
        return log_ndtr(z)
    if noise.kind == "student-t":
        return stats.t.logcdf(z / math.sqrt((noise.df - 2) / noise.df), noise.df)
    if noise.kind == "mixture":
        p, gap, ratio = noise.weight, noise.gap, noise.ratio
        s2 = math.sqrt((1 - p * (1 - p) * gap**2) / (p * ratio**2 + 1 - p))
        lower = math.log(p) + log_ndtr((z + (1 - p) * gap) / (ratio * s2))
        return np.logaddexp(lower, math.log(1 - p) + log_ndtr((z - p * gap) / s2))
    assert noise.kind == "truncated-normal"
    assert noise.edge == 0
    # Φ(e) − Φ(−b) over Φ(b) − Φ(−b), and the variance 1 − 2bψ(b)/(Φ(b) − Φ(−b)).
    b = noise.width
    inside = 1 - 2 * math.exp(log_ndtr(-b))
    e = z * math.sqrt(1 - 2 * b * stats.norm.pdf(b) / inside)
    with np.errstate(divide="ignore"):
        below = log_ndtr(e) + np.log1p(-np.exp(np.minimum(log_ndtr(-b) - log_ndtr(e), 0.0)))
    return np.where(e < b, below - math.log(inside), 0.0)


def _panels(low: float, high: float, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(low, high, count + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def _levels(of: Any) -> tuple[np.ndarray, np.ndarray]:
    """Levels and the logarithms of their weights."""
    if of.kind == "uniform":
        places, weights = _panels(0.0, 1.0)
        return of.low + (of.high - of.low) * places, np.log(weights)
    if of.kind == "normal":
        places, weights = _panels(-30.0, 12.0, 100)
        return of.mean + of.sd * places, np.log(weights) + stats.norm.logpdf(places)
    assert of.kind == "empirical"
    return of.levels, np.full(len(of.levels), -math.log(len(of.levels)))


def _rounds(satisfaction: Any, noise: Any, u: np.ndarray, w: Any, beta: float) -> np.ndarray:
    """The expected lifetime under each action."""
    scale = np.sqrt(w)
    # An estimate may promise more rounds than a float can hold.
    with np.errstate(over="ignore", divide="ignore"):
        if satisfaction.kind not in ("hidden", "redrawn"):
            return np.exp(-_log_cdf(noise, (beta - u) / scale))
        levels, log_weights = _levels(satisfaction.of)
        log_probability = _log_cdf(
            noise, (levels - u[..., None]) / np.broadcast_to(scale, u.shape)[..., None]
        )
        if satisfaction.kind == "redrawn":
            return 1 / np.sum(np.exp(log_weights + log_probability), axis=-1)
        mean = np.sum(np.exp(log_weights - log_probability), axis=-1)
        if satisfaction.of.kind == "normal" and noise.kind == "normal":
            return np.where(satisfaction.of.sd**2 < w, mean, np.inf)
        return mean


def _earning(objective: Any, noise: Any, u: np.ndarray, w: Any) -> Any:
    if objective.kind == "lifetime":
        return np.ones_like(u)
    if objective.kind == "reward":
        return u
    if objective.kind == "mean-variance":
        return u - objective.aversion * w
    assert objective.kind == "threshold"
    return -np.expm1(_log_cdf(noise, (objective.level - u) / np.sqrt(w)))


class Belief(NamedTuple):
    """What a policy takes the problem to be."""

    noise: Any
    objective: Any
    satisfaction: Any


def _believed(policy: Any, problem: Any) -> Belief:
    given = ((getattr(policy, part), getattr(problem, part)) for part in Belief._fields)
    return Belief(*(own if told is None else told for told, own in given))


def _value(of: Any, u: np.ndarray, w: Any, beta: float) -> np.ndarray:
    """What each action is worth if ``of``, the problem or a belief, is right."""
    earning = _earning(of.objective, of.noise, u, w)
    with np.errstate(invalid="ignore"):
        whole = earning * _rounds(of.satisfaction, of.noise, u, w, beta)
    return np.where(earning == 0, 0.0, whole)


def _values_and_costs(problem: Any, user: User) -> tuple[np.ndarray, np.ndarray]:
    """The true value of each action, and what one round of each costs: v*·p − g."""
    u, w = user.contexts @ problem.theta, _variance(problem, problem.phi, user.contexts)
    values = _value(problem, u, w, user.beta)
    if problem.satisfaction.kind == "redrawn":
        probability = 1 / _rounds(problem.satisfaction, problem.noise, u, w, user.beta)
    else:
        probability = np.exp(_log_cdf(problem.noise, (user.beta - u) / np.sqrt(w)))
    return values, values.max() * probability - _earning(problem.objective, problem.noise, u, w)


# The policies: an index for every action, given the past. Ties go to the first.


def _samples(past: Past, d: int, ridge: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, r and V = XᵀX + λI."""
    X = np.array([sample.user.contexts[sample.action] for sample in past.samples]).reshape(-1, d)
    r = np.array([sample.outcome for sample in past.samples])
    return X, r, X.T @ X + ridge * np.eye(d)


def _norms(V: np.ndarray, contexts: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(contexts * np.linalg.solve(V, contexts.T).T, axis=1))


def estimates(policy: Any, problem: Any, past: Past) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return θ̂, φ̂ and V, the residuals being those of the newest θ̂."""
    X, r, V = _samples(past, problem.dimension, policy.ridge)
    theta = np.linalg.solve(V, X.T @ r)
    residuals = r - X @ theta
    phi = np.linalg.solve(V, X.T @ ((residuals**2 - problem.link.offset) / problem.link.slope))
    return theta, phi, V


def _plug_in(policy: Any, problem: Any, past: Past, user: User) -> tuple[np.ndarray, np.ndarray]:
    """Return the value at the GLSE, and V."""
    theta, phi, V = estimates(policy, problem, past)
    variance = np.maximum(_variance(problem, phi, user.contexts), policy.variance_floor)
    return _value(_believed(policy, problem), user.contexts @ theta, variance, user.beta), V


def _greedy(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    return _plug_in(policy, problem, past, user)[0]


def _hr_ucb(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    h, V = _plug_in(policy, problem, past, user)
    return h + _xi(policy, problem, users, len(past.samples)) * _norms(V, user.contexts)


def _linucb(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    X, r, V = _samples(past, problem.dimension, max(policy.ridge, 1e-6))
    return user.contexts @ np.linalg.solve(V, X.T @ r) + policy.alpha * _norms(V, user.contexts)


def _sigma_max_ucb(
    bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int
) -> np.ndarray:
    X, r, V = _samples(past, problem.dimension, policy.ridge)
    largest = _variance_max(policy, problem)
    variance = largest if policy.divide_by == "sigma" else largest**2
    u = user.contexts @ np.linalg.solve(V, X.T @ r)
    h = _value(_believed(policy, problem), u, variance, user.beta)
    return h + _xi(policy, problem, users, len(past.samples)) * _norms(V, user.contexts)


def _oracle(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    return _values_and_costs(problem, user)[0]


def _random(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    return 1.0 * (np.arange(len(user.contexts)) == user.choice(i, policy.eager))


def _cmdp(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    def cell(user: User) -> int:
        if policy.partition == "arbitrary":
            return int(abs(user.contexts[0, 0]) * 2**20 % 1 * policy.cells)
        point = user.contexts.reshape(-1)
        point = np.append(point, user.beta) if policy.with_beta else point
        return int(np.argmin(np.linalg.norm(bound.placed.centres - point, axis=1)))

    here = cell(user)
    rounds, departures = np.zeros((2, len(user.contexts)))
    for round in past.rounds:
        if cell(round.user) == here:
            rounds[round.action] += 1
            departures[round.action] += round.left
    t = 1 + sum(round.left for round in past.rounds)
    tries = rounds if policy.tries == "rounds" else departures
    unknown = tries < math.sqrt(t)
    if unknown.any():
        return np.where(unknown, user.lottery(i, policy.eager), -1)
    # Policy iteration on (there, gone): serving a for ever is worth V = 1 + γ(1 − p̂_a)V.
    stay, served = 1 - departures / rounds, 0
    while True:
        Q = 1 + policy.discount * stay / (1 - policy.discount * stay[served])
        if Q[served] == Q.max():
            return Q
        served = int(np.argmax(Q))


PLAIN = {
    "cmdp": _cmdp,
    "greedy": _greedy,
    "hr-ucb": _hr_ucb,
    "linucb": _linucb,
    "oracle": _oracle,
    "random": _random,
    "sigma-max-ucb": _sigma_max_ucb,
}


def _variance_max(policy: Any, problem: Any) -> float:
    if policy.variance_max is not None:
        return policy.variance_max
    return problem.link.slope * problem.bounds.phi + problem.link.offset


def _xi(policy: Any, problem: Any, users: int, samples: int) -> float:
    """ξ_t(δ) as Section 4.2 has it, with the errors of the print corrected under "corrected", for normal noise."""
    if policy.radius == "constant":
        return policy.xi
    d, lam, var, delta = problem.dimension, policy.ridge, _variance_max(policy, problem), policy.delta
    M_f, L = problem.link.slope, problem.bounds.phi
    mended = policy.radius == "corrected"

    def alpha_1(n: float, delta: float) -> float:
        scale = math.sqrt(var) if mended else var
        return scale * math.sqrt(d * math.log((n + lam) / (delta * lam))) + math.sqrt(lam)

    def alpha_2(delta: float) -> float:
        return math.sqrt(2 * d * var**2 * ((math.log(policy.c1 / delta) / policy.c2) ** 2 + 1))

    def alpha_3(delta: float) -> float:
        return math.sqrt(2 * d * var * math.log((2 * d if mended else d) / delta))

    def rho(n: float, delta: float) -> float:
        first = alpha_1(n, delta / 3)
        inner = first * (first + 2 * alpha_3(delta / 3)) + alpha_2(delta / 3)
        return inner / M_f + (L if mended else L**2) * math.sqrt(lam)

    if policy.radius == "released":
        return alpha_1(policy.growth * users, delta)
    n = max(samples, 1)
    return policy.c3 * alpha_1(n, delta) + policy.c4 * rho(n, delta / n**2)
