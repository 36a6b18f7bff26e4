"""What an agent is made of: a policy, what it may assume, and how users are served; as plain data and back."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.memory import check_memory
from hrprob._core.random_numbers import LARGEST_SEED, MOST_USERS
from hrprob._core.records import describe
from hrprob._core.types import AsWritten, Decoded
from hrprob.policies.base import POLICIES, Policy
from hrprob.problem import Bounds, Problem, Sphere
from hrprob.problem.parts import PARTS
from hrprob.simulation.engine import check_policy

__all__ = ["AgentSettings"]

SILENCE = ("censored", "reneged")
MOST_DRAWS = 1_000_000
"""Most further selections for one probability."""

_ASSUMED = ("link", "bounds", "noise", "objective", "satisfaction", "contexts")


@dataclasses.dataclass(frozen=True)
class AgentSettings:
    """The arguments of an agent; see :class:`hrprob.Agent`."""

    policy: Policy
    dimension: int
    actions: int
    link: AsWritten = None
    bounds: AsWritten = None
    noise: AsWritten = None
    objective: AsWritten = None
    satisfaction: AsWritten = None
    contexts: ArrayLike | None = None
    users: int = 30000
    seed: int = 0
    propensity_draws: int = 64
    timeout: float | None = None
    silence: str = "censored"

    def __post_init__(self) -> None:
        check_policy(self.policy)
        if self.policy.knows_truth:
            remedy = "it needs the truth, which is unknown here"
            raise InvalidInput("policy", "must be able to learn", self.policy.kind, remedy)
        remedy = "any whole number of at most 63 bits will do"
        check_count("seed", self.seed, low=0, high=LARGEST_SEED, remedy=remedy)
        remedy = "it is about how many will come; they are numbered in 31 bits"
        check_count("users", self.users, high=MOST_USERS, remedy=remedy)
        check_count("actions", self.actions, remedy="it is the number of contexts a user has")
        check_count("dimension", self.dimension, remedy="it is the length of a context")
        remedy = "that many further selections estimate the probability of an action"
        check_count("propensity_draws", self.propensity_draws, high=MOST_DRAWS, remedy=remedy)
        self._check_memory()
        if self.timeout is not None:
            remedy = "it is how many seconds a user may be silent"
            check_number("timeout", self.timeout, low=0, open_low=True, remedy=remedy)
        check_choice("silence", self.silence, SILENCE)

    def _check_memory(self) -> None:
        """Raise if the contexts of one user, or a matrix of the features, cannot fit into memory."""
        d, actions = int(self.dimension), int(self.actions)
        check_memory("dimension", d, 8 * d * d, "a policy has matrices of that size; take fewer features")
        check_memory("actions", actions, 8 * d * actions, "a user has a context for each; take fewer")

    def setting(self) -> Problem:
        """Return a problem with these parts; its truth is 0 and has no meaning."""
        nothing = np.zeros(self.dimension)
        given = {name: getattr(self, name) for name in _ASSUMED}
        if given["contexts"] is None:
            given["contexts"] = Sphere(actions=self.actions)
        parts = {name: part for name, part in given.items() if part is not None}
        setting = Problem(theta=nothing, phi=nothing, **parts)
        if setting.contexts.actions != self.actions:
            must = f"must be {setting.contexts.actions}, as of contexts"
            remedy = "it is the number of contexts a user has"
            raise InvalidInput("actions", must, self.actions, remedy)
        return setting

    def described(self) -> dict[str, object]:
        """Return the settings as plain data, or raise if an agent could not be made from them again."""
        plain = {
            field.name: describe(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if getattr(self, field.name) is not None
        }
        try:
            again = _plain(AgentSettings.from_described(plain))
        except InvalidInput as complaint:
            raise _not_plain(complaint.field, str(complaint)) from None
        for name, value in plain.items():
            if again.get(name) != value:
                raise _not_plain(name, f"it reads {value!r}")
        return plain

    @classmethod
    def from_described(cls, plain: dict[str, Decoded]) -> AgentSettings:
        """Return the settings from plain data."""
        fields = dict(plain)
        fields["policy"] = POLICIES.make(fields["policy"])
        for name, registry in PARTS.items():
            if name in fields:
                fields[name] = registry.make(fields[name], field=name)
        if "bounds" in fields:
            fields["bounds"] = Bounds(**fields["bounds"])
        return cls(**fields)


def _plain(settings: AgentSettings) -> dict[str, object]:
    return {field.name: describe(getattr(settings, field.name)) for field in dataclasses.fields(settings)}


def _not_plain(name: str, why: str) -> InvalidInput:
    remedy = "an agent that is saved or logged is made again from its description; give numbers or a file"
    return InvalidInput(name, "must be something that can be written down", why, remedy)
