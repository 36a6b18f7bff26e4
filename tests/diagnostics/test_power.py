"""Differences that are called detectable."""

import numpy as np
import pytest

from hrprob.diagnostics.power import detectable_shift
from hrprob.numerics.uniformity import uniformity_p_value


@pytest.mark.parametrize("data_sets", [100, 200])
def test_shifts_that_are_called_detectable_are_detected(data_sets):
    limit, trials, detected = 0.01 / 12, 400, []
    shift = detectable_shift(data_sets, limit)
    for z in (0.2, 0.3, 0.4, 0.5, 0.6):
        # Off by that much at z and as little as possible elsewhere: values just above z are moved to z.
        pit = np.random.default_rng(0).uniform(size=(trials, data_sets))
        pit[(pit > z) & (pit < z + shift)] = z
        detected.append(np.mean([uniformity_p_value(row) < limit for row in pit]))
    # Three binomial errors of √(.8 · .2/400) = 0.02; and the shift is not larger than needed.
    assert 0.8 - 0.06 < min(detected) < 0.8 + 0.06
