"""The mixture: its lower tail is that of the wider component."""

import jax
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.noise import Mixture


@pytest.mark.parametrize("noise", [Mixture(), Mixture(ratio=3.0), Mixture(ratio=0.2)])
def test_the_wider_component_is_the_tail(noise):
    with double_precision():
        wider = max(map(float, noise.components()[1]))
        traced = jax.jit(lambda noise: noise.tail)(noise)
    assert np.asarray(noise.components()).dtype == np.float64
    assert float(noise.tail) == pytest.approx(wider, rel=1e-15)
    assert float(traced) == pytest.approx(wider, rel=1e-15)
