"""The base of learners that can forget: a discount or a window on past users."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax

from hrprob._core.errors import InvalidInput
from hrprob._core.records import record, set_frozen, with_fields
from hrprob._core.types import PyTree, State
from hrprob.estimation.forgetting import Discount, Forgetting, Memory, Window
from hrprob.policies.sample_set import Learner

__all__ = ["ForgetfulLearner"]


@record()
class ForgetfulLearner(Learner[State]):
    """A learner whose old users may count less, for a truth that drifts (:mod:`hrprob.estimation.forgetting`).

    Parameters
    ----------
    discount : float, optional
        γ in (0, 1]: what a user contributes counts γ times as much once the next user has left. The memory
        is about 1/(1 − γ) users. By default nothing is forgotten.
    window : float, optional
        W: only the last W users count. By default all.
    """

    discount: float | None = dataclasses.field(default=None, kw_only=True)
    window: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.discount is not None and self.window is not None:
            raise InvalidInput(
                "window", "must not be given with `discount`", self.window, "give one of the two"
            )
        if self.discount is not None:
            set_frozen(self, discount=Discount(self.discount).factor)
        if self.window is not None:
            set_frozen(self, window=Window(self.window).users)
        super().__post_init__()
        if self.forgetting is not None and self.samples == "informative":
            remedy = "what is informative depends on all rounds that were ever sampled; leave `samples` out"
            raise InvalidInput("samples", 'must be "first" for a policy that forgets', self.samples, remedy)

    def refuse_forgetting(self, remedy: str) -> None:
        """Raise if the policy is asked to forget, for policies that cannot."""
        for name in ("discount", "window"):
            if getattr(self, name) is not None:
                raise InvalidInput(name, "must be left out for this policy", getattr(self, name), remedy)

    @property
    def forgetting(self) -> Forgetting | None:
        """How old users are forgotten; None if they are not."""
        # Without their checks: inside a program the numbers are traced.
        if self.discount is not None:
            return with_fields(Discount(1.0), factor=self.discount)
        return None if self.window is None else with_fields(Window(1.0), users=self.window)

    def remember(self, nothing: PyTree) -> Memory | None:
        """Return the memory before the first user, where something is forgotten; ``nothing`` are sums of no user."""
        return None if self.forgetting is None else self.forgetting.begin(nothing)

    def add_to(
        self, memory: Memory, user: jax.Array, add: Callable[[PyTree], PyTree]
    ) -> tuple[Memory, PyTree]:
        """Return the memory after what ``add`` adds for ``user``, and the sums over all that is remembered."""
        forgetting = self.forgetting
        assert forgetting is not None  # who has a memory forgets
        memory = forgetting.forget(memory, user)
        memory = memory._replace(recent=add(memory.recent))
        return memory, forgetting.total(memory)
