"""Users who may leave, as an environment of Gymnasium: an episode is a user.

Importing this module registers ``hrprob/Reneging-v0``; it needs the extra ``gymnasium``::

    import gymnasium
    import hrprob.live.environment

    env = gymnasium.make("hrprob/Reneging-v0", problem=hrprob.Problem())

The users are those of :func:`hrprob.simulate`: after ``reset(seed=s)`` an environment meets the users of trial 0 of a run with
seed s, one per episode, with the same contexts, levels and noise.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_choice, check_count
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import LARGEST_SEED, Source, trial_keys
from hrprob._core.types import PyTree
from hrprob.live.agent import Agent
from hrprob.problem import Problem
from hrprob.simulation.arrivals import checked_arrivals

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:  # pragma: no cover
    raise ImportError("this module needs Gymnasium: pip install 'hrprob[gymnasium]'") from error

__all__ = ["RenegingEnv", "serve"]

ID = "hrprob/Reneging-v0"
# Users who are drawn together.
_CHUNK = 256


class RenegingEnv(gymnasium.Env[dict[str, np.ndarray], np.int64]):
    """Serve users who leave for good after one outcome below their level.

    An action serves one round. The observation stays the same for a whole stay: ``contexts`` (actions, d), and ``beta`` (1,)
    where levels are seen. The episode terminates when the user leaves, and is never truncated. ``info`` has the ``outcome`` of
    the round.

    Parameters
    ----------
    problem : Problem, optional
        What is played; by default the paper's simulation.
    reward : {"round", "outcome"}
        What a round pays: 1, so that the return is the lifetime, or its outcome.

    Examples
    --------
    >>> env = RenegingEnv(reward="outcome")  # slow
    >>> observation, _ = env.reset(seed=0)
    >>> observation["contexts"].shape
    (20, 4)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> reward == info["outcome"], truncated
    (True, False)
    """

    metadata: dict[str, object] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, problem: Problem | None = None, reward: str = "round") -> None:
        self.problem = Problem() if problem is None else problem
        if not isinstance(self.problem, Problem):
            raise InvalidInput("problem", "must be a problem", problem, "for example hrprob.Problem()")
        self._pays_outcome = check_choice("reward", reward, ("round", "outcome")) == "outcome"
        actions, dimension = self.problem.contexts.actions, self.problem.dimension
        parts: dict[str, spaces.Space[np.ndarray]] = {
            "contexts": spaces.Box(-1.0, 1.0, (actions, dimension), np.float64)
        }
        if self.problem.satisfaction.seen:
            low, high = self.problem.satisfaction.support
            parts["beta"] = spaces.Box(low, high, (1,), np.float64)
        self.observation_space = spaces.Dict(parts)  # type: ignore[assignment]  # a dictionary of arrays
        self.action_space = spaces.Discrete(actions)
        self._keys: tuple[jax.Array, jax.Array] | None = None
        self._user = 0
        self._present = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """Meet the next user; with a seed, the first user of that seed."""
        super().reset(seed=seed)
        if seed is not None or self._keys is None:
            own = seed if seed is not None else int(self.np_random.integers(LARGEST_SEED))
            self._keys, self._user = trial_keys(own, np.arange(1)), 0
        if self._user % _CHUNK == 0:
            numbers = np.arange(self._user + 1, self._user + _CHUNK + 1)
            with double_precision():
                arrived = checked_arrivals(self.problem, self._keys, numbers)
            # An `Arrivals` of NumPy arrays.
            self._arrived: PyTree = jax.tree.map(np.asarray, arrived)
        self._place = self._user % _CHUNK
        self._user += 1
        self._played, self._present = 0, True
        self._noise, self._levels = self._rounds(self._arrived.noise.shape[1])
        return self._observation(), {"user": self._user}

    def step(self, action: np.int64) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, object]]:
        """Serve one round."""
        if not self._present:
            raise InvalidInput("step", "must follow `reset`", "no user", "the last user has left")
        if not self.action_space.contains(action):
            must = f"must be a whole number from 0 to {self.problem.contexts.actions - 1}"
            raise InvalidInput("action", must, action, "it numbers the rows of `contexts`")
        if self._played == len(self._noise):
            # Twice as many each time: few lengths are compiled, and a stay is never cut off.
            self._noise, self._levels = self._rounds(2 * len(self._noise))
        mean, sd = (part[self._place, action, 0] for part in (self._arrived.mean, self._arrived.sd))
        outcome = float(mean + sd * self._noise[self._played])
        self._present = outcome >= self._levels[self._played]
        self._played += 1
        reward = outcome if self._pays_outcome else 1.0
        return self._observation(), reward, not self._present, False, {"outcome": outcome}

    def _observation(self) -> dict[str, np.ndarray]:
        # Points on the sphere may be an ulp longer than 1.
        contexts = np.clip(self._arrived.contexts[self._place, :, :, 0], -1.0, 1.0)
        if not self.problem.satisfaction.seen:
            return {"contexts": contexts}
        return {"contexts": contexts, "beta": self._arrived.beta[self._place].copy()}

    def _rounds(self, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Return noise and level of the first rounds of the present user."""
        beta = self._arrived.beta[self._place, 0]
        levels, problem = self.problem.satisfaction, self.problem
        noise = self._arrived.noise[self._place, :, 0]
        keeps_level = levels.seen or levels.value_is_mean
        if rounds <= len(noise) and keeps_level:
            return noise[:rounds], np.full(rounds, beta)
        assert self._keys is not None  # set by `reset`
        with double_precision():
            source = Source(self._keys, jnp.asarray([self._user], jnp.uint32))
            if rounds > len(noise):
                noise = np.asarray(problem.noise.draw(source, rounds))[0, :, 0]
            kept = levels.by_round(jnp.asarray([[beta]]), source, rounds)
        return noise[:rounds], np.broadcast_to(np.asarray(kept).reshape(-1), rounds)


def serve(
    env: gymnasium.Env[dict[str, np.ndarray], np.int64], agent: Agent, users: int, seed: int | None = None
) -> np.ndarray:
    """Let an agent serve users of an environment; return their lifetimes (users,).

    Parameters
    ----------
    env : gymnasium.Env
        ``hrprob/Reneging-v0``, wrapped or not, as long as it observes what that does.
    agent : Agent
        Any policy of hrprob, live. It learns as it serves.
    users : int
        How many episodes to play.
    seed : int, optional
        The seed of the environment; by default it goes on where it is.
    """
    check_count("users", users, remedy="it is a number of episodes")
    lifetimes = np.zeros(users, int)
    for user in range(users):
        observation, _ = env.reset(seed=seed if user == 0 else None)
        seen = "beta" in observation
        beta = float(observation["beta"][0]) if seen else None
        action: int | None = agent.arrive(observation["contexts"], beta)
        while action is not None:
            _, _, left, _, info = env.step(np.int64(action))
            action = agent.observe(info["outcome"], left=None if seen else bool(left))
            lifetimes[user] += 1
    return lifetimes


if ID not in gymnasium.registry:
    gymnasium.register(id=ID, entry_point="hrprob.live.environment:RenegingEnv")
