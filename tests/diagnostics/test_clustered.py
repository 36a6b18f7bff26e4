"""The binomial test behind coverages."""

import numpy as np
import pytest
from scipy import stats

from hrprob.diagnostics.clustered import _two_sided


def test_the_binomial_test_is_that_of_whole_numbers():
    for hits, trials, probability in ((3, 20, 0.5), (20, 20, 0.9), (0, 12, 0.5), (18, 40, 0.5)):
        few, many = stats.binom.cdf(hits, trials, probability), stats.binom.sf(hits - 1, trials, probability)
        p_value = _two_sided(*(np.array(float(value)) for value in (hits, trials, probability)))
        assert float(p_value) == pytest.approx(min(1.0, 2 * min(few, many)), rel=1e-9)
