"""laplace and smc against nuts on data that Thompson sampling gathered."""

import numpy as np
import pytest

from .accuracy import compare, draws, gathered


# Two runs of nuts with 4000 draws differ by about 0.03 standard deviations; the rest is what an engine may be off.
@pytest.mark.study
def test_laplace_and_smc_are_close_to_nuts():
    stays = gathered(100, sets=2)
    for users in (10, 100):
        reference = [draws("nuts", stays, number, users) for number in range(2)]
        shift, ratio = compare("laplace", stays, users, reference)
        assert shift.max() <= 0.15
        assert np.all((ratio >= 0.85) & (ratio <= 1.15))
        shift, _ = compare("smc", stays, users, reference)
        assert shift.max() <= 0.2
