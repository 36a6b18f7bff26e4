"""What tests of several packages share."""

import re
from collections.abc import Mapping
from typing import Any

from hrprob.policies import Policy, make_policy


def make(kind: str, parameters: Mapping[str, Any]) -> Policy:
    """Return a policy of this kind with these parameters."""
    return make_policy({"kind": kind} | dict(parameters))


def without_loading(said: str) -> str:
    """Return what a command said on stderr without the line that it is loading, which comes only where that takes long."""
    return re.sub(r"\Aloading .*\n", "", said)
