"""Stays and rounds of a table."""

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
def test_invalid_tables_are_refused(table):
    with pytest.raises(InvalidInput):
        stays(*table)
