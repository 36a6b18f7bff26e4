"""What tests of several packages share."""

from collections.abc import Mapping
from typing import Any

from hrprob.policies import Policy, make_policy


def make(kind: str, parameters: Mapping[str, Any]) -> Policy:
    """Return a policy of this kind with these parameters."""
    return make_policy({"kind": kind} | dict(parameters))
