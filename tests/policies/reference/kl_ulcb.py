"""The reference version of KL-ULCB."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import optimize, special

from tests.policies.reference.base import Reference


class KLULCB(Reference):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        k = len(self.stays) + 1
        budget = math.log(k) + self.policy.constant * math.log(math.log(max(k, 3)))
        bounds = []
        for arm in range(len(contexts)):
            mine = [outcome for stay in self.stays if stay.action == arm for outcome in stay.outcomes]
            bounds.append(_upper(np.mean(np.array(mine) >= beta), budget / len(mine)) if mine else 2.0)
        return np.array(bounds)


def _upper(p: float, most: float) -> float:
    def excess(q: float) -> float:
        return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)) - most

    if excess(p) >= 0:
        return p
    return 1.0 if p == 1 else optimize.brentq(excess, p, 1 - 1e-15, xtol=1e-14)
