"""Stays and rounds, with and without NumPyro."""

import subprocess
import sys

import numpy as np
import pytest

from hrprob._core.errors import InvalidInput
from hrprob.models import (
    stays,
)


def test_stays_of_a_table():
    data = stays([[1.0], [0.5], [1.0], [1.0]], [1.0, 2.0, 3.0, 4.0], user=["b", "a", "b", "c"])
    np.testing.assert_array_equal(data.x, [[1.0], [0.5], [1.0]])
    np.testing.assert_array_equal(data.rounds, [2, 1, 1])
    np.testing.assert_array_equal(data.total, [4, 2, 4])
    np.testing.assert_array_equal(data.squares, [10, 4, 16])


@pytest.mark.parametrize(
    "table", [([[1.0]], [1.0, 2.0]), ([1.0], [1.0]), ([[np.nan]], [1.0]), ([["a"]], [1.0])]
)
def test_tables_that_are_none_are_refused(table):
    with pytest.raises(InvalidInput):
        stays(*table)


@pytest.mark.parametrize(
    "program",
    [
        "import numpy, hrprob.observations as o; assert o.stays([[1.0]], [0.5]).rounds.tolist() == [1.0]",
        "import hrprob.policies.hr_ucb, hrprob.policies.thompson, hrprob.simulation.engine, hrprob.fitting.table",
    ],
    ids=["stays", "policies"],
)
def test_numpyro_is_not_needed(program):
    check = f"{program}; import sys; assert 'numpyro' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


@pytest.mark.slow
def test_a_run_without_a_posterior_loads_no_numpyro():
    play = "import sys, hrprob; hrprob.simulate(hrprob.Problem(), hrprob.HRUCB(), users=3, trials=1)"
    subprocess.run([sys.executable, "-c", f"{play}; assert 'numpyro' not in sys.modules"], check=True)
