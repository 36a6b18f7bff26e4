"""laplace, smc and svi against nuts on data that Thompson sampling gathered, five data sets of each size."""

import numpy as np
import pytest

from .accuracy import SETS, SIZES, by_nuts, compare, gathered, health, line

pytestmark = pytest.mark.study


@pytest.fixture(scope="module")
def stays():
    """The longest data sets; the shorter ones are their beginnings."""
    return gathered(max(SIZES))


# Two runs of nuts with 4000 draws differ by about 0.03 standard deviations; the rest is what an engine may be off.
@pytest.mark.parametrize("users", SIZES)
def test_engines_are_close_to_nuts_and_nuts_is_sound(users, stays):
    references = [by_nuts(stays, number, users) for number in range(SETS)]
    print(health(users, references))
    for one in references:
        assert one.divergences == 0
        assert one.rhat < 1.01
        assert one.ess > 2000
        assert len(one.draws) == 4000
    most = {"laplace": 0.15, "smc": 0.2} | ({"svi": 0.2} if users >= 30 else {})
    for engine, far in most.items():
        shift, ratio = compare(engine, stays, users, references)
        print(line(users, engine, shift, ratio))
        assert shift.shape == (SETS, 8)
        assert shift.max() <= far
        if engine == "laplace":
            assert np.all((ratio >= 0.85) & (ratio <= 1.15))
