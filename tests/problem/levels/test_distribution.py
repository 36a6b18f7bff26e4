"""A distribution of one's own: draws and nodes are enough for it to be seen, hidden or redrawn."""

import math
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob import lifetime
from hrprob._core.random_numbers import Purpose
from hrprob.lifetime import Nodes
from hrprob.noise import NORMAL
from hrprob.problem import LevelDistribution
from hrprob.problem.levels import LEVELS, register


@pytest.fixture
def coin(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(LEVELS, "_classes", dict(LEVELS._classes))

    @register("coin")
    class Coin(LevelDistribution):
        """One of two levels, with equal probability."""

        kind: ClassVar[str]
        low: Any = -0.4
        high: Any = 0.6

        @property
        def support(self) -> tuple[float, float]:
            return self.low, self.high

        def draw(self, source: Any, shape: Any = (), start: Any = 0) -> Any:
            return jnp.where(source.uniform(Purpose.SATISFACTION, shape, start) < 0.5, self.low, self.high)

        def nodes(self) -> Nodes:
            return Nodes(jnp.array([self.low, self.high]), np.full(2, 0.5), np.zeros(0), np.zeros(0))

    return Coin


def test_averages_follow_from_the_nodes(coin: Any) -> None:
    u, w, two = 0.3, 1.2, np.array([-0.4, 0.6])
    kept = hrprob.HiddenLevels(coin()).rounds(u, w, math.nan, NORMAL)
    assert float(kept) == pytest.approx(lifetime.h(u, w, two).mean(), rel=1e-13)
    redrawn = hrprob.RedrawnLevels(coin()).rounds(u, w, math.nan, NORMAL)
    assert float(redrawn) == pytest.approx(1 / lifetime.reneging_probability(u, w, two).mean(), rel=1e-13)


def test_it_is_made_from_tables_and_played(coin: Any) -> None:
    levels = LEVELS.make({"kind": "hidden", "of": {"kind": "coin", "low": -0.2}})
    assert levels.of == coin(low=-0.2)
    problem = hrprob.Problem(satisfaction=levels, contexts=hrprob.Sphere(2))
    assert np.all(np.isfinite(hrprob.simulate(problem, hrprob.Random(), users=3, trials=1).regret))
